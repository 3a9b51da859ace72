"""Triples go out in the formats in which they come in, whole or not at all."""

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
    """Write a frame of names (`dataset.frame("train")`) to a file; its suffix says the format and the compression.

    frame: of polars or pandas, with the columns head, relation, tail in any order, and perhaps weight, source, time.
    header: of TSV and CSV; None writes one where it is needed to read the file back without options.
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
    """Write a dataset as a folder with one file per split that has facts.

    overwrite: replace a folder that holds splits and nothing else.
    """
    folder = Path(folder)
    _find_file_format(folder / f"train{suffix}")  # before a folder is made
    IriShortening(dataset.prefixes, ReadOptions(base=base).base)
    with write_folder_beside(folder, overwrite=overwrite, replaces=SPLIT_FOLDER) as temporary:
        write_dataset_into(temporary, dataset, suffix=suffix, base=base, path=folder)


def write_dataset_into(
    temporary: Path, dataset: Dataset, *, suffix: str = ".tsv", base: str | None = None, path: Path
) -> None:
    """Write the files of a dataset into a temporary folder; `path`, where it will be, is for messages."""
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
    """Write a frame of names to a temporary file; `path`, where it will be, says the format, and is for messages."""
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
    """Write a graph as a folder of arrays, whole or not at all. Only a saved graph is overwritten."""
    with write_folder_beside(Path(folder), overwrite=overwrite, replaces=SAVED_GRAPH) as temporary:
        write_graph_files(graph, temporary)


def to_pandas(frame: pl.DataFrame) -> Any:
    """Turn a frame of names, such as `dataset.frame("train")`, into a pandas frame."""
    if not isinstance(frame, pl.DataFrame):
        cure = {Dataset: " Pass dataset.frame('train').", Graph: " Pass graph.vocabulary.decode(graph.triples)."}
        raise InputError(f"A polars frame was expected, got {type(frame).__name__}.{cure.get(type(frame), '')}")
    try:
        import pandas as pd  # noqa: PLC0415  # only those who ask for it need it
    except ImportError as error:
        raise MissingExtra("A pandas frame", package="pandas", extra="pandas") from error
    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns}, columns=frame.columns)


def _find_file_format(path: Path) -> str:
    stem, suffix, compression = split_suffixes(path)
    if suffix not in WRITABLE or (suffix == ".parquet" and compression):
        behind = ", ".join(COMPRESSIONS)
        raise OptionError(
            f"{path.parent / stem}: can't write {suffix + compression!r}; formats are {', '.join(WRITABLE)}, and "
            f"{behind} behind those that are text."
        )
    return suffix


def _read_facts_to_write(frame: Any) -> pl.DataFrame:
    """Read a frame as `read_dataset` would, so that what is written is what would be read: checked, and in order."""
    if isinstance(frame, Dataset):
        raise InputError(
            "A frame was expected, got a Dataset. Write it with write_dataset(dataset, folder), or a part of it with "
            "write_triples(dataset.frame('train'), path)."
        )
    if isinstance(frame, pl.DataFrame):
        facts = read_frame(frame, ReadOptions(), where="frame to write").frame
    elif is_pandas_frame(frame):
        facts = read_pandas(frame, ReadOptions(), where="frame to write").frame
    else:
        raise InputError(f"A polars or pandas frame was expected, got {type(frame).__name__}.")
    if facts.width < len(frame.columns):
        known = ", ".join(("head", "relation", "tail", *EXTRA))
        raise InputError(
            f"frame to write: has {len(frame.columns)} columns ({', '.join(map(str, frame.columns))}), of which only "
            f"{known} have a place in a file of triples. Drop the others first."
        )
    return facts


def _refuse_lossy_format(frame: pl.DataFrame, suffix: str, path: Path) -> None:
    """RDF has no place for weight and time, and only quads have one for the source."""
    if suffix not in RDF_FORMATS:
        return
    lost = [name for name in frame.columns if name in ("weight", "time")]
    if suffix != ".nq" and "source" in frame.columns and (frame["source"] != DEFAULT_GRAPH).any():
        lost.append("source")
    if lost:
        quads = " Write .nq, which keeps the source," if lost == ["source"] else " Write .tsv, .csv or .parquet,"
        raise WriteError(
            f"{path}: {' and '.join(lost)} of {len(frame):,} facts would be lost: {suffix} has no place for it.{quads} "
            f"or drop what may go: frame.drop({', '.join(map(repr, lost))})."
        )


def write_table(frame: pl.DataFrame, stream: IO[bytes], separator: str, *, header: bool | None, path: Path) -> None:
    """Write head, relation, tail and the optional columns; header=None writes one where reading needs it."""
    with_header = _needs_table_header(frame, separator) if header is None else header
    style: Literal["never", "necessary", "always"] = "never"
    if separator == "\t":
        _refuse_what_tsv_can_not_hold(frame, path)
    else:
        # A quote before the first name keeps it from being read as a comment, or as a byte order mark.
        style = "always" if frame["head"].str.contains(f"^[{COMMENT}{BYTE_ORDER_MARK}]").any() else "necessary"
    for start in range(0, len(frame), CHUNK_ROWS):
        part = frame.slice(start, CHUNK_ROWS)
        text = part.write_csv(separator=separator, quote_style=style, include_header=with_header and start == 0)
        stream.write(text.encode())


def _needs_table_header(frame: pl.DataFrame, separator: str) -> bool:
    """Whether the first fact would be taken for a header, or what it begins with for another encoding."""
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
                f"{path}: the name {bad[0]!r} has a tab or a line end, which TSV can't hold. Write .csv or .parquet."
            )
    comments = frame["head"].filter(frame["head"].str.starts_with(COMMENT))
    if len(comments):
        raise WriteError(
            f"{path}: the head {comments[0]!r} begins with {COMMENT!r}, and would be read back as a comment. "
            "Write .csv or .parquet."
        )
