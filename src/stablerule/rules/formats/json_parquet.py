"""Our own files, which keep everything: JSON for people and other languages, Parquet for many rules."""

from __future__ import annotations

import io
import json
from typing import IO, TYPE_CHECKING, Any

import polars as pl

from stablerule.errors import ReadError
from stablerule.io.frames import expect_damage
from stablerule.rules.formats.loading import (
    Format,
    LoadedRules,
    decode_rule_file,
    load_rule_columns,
    load_rule_frame,
    shorten_rule_text,
)
from stablerule.rules.scored import DROPPED, SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.rules.ruleset import RuleSet

VERSION = 1


def read_json_rules(data: bytes, path: Path) -> LoadedRules:
    """Read `{"format": 1, "rules": [{"head_relation": ..., "body": [...], ...}]}`."""
    try:
        found = json.loads(decode_rule_file(data, path))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise ReadError(f"not valid JSON, or truncated: {error}.", path=path, line=line) from error
    if not isinstance(found, dict) or type(found.get("format")) is not int or found["format"] < 1:
        raise ReadError(f'expected {{"format": {VERSION}, "rules": [...]}}, found another JSON file.', path=path)
    if found["format"] > VERSION:
        raise ReadError(
            f"written by a newer version (format {found['format']}, this one reads {VERSION}). "
            "Upgrade with: pip install -U stablerule",
            path=path,
        )
    rows = _check_json_rows(found.get("rules"), path)
    return load_rule_columns({name: [row.get(name) for row in rows] for name in SCHEMA}, path)


def _check_json_rows(rows: object, path: Path) -> list[dict[str, Any]]:
    if not isinstance(rows, list):
        raise ReadError(f"expected a list of rules, found {shorten_rule_text(str(rows))}.", path=path)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not {"head_relation", "body"} <= row.keys():
            raise ReadError(
                f"rule {number:,}: expected head_relation and body, found {shorten_rule_text(str(row))}.", path=path
            )
        if unknown := row.keys() - SCHEMA.keys() - set(DROPPED):
            raise ReadError(f"rule {number:,}: unknown key {min(unknown)!r}; known: {', '.join(SCHEMA)}.", path=path)
    return rows


def write_json_rules(rules: RuleSet, stream: IO[bytes]) -> tuple[str, ...]:
    """Write one rule on each line, so that two versions of a file can be compared."""
    rows = (
        json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False)
        for row in rules.to_frame().iter_rows(named=True)
    )
    stream.write(f'{{"format": {VERSION}, "rules": [\n'.encode())
    stream.write(",\n".join(rows).encode())
    stream.write(b"\n]}\n")
    return ()


def read_parquet_rules(data: bytes, path: Path) -> LoadedRules:
    """Read the table of a set of rules."""
    if not data:
        raise ReadError("no rules: the file is empty.", path=path)
    with expect_damage(path):
        frame = pl.read_parquet(io.BytesIO(data))
    return load_rule_frame(frame, path)


def write_parquet_rules(rules: RuleSet, stream: IO[bytes]) -> tuple[str, ...]:
    """Write the table of a set of rules."""
    rules.to_frame().write_parquet(stream)
    return ()


JSON = Format("json", (".json",), read_json_rules, write_json_rules)
PARQUET = Format("parquet", (".parquet",), read_parquet_rules, write_parquet_rules)
