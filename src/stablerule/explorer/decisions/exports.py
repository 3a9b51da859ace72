"""Decisions as files: a table, triples, and RDF that says where each fact comes from."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

import polars as pl

from stablerule.errors import OptionError, WriteError
from stablerule.explorer.decisions.deciding import read_all_decisions
from stablerule.explorer.decisions.provenance import spell_provenance
from stablerule.io.iris import BASE, LITERAL, spell_output_cell, spell_output_iri
from stablerule.io.rdf import IriShortening

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stablerule.explorer.decisions.deciding import Decision
    from stablerule.explorer.decisions.store import Store

DecisionFormat = Literal["tsv", "parquet", "nt", "prov"]
ENDINGS = {"tsv": ".tsv", "parquet": ".parquet", "nt": ".nt", "prov": ".prov.ttl"}
STEP = " - "  # between the entities of a path
COLUMNS = {
    "head": pl.String(),
    "relation": pl.String(),
    "tail": pl.String(),
    "verdict": pl.String(),
    "probability": pl.Float64(),
    "score": pl.Float64(),
    "rule": pl.String(),
    "path": pl.List(pl.String()),
    "comment": pl.String(),
    "who": pl.String(),
    "at": pl.String(),
    "model": pl.String(),
}
NO_CELL = "[\t\r\n]"  # what a table with tabs can't hold


def export_decisions(store: Store, format: DecisionFormat, prefixes: Mapping[str, str]) -> bytes:  # noqa: A002
    """Return all decisions that hold as a file; N-Triples have the accepted facts only."""
    decisions = read_all_decisions(store)
    match format:
        case "tsv":
            return _write_tsv(_tabulate(decisions))
        case "parquet":
            buffer = io.BytesIO()
            _tabulate(decisions).write_parquet(buffer)
            return buffer.getvalue()
        case "nt":
            accepted = [one for one in decisions if one.verdict == "accept"]
            return "".join(_spell_triple(one, IriShortening(prefixes)) for one in accepted).encode()
        case "prov":
            return spell_provenance(decisions, IriShortening(prefixes)).encode()
    raise OptionError(f"Argument 'format' must be one of {', '.join(ENDINGS)}, got {format!r}.")


def _tabulate(decisions: list[Decision]) -> pl.DataFrame:
    return pl.DataFrame({name: [getattr(one, name) for one in decisions] for name in COLUMNS}, schema=COLUMNS)


def _write_tsv(frame: pl.DataFrame) -> bytes:
    flat = frame.with_columns(pl.col("path").list.join(STEP))
    texts = [name for name, kind in COLUMNS.items() if kind == pl.String()]
    for name in texts:
        bad = flat[name].filter(flat[name].str.contains(NO_CELL))
        if len(bad):
            raise WriteError(f"The {name} {bad[0]!r} has a tab or a line end, which TSV can't hold. Export as Parquet.")
    paths = flat["path"].str.replace_all(NO_CELL, " ")
    return flat.with_columns(paths).write_csv(separator="\t", quote_style="never").encode()


def _spell_triple(one: Decision, names: IriShortening) -> str:
    if LITERAL.match(one.head):  # only as a tail can it be RDF
        return ""
    head, tail = (spell_output_cell(name, names, BASE) for name in (one.head, one.tail))
    return f"{head} {spell_output_iri(one.relation, names, BASE)} {tail} .\n"
