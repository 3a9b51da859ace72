"""Rules go into files and come back: our JSON and Parquet, readable text, a table, AnyBURL's and AMIE's lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stablerule.errors import OptionError
from stablerule.io.atomic import write_beside
from stablerule.io.files import open_bytes, open_compressed, split_suffixes
from stablerule.rules.formats.amie import AMIE
from stablerule.rules.formats.anyburl import ANYBURL
from stablerule.rules.formats.json_parquet import JSON, PARQUET
from stablerule.rules.formats.loading import Format, LoadedRules
from stablerule.rules.formats.table import TABLE
from stablerule.rules.formats.text import TEXT

if TYPE_CHECKING:
    from os import PathLike

    from stablerule.rules.ruleset import RuleSet

__all__ = ["FORMATS", "LoadedRules", "read_rules", "write_rules"]

FormatName = Literal["json", "parquet", "text", "tsv", "anyburl", "amie"]
FORMATS: dict[str, Format] = {f.name: f for f in (JSON, PARQUET, TEXT, TABLE, ANYBURL, AMIE)}

# What other tools write is called .txt, or anything: then the beginning of the file tells.
ANYBURL_LINE = re.compile(rb"^[\d.]+\t[\d.]+\t[^\t\n]*\t[^\t\n]* <=", re.MULTILINE)
AMIE_LINE = re.compile(rb"^Rule\tHead Coverage\t|^[^\t\n]*   => (\?\w+  |[^\t\n]+  \?\w+\t)", re.MULTILINE)
BEGINNING = 1 << 16


def read_rules(path: str | PathLike[str], format: FormatName | None = None) -> LoadedRules:  # noqa: A002
    """Read rules, and say what could not be: `rules, notes = read_rules("rules.txt.xz")`.

    format: json, parquet, text, tsv, anyburl or amie; None goes by the suffix, and for text by what is in the file.
    .gz, .xz, .zst and .bz2 behind the suffix are read as they are.
    """
    path = Path(path)
    chosen = None if format is None else _find_rule_format(format)
    with open_bytes(path) as stream:
        data = stream.read()
    if chosen is None:
        chosen = _find_format_by_suffix(path) or TEXT
        chosen = _find_format_by_content(data, chosen) if chosen in (TEXT, TABLE) else chosen
    return chosen.read(data, path)


def write_rules(rules: RuleSet, path: str | PathLike[str], format: FormatName | None = None) -> tuple[str, ...]:  # noqa: A002
    """Write rules, whole or not at all, and return notes on what the format could not hold.

    format: see `read_rules`; None goes by the suffix, where .txt is our readable text.

    >>> from tempfile import mkdtemp
    >>> from stablerule.rules import Rule, RuleSet
    >>> path = Path(mkdtemp()) / "rules.json.gz"
    >>> write_rules(RuleSet([Rule("r", ("s", "~t"))]), path)
    ()
    >>> read_rules(path)
    LoadedRules(rules=RuleSet(1 rule for 1 relation), notes=())
    """
    path = Path(path)
    chosen = _find_format_by_suffix(path) if format is None else _find_rule_format(format)
    _, suffix, compression = split_suffixes(path)
    if chosen is None:
        raise OptionError(
            f"{path}: the suffix {suffix!r} says no format; choose one: format='json', ... {_list_rule_formats()}"
        )
    if chosen is PARQUET and compression:
        raise OptionError(f"{path}: Parquet is compressed in itself; leave {compression!r} out.")
    with write_beside(path) as temporary, open_compressed(temporary, like=path) as stream:
        return chosen.write(rules, stream)


def _find_rule_format(name: str) -> Format:
    if name not in FORMATS:
        raise OptionError(f"Unknown format {name!r} of rules. {_list_rule_formats()}")
    return FORMATS[name]


def _list_rule_formats() -> str:
    return f"Known: {', '.join(FORMATS)}."


def _find_format_by_suffix(path: Path) -> Format | None:
    _, suffix, _ = split_suffixes(path)
    return next((f for f in FORMATS.values() if suffix in f.suffixes), None)


def _find_format_by_content(data: bytes, otherwise: Format) -> Format:
    beginning = data[:BEGINNING]
    if ANYBURL_LINE.search(beginning):
        return ANYBURL
    return AMIE if AMIE_LINE.search(beginning) else otherwise
