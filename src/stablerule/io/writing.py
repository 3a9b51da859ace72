"""Triples go out in the formats in which they come in, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import polars as pl

from stablerule.errors import MissingExtra, OptionError, WriteError
from stablerule.io.files import folder_beside, open_compressed, split_suffixes, write_beside
from stablerule.io.rdf import FORMATS as RDF_FORMATS
from stablerule.io.rdf import Shortening, write_rdf

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from stablerule.graph import Dataset

WRITABLE = (".tsv", ".txt", ".csv", ".parquet", *RDF_FORMATS)
CHUNK_ROWS = 1 << 18


def write_triples(
    frame: pl.DataFrame,
    path: str | PathLike[str],
    *,
    header: bool | None = None,
    prefixes: Mapping[str, str] | None = None,
    base: str | None = None,
) -> None:
    """Write a frame of names (`dataset.frame("train")`) to a file; its suffix says the format and the compression.

    header: of TSV and CSV; None writes one where there are more columns than head, relation and tail.
    prefixes, base: for RDF, see `ReadOptions`.
    """
    path = Path(path)
    _, suffix, compression = split_suffixes(path)
    if suffix not in WRITABLE or (suffix == ".parquet" and compression):
        raise OptionError(f"{path}: can't write {suffix + compression!r}; formats are {', '.join(WRITABLE)}.")
    with write_beside(path) as temporary:
        if suffix == ".parquet":
            frame.write_parquet(temporary)
            return
        with open_compressed(temporary, like=path) as stream:
            if suffix in RDF_FORMATS:
                columns = [*frame.columns[:3], *(["source"] if "source" in frame.columns else [])]
                names = Shortening(prefixes or {}, base)
                write_rdf(frame.select(columns).iter_rows(), stream, suffix, names, path=path)
            else:
                with_header = header if header is not None else frame.width > 3
                _write_table(frame, stream, "," if suffix == ".csv" else "\t", header=with_header, path=path)


def write_dataset(
    dataset: Dataset,
    folder: str | PathLike[str],
    *,
    suffix: str = ".tsv",
    overwrite: bool = False,
    base: str | None = None,
) -> None:
    """Write a dataset as a folder with one file per split that has facts."""
    with folder_beside(Path(folder), overwrite=overwrite) as temporary:
        for part, triples in dataset.splits.items():
            if len(triples):
                write_triples(dataset.frame(part), temporary / f"{part}{suffix}", prefixes=dataset.prefixes, base=base)


def to_pandas(frame: pl.DataFrame) -> Any:
    """Turn a frame of names into a pandas frame."""
    try:
        import pandas as pd  # noqa: PLC0415  # only those who ask for it need it
    except ImportError as error:
        raise MissingExtra("A pandas frame", package="pandas", extra="pandas") from error
    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns}, columns=frame.columns)


def _write_table(frame: pl.DataFrame, stream: IO[bytes], separator: str, *, header: bool, path: Path) -> None:
    style: Literal["never", "necessary"] = "necessary"
    if separator == "\t":
        _refuse_separators(frame, path)
        style = "never"
    for start in range(0, len(frame), CHUNK_ROWS):
        part = frame.slice(start, CHUNK_ROWS)
        text = part.write_csv(separator=separator, quote_style=style, include_header=header and start == 0)
        stream.write(text.encode())


def _refuse_separators(frame: pl.DataFrame, path: Path) -> None:
    """TSV has no way to write a tab or a line end inside of a name."""
    for column in frame.select(pl.col(pl.String)).iter_columns():
        bad = column.filter(column.str.contains("[\t\r\n]"))
        if len(bad):
            raise WriteError(
                f"{path}: the name {bad[0]!r} has a tab or a line end, which TSV can't hold. Write .csv or .parquet."
            )
