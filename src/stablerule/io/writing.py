"""Write triples, datasets and graphs in all formats that can be read, completely or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import polars as pl

from stablerule.errors import InputError, MissingExtra, OptionError, WriteError
from stablerule.graph import Dataset, Graph
from stablerule.io.atomic import write_beside
from stablerule.io.columns import SAMPLE_ROWS, judge_header_line, read_header_words
from stablerule.io.files import COMPRESSIONS, open_compressed, split_suffixes
from stablerule.io.folders import OwnFolder, write_folder_beside
from stablerule.io.frames import is_pandas_frame, read_frame, read_pandas
from stablerule.io.options import EXTRA, ReadOptions
from stablerule.io.rdf import DEFAULT_GRAPH, IriShortening, write_rdf
from stablerule.io.rdf import FORMATS as RDF_FORMATS
from stablerule.io.reading import find_split_of_file
from stablerule.io.saved_graph import FILES, INDEX, write_graph_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

CHUNK_ROWS = 1 << 18
COMMENT = ReadOptions().comment or ""
BYTE_ORDER_MARK = "\ufeff"
WRITABLE = (".tsv", ".txt", ".csv", ".parquet", *RDF_FORMATS)
SPLIT_FOLDER = OwnFolder(ours=lambda name: find_split_of_file(name) is not None)
SAVED_GRAPH = OwnFolder(ours=FILES.__contains__, marks=frozenset({INDEX}))


def write_triples(
    frame: pl.DataFrame,
    path: str | PathLike[str],
    *,
    header: bool | None = None,
    prefixes: Mapping[str, str] | None = None,
    base: str | None = None,
) -> None:
    """Write a frame of names (`dataset.frame("train")`) to a file; its suffix decides the format and the compression.

    frame: a polars or pandas frame with the columns head, relation, tail in any order, and optionally weight, source,
    time.
    header: for TSV and CSV; None writes one if the file could not be read back without options otherwise.
    prefixes, base: for RDF, see `ReadOptions`.
    """
    path = Path(path)
    _find_file_format(path)  # before a file is made
    IriShortening(prefixes or {}, ReadOptions(base=base).base)
    facts = _read_facts_to_write(frame)
    with write_beside(path) as temporary:
        write_triples_into(temporary, facts, prefixes, header=header, base=base, path=path)


def write_dataset(
    dataset: Dataset,
    folder: str | PathLike[str],
    *,
    suffix: str = ".tsv",
    overwrite: bool = False,
    base: str | None = None,
) -> None:
    """Write a dataset as a folder with one file for each split that has facts.

    overwrite: replace a folder that contains only splits.
    """
    folder = Path(folder)
    _find_file_format(folder / f"train{suffix}")  # before a folder is made
    IriShortening(dataset.prefixes, ReadOptions(base=base).base)
    with write_folder_beside(folder, overwrite=overwrite, replaces=SPLIT_FOLDER) as temporary:
        write_dataset_into(temporary, dataset, suffix=suffix, base=base, path=folder)


def write_dataset_into(
    temporary: Path, dataset: Dataset, *, suffix: str = ".tsv", base: str | None = None, path: Path
) -> None:
    """Write the files of a dataset into a temporary folder; `path`, the final one, is for messages."""
    temporary.mkdir(exist_ok=True)
    for part, triples in dataset.splits.items():
        if len(triples):
            file = f"{part}{suffix}"
            frame = dataset.frame(part)
            write_triples_into(temporary / file, frame, dataset.prefixes, base=base, path=path / file)


def write_triples_into(
    temporary: Path,
    frame: pl.DataFrame,
    prefixes: Mapping[str, str] | None = None,
    *,
    header: bool | None = None,
    base: str | None = None,
    path: Path,
) -> None:
    """Write a frame of names to a temporary file; `path`, the final one, decides the format and is for messages."""
    suffix = _find_file_format(path)
    names = IriShortening(prefixes or {}, ReadOptions(base=base).base)
    _refuse_lossy_format(frame, suffix, path)
    with open_compressed(temporary, like=path) as stream:
        if suffix == ".parquet":
            frame.write_parquet(stream)
        elif suffix in RDF_FORMATS:
            columns = ["head", "relation", "tail", *(["source"] if "source" in frame.columns else [])]
            write_rdf(frame.select(columns).iter_rows(), stream, suffix, names, path=path)
        else:
            write_table(frame, stream, "," if suffix == ".csv" else "\t", header=header, path=path)


def save_graph(graph: Graph, folder: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Save a graph as a folder of arrays, completely or not at all; `overwrite` replaces only a saved graph."""
    with write_folder_beside(Path(folder), overwrite=overwrite, replaces=SAVED_GRAPH) as temporary:
        write_graph_files(graph, temporary)


