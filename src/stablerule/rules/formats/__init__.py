"""Read and write rule files: JSON, Parquet, readable text, a table, and the formats of AnyBURL and AMIE."""

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

# Files of other tools have the suffix .txt or any other, so the start of the file decides.
ANYBURL_LINE = re.compile(rb"^[\d.]+\t[\d.]+\t[^\t\n]*\t[^\t\n]* <=", re.MULTILINE)
AMIE_LINE = re.compile(rb"^Rule\tHead Coverage\t|^[^\t\n]*   => (\?\w+  |[^\t\n]+  \?\w+\t)", re.MULTILINE)
BEGINNING = 1 << 16


def read_rules(path: str | PathLike[str], format: FormatName | None = None) -> LoadedRules:  # noqa: A002
    """Read rules, with notes on skipped ones: `rules, notes = read_rules("rules.txt.xz")`.

    format: json, parquet, text, tsv, anyburl or amie; None decides by the suffix, and for text by the content.
    Files compressed as .gz, .xz, .zst or .bz2 are read directly.
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
    """Write rules to a file, completely or not at all; return notes on rules and measures that the format can't
    express.

    format: see `read_rules`; None decides by the suffix, and .txt is the readable text.

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
        raise OptionError(f"{path}: unknown suffix {suffix!r}. Pass format=... {_list_rule_formats()}")
    if chosen is PARQUET and compression:
        raise OptionError(f"{path}: Parquet is already compressed. Leave {compression!r} out.")
    with write_beside(path) as temporary, open_compressed(temporary, like=path) as stream:
        return chosen.write(rules, stream)


def _find_rule_format(name: str) -> Format:
    if name not in FORMATS:
        raise OptionError(f"Unknown rule format {name!r}. {_list_rule_formats()}")
    return FORMATS[name]


def _list_rule_formats() -> str:
    return f"Formats are {', '.join(FORMATS)}."


def _find_format_by_suffix(path: Path) -> Format | None:
    _, suffix, _ = split_suffixes(path)
    return next((f for f in FORMATS.values() if suffix in f.suffixes), None)


def _find_format_by_content(data: bytes, otherwise: Format) -> Format:
    beginning = data[:BEGINNING]
    if ANYBURL_LINE.search(beginning):
        return ANYBURL
    return AMIE if AMIE_LINE.search(beginning) else otherwise
