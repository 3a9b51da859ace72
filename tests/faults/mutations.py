"""Damage to files: to bytes, as disks and transfers do it, and to values, as hands and old versions do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

# What parsers stumble over: ends, quotes, marks of encodings, controls, other types, numbers out of every range.
TOKENS = (
    *(
        b"",
        b"\0",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b" ",
        b'"',
        b"'",
        b"\\",
        b",",
        b";",
        b"#",
        b"?",
        b"~",
        b"<-",
        b"=>",
        b"<",
    ),
    *(b">", b"{", b"}", b"[", b"]", b"(", b")", b":", b".", b"@en", b"^^", b"_:", b"\\u", b"\\U0010FFFF", b"\\ud800"),
    *(b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\xe2\x80\xae", b"\x1b[31m", b"[red]", b"\x7f"),
    *(b"null", b"NaN", b"Infinity", b"-1", b"0", b"1e999", b"9223372036854775808", b"1" * 400, b"true", b"X", b"A0"),
    *(b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"[" * 3000, b"a\tr\tb\n" * 50),
)
VALUES: tuple[Any, ...] = (None, True, -1, 0, 2**63, 1e308, float("nan"), "", "x", "\0", [], {}, [[]], [None], {"x": 1})


def damage_bytes(data: bytes, random: Random) -> bytes:
    """Damage one to three places of a file."""
    for _ in range(random.choice((1, 1, 2, 3))):
        data = random.choice(BYTE_DAMAGES)(data, random)
    return data


def _flip(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + bytes(b ^ (1 << random.randrange(8)) for b in data[at : at + 1]) + data[at + 1 :]


def _cut_short(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _remove(data: bytes, random: Random) -> bytes:
    begin, end = _slice(data, random)
    return data[:begin] + data[end:]


def _repeat(data: bytes, random: Random) -> bytes:
    begin, end = _slice(data, random)
    return data[:end] + data[begin:end] * random.choice((1, 1, 2, 50)) + data[end:]


def _move(data: bytes, random: Random) -> bytes:
    begin, end = _slice(data, random)
    rest = data[:begin] + data[end:]
    at = random.randrange(len(rest) + 1)
    return rest[:at] + data[begin:end] + rest[at:]


def _insert(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(TOKENS) + data[at:]


def _replace(data: bytes, random: Random) -> bytes:
    begin, end = _slice(data, random)
    return data[:begin] + random.choice(TOKENS) + data[end:]


def _fill(data: bytes, random: Random) -> bytes:
    """Zeros, as after a power cut."""
    begin, end = _slice(data, random)
    return data[:begin] + bytes(end - begin) + data[end:]


def _make_noise(data: bytes, random: Random) -> bytes:
    return random.randbytes(random.randrange(300))


BYTE_DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _flip, _cut_short, _remove, _repeat, _move, _insert, _insert, _replace, _replace, _fill, _make_noise),
)


def _slice(data: bytes, random: Random) -> tuple[int, int]:
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + random.choice((1, 2, 8, 40, 400)))


def damage_json(data: bytes, random: Random) -> bytes:
    """Put another value, of another type perhaps, somewhere into JSON; or leave something out, or nest it deeply."""
    value = json.loads(data)
    holders = list(_find_holders(value))
    if not holders:
        return json.dumps(random.choice(VALUES)).encode()
    for _ in range(random.choice((1, 1, 2))):
        holder, key = random.choice(holders)
        match random.randrange(6):
            case 0 if isinstance(holder, dict):
                holder.pop(key, None)
            case 1 if isinstance(holder, dict):
                holder["unknown " + str(key)] = random.choice(VALUES)
            case 2:
                text = json.dumps(value)
                return text.replace("1", "[" * 5000 + "]" * 5000, 1).encode()
            case _:
                holder[key] = random.choice(VALUES)
    return json.dumps(value).encode()


def _find_holders(value: Any) -> Any:
    """Yield all places of a JSON value, as a dict or list and a key of it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items)[:200]:
        yield value, key
        yield from _find_holders(inner)