def to_pandas(frame: pl.DataFrame) -> Any:
    """Convert a frame of names, such as `dataset.frame("train")`, to a pandas frame."""
    if not isinstance(frame, pl.DataFrame):
        cure = {Dataset: " Pass dataset.frame('train').", Graph: " Pass graph.vocabulary.decode(graph.triples)."}
        raise InputError(f"Expected a polars frame, got {type(frame).__name__}.{cure.get(type(frame), '')}")
    try:
        import pandas as pd  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtra("A pandas frame", package="pandas", extra="pandas") from error
    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns}, columns=frame.columns)


def _find_file_format(path: Path) -> str:
    stem, suffix, compression = split_suffixes(path)
    if suffix not in WRITABLE or (suffix == ".parquet" and compression):
        behind = ", ".join(COMPRESSIONS)
        raise OptionError(
            f"{path.parent / stem}: can't write {suffix + compression!r}. Formats are {', '.join(WRITABLE)}; text "
            "formats "
            f"may be compressed ({behind})."
        )
    return suffix


def _read_facts_to_write(frame: Any) -> pl.DataFrame:
    """Read a frame like `read_dataset`, so that the output is checked and in the usual order of columns."""
    if isinstance(frame, Dataset):
        raise InputError(
            "Expected a frame, got a Dataset. Write it with write_dataset(dataset, folder), or one split with "
            "write_triples(dataset.frame('train'), path)."
        )
    if isinstance(frame, pl.DataFrame):
        facts = read_frame(frame, ReadOptions(), where="frame to write").frame
    elif is_pandas_frame(frame):
        facts = read_pandas(frame, ReadOptions(), where="frame to write").frame
    else:
        raise InputError(f"Expected a polars or pandas frame, got {type(frame).__name__}.")
    if facts.width < len(frame.columns):
        known = ", ".join(("head", "relation", "tail", *EXTRA))
        raise InputError(
            f"frame to write: has {len(frame.columns)} columns ({', '.join(map(str, frame.columns))}), but a file of "
            f"triples has only {known}. Drop the others first."
        )
    return facts


def _refuse_lossy_format(frame: pl.DataFrame, suffix: str, path: Path) -> None:
    """Raise an error if RDF would lose columns: it has no weight and time, and only quads have a source."""
    if suffix not in RDF_FORMATS:
        return
    lost = [name for name in frame.columns if name in ("weight", "time")]
    if suffix != ".nq" and "source" in frame.columns and (frame["source"] != DEFAULT_GRAPH).any():
        lost.append("source")
    if lost:
        quads = " Write .nq, which keeps the source," if lost == ["source"] else " Write .tsv, .csv or .parquet,"
        raise WriteError(
            f"{path}: {suffix} would lose the {' and '.join(lost)} of {len(frame):,} facts.{quads} "
            f"or drop them: frame.drop({', '.join(map(repr, lost))})."
        )


def write_table(frame: pl.DataFrame, stream: IO[bytes], separator: str, *, header: bool | None, path: Path) -> None:
    """Write head, relation, tail and optional columns; header=None writes a header if reading needs it."""
    with_header = _needs_table_header(frame, separator) if header is None else header
    style: Literal["never", "necessary", "always"] = "never"
    if separator == "\t":
        _refuse_what_tsv_can_not_hold(frame, path)
    else:
        # A quote before the first name prevents reading it as a comment or a byte order mark.
        style = "always" if frame["head"].str.contains(f"^[{COMMENT}{BYTE_ORDER_MARK}]").any() else "necessary"
    for start in range(0, len(frame), CHUNK_ROWS):
        part = frame.slice(start, CHUNK_ROWS)
        text = part.write_csv(separator=separator, quote_style=style, include_header=with_header and start == 0)
        stream.write(text.encode())


def _needs_table_header(frame: pl.DataFrame, separator: str) -> bool:
    """Return whether the first fact would be read as a header, or as another encoding."""
    first = frame.row(0)[:3]
    looks_encoded = first[0].startswith(BYTE_ORDER_MARK) or "\x00" in "".join(first)  # as every other byte of UTF-16
    if frame.width > 3 or looks_encoded:
        return True
    rows = frame[1 : SAMPLE_ROWS + 1].iter_rows()
    return judge_header_line(first, read_header_words(first), rows, csv=separator != "\t") != "fact"


def _refuse_what_tsv_can_not_hold(frame: pl.DataFrame, path: Path) -> None:
    for column in frame.select(pl.col(pl.String)).iter_columns():
        bad = column.filter(column.str.contains("[\t\r\n]"))
        if len(bad):
            raise WriteError(
                f"{path}: the name {bad[0]!r} contains a tab or a line break, which TSV does not allow. Write .csv or "
                ".parquet."
            )
    comments = frame["head"].filter(frame["head"].str.starts_with(COMMENT))
    if len(comments):
        raise WriteError(
            f"{path}: the head {comments[0]!r} starts with {COMMENT!r}, and would be read back as a comment. "
            "Write .csv or .parquet."
        )
