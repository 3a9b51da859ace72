"""Text from elsewhere, made safe to look at: what can't be seen, or turns the direction of writing, is spelled out."""

from __future__ import annotations

from typing import Any

# Controls, marks and overrides of direction, line separators, and what neither XML nor UTF-8 may hold.
HIDDEN = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        0x061C,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
        0xFFFE,
        0xFFFF,
    )
}


def make_visible(value: Any) -> Any:
    r"""Return the same plain values, with every text and every key of a dict spelled out.

    >>> print(make_visible({"names": [("a\x00b", 2)]}))
    {'names': [['a\\x00b', 2]]}
    """
    if isinstance(value, str):
        return value.translate(HIDDEN)
    if isinstance(value, dict):
        return {make_visible(key): make_visible(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [make_visible(one) for one in value]
    return value
