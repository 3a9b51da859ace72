"""Read and write a flat tab-separated table for spreadsheets: the readable rule, its parts and its measures, with a
header.

Only the rule and the measures are read, in any order; the other columns are for sorting and filtering.
"""

from __future__ import annotations

import csv
import io
from typing import IO, TYPE_CHECKING

import polars as pl

from stablerule.errors import ReadError
from stablerule.rules.formats.loading import Format, RuleCollector, decode_rule_file, shorten_rule_text
from stablerule.rules.formats.text import parse_rule_line, read_named_rule_number
from stablerule.rules.scored import NUMBERS, spell_rule_number

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.rules.formats.loading import LoadedRules
    from stablerule.rules.ruleset import RuleSet


def read_rule_table(data: bytes, path: Path) -> LoadedRules:
    """Read a table with a column `rule`."""
    rows = csv.reader(io.StringIO(decode_rule_file(data, path), newline=""), dialect="excel-tab", strict=True)
    rules = RuleCollector(path, NUMBERS)
    try:
        header = next(rows)
        if "rule" not in header:
            raise ReadError(
                f"expected a column 'rule' in the header, found {shorten_rule_text(', '.join(header))}.",
                path=path,
                line=1,
            )
        for row in rows:
            if len(row) not in (0, len(header)):
                problem = f"expected {len(header)} cells, found {len(row)}: {shorten_rule_text(' '.join(row))}."
                raise ReadError(problem, path=path, line=rows.line_num)
            cells = dict(zip(header, row, strict=False))
            if not any(cells.values()):
                continue
            numbers = {
                name: read_named_rule_number(name, cells[name], path, rows.line_num)
                for name in NUMBERS
                if cells.get(name)
            }
            rules.add(parse_rule_line(cells["rule"], path, rows.line_num), [numbers.get(name) for name in NUMBERS])
    except csv.Error as error:
        raise ReadError(f"not a tab-separated table: {error}.", path=path, line=rows.line_num) from error
    return rules.finish()


def write_rule_table(rules: RuleSet, stream: IO[bytes]) -> tuple[str, ...]:
    """Write one row for each rule, in the order of the set."""
    frame = rules.to_frame()
    numbers = (
        pl.Series(n, [None if v is None else spell_rule_number(v) for v in frame[n]], dtype=pl.String) for n in NUMBERS
    )
    flat = pl.DataFrame(
        [
            pl.Series("rule", [str(scored.rule) for scored in rules], dtype=pl.String),
            frame["head_relation"],
            frame["body"].list.join(", "),
            frame["body"].list.len().alias("length"),
            frame["constant"],
            frame["body_constant"],
            *numbers,
        ]
    )
    flat.write_csv(stream, separator="\t")
    return ()


TABLE = Format("tsv", (".tsv",), read_rule_table, write_rule_table)
