"""The files of `stablerule complete`: a part for each relation, so that a run can be resumed, and the new facts.

The new facts are written as TSV, Parquet, JSON lines or N-Triples. N-Triples have the facts only.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import polars as pl

from stablerule.cli.output import check_output_option, print_note
from stablerule.errors import OptionError, ReadError, WriteError, spell_count
from stablerule.io import write_beside
from stablerule.io.atomic import SUFFIX, make_write_error
from stablerule.io.checked_folder import CheckedFolder
from stablerule.io.files import COMPRESSIONS, open_compressed, split_suffixes
from stablerule.io.frames import expect_damage
from stablerule.io.iris import LITERAL, spell_output_cell, spell_output_iri
from stablerule.io.rdf import IriShortening
from stablerule.io.streams import is_stream

if TYPE_CHECKING:
    from stablerule.graph import Vocabulary

FORMATS = (".tsv", ".parquet", ".nt", ".jsonl")
IDENTITY = "completion.json"
STEP = " - "  # between the entities of a path

# Writes at least one frame to a temporary file that becomes the output.
Writer: TypeAlias = Callable[[Iterable[pl.DataFrame], Path, Path], None]


class CompletionParts:
    """The finished relations of a run, one Parquet file each, in a folder beside the output."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.folder = output.with_name(output.name + ".partial")

    def check_place(self, *, overwrite: bool, resume: bool) -> bool:
        """Check that the output can be written before starting; return whether there is a run to resume."""
        begun = os.path.lexists(self.folder)
        if os.path.lexists(self.output) and not is_stream(self.output) and not (overwrite or (resume and begun)):
            nothing = f" There is nothing to resume: no {self.folder}." if resume else ""
            raise WriteError(
                f"{self.output}: already exists. Choose another file, or replace it with --overwrite.{nothing}"
            )
        check_output_option(self.output, "-o")
        if not begun:
            return False
        if not self.folder.is_dir() or any(not _is_completion_part(name) for name in os.listdir(self.folder)):
            raise WriteError(f"{self.folder}: partial results go here, but it contains other files. Move it away.")
        if not (resume or overwrite):
            raise WriteError(
                f"{self.folder}: an earlier run did not finish. Continue it with --resume, or start again with "
                "--overwrite."
            )
        return True

    def begin(self, identity: dict[str, Any], *, resume: bool) -> None:
        """Create the folder; with `resume`, continue one that was started with the same settings."""
        if resume and (self.folder / IDENTITY).is_file():
            self._check_identity(identity)
            return
        self.remove()
        try:
            self.folder.mkdir()
        except OSError as error:
            raise make_write_error(self.folder, error) from error
        with write_beside(self.folder / IDENTITY) as temporary:
            temporary.write_text(json.dumps(identity, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def _check_identity(self, identity: dict[str, Any]) -> None:
        files = CheckedFolder(self.folder, "Start again with --overwrite.")
        kept = files.read_json(IDENTITY)
        if not isinstance(kept, dict):
            raise files.make_damage_error(IDENTITY, "it does not describe a run")
        differing = [name for name in identity if kept.get(name) != identity[name]]
        if differing:
            name = differing[0]
            was = f" (then {kept.get(name)!r}, now {identity[name]!r})" if name not in ("model", "data") else ""
            raise OptionError(
                f"--resume: {self.folder} was started with another {name}{was}. Pass the same again, or start again "
                "with "
                "--overwrite."
            )

    def has(self, relation: int) -> bool:
        """Return whether a relation is finished."""
        return self._name_file(relation).is_file()

    def add(self, relation: int, frame: pl.DataFrame) -> None:
        """Save the facts of a relation."""
        # Not durable: what a power cut destroys can be computed again.
        with write_beside(self._name_file(relation), durable=False) as temporary:
            frame.write_parquet(temporary)

    def read(self, relation: int) -> pl.DataFrame:
        """Return the facts of a finished relation."""
        files, name = (
            CheckedFolder(self.folder, "Remove it, and continue with --resume."),
            self._name_file(relation).name,
        )
        raw = files.read_bytes(name)
        try:
            with expect_damage(self._name_file(relation)):
                return pl.read_parquet(io.BytesIO(raw))
        except ReadError as error:
            raise files.make_damage_error(name, "it is not a table") from error

    def remove(self) -> None:
        """Remove the files of a run, and nothing else."""
        if not self.folder.is_dir():
            return
        for name in sorted(os.listdir(self.folder), key=lambda name: name == IDENTITY):
            if _is_completion_part(name):
                (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _name_file(self, relation: int) -> Path:
        return self.folder / f"{relation:06}.parquet"


def _is_completion_part(name: str) -> bool:
    # A run that was killed during a write leaves a hidden file.
    return name == IDENTITY or re.fullmatch(rf"\d{{6,}}\.parquet|\..*{re.escape(SUFFIX)}", name) is not None


def find_completion_format(path: Path) -> str:
    """Return the suffix of an output file, which decides the format; an unknown one is an error."""
    _, suffix, compression = split_suffixes(path)
    if not path.name or suffix not in FORMATS or (suffix == ".parquet" and compression):
        raise OptionError(
            f"-o must end in one of {', '.join(FORMATS)} (with {', '.join(COMPRESSIONS)} if compressed, but not "
            f".parquet), got {str(path)!r}."
        )
    return suffix


def check_output_names(words: Vocabulary, output: Path) -> None:
    """Check, before starting, that the format allows all names."""
    if find_completion_format(output) != ".tsv":
        return
    for names in (words.entities.table, words.relations.table):
        bad = names.filter(names.str.contains("[\t\r\n]"))
        if len(bad):
            raise WriteError(
                f"{output}: the name {bad[0]!r} contains a tab or a line break, which TSV does not allow. "
                "Write .parquet or .jsonl."
            )


def find_completion_writer(output: Path, prefixes: Mapping[str, str], base: str) -> Writer:
    """Return the writer for the format of an output; prefixes and base are for IRIs."""
    suffix = find_completion_format(output)
    if suffix == ".parquet":
        return _write_parquet

    def write(frames: Iterable[pl.DataFrame], temporary: Path, output: Path) -> None:
        with open_compressed(temporary, like=output) as stream:
            if suffix == ".tsv":
                _write_tsv(frames, stream)
            elif suffix == ".jsonl":
                _write_jsonl(frames, stream)
            else:
                _write_ntriples(frames, stream, IriShortening(prefixes), base)

    return write


def _write_parquet(frames: Iterable[pl.DataFrame], temporary: Path, output: Path) -> None:
    pl.concat(list(frames)).write_parquet(temporary)


def _write_tsv(frames: Iterable[pl.DataFrame], stream: IO[bytes]) -> None:
    for i, frame in enumerate(frames):
        flat = frame.with_columns(pl.col("path").list.join(STEP)) if "path" in frame.columns else frame
        stream.write(flat.write_csv(separator="\t", quote_style="never", include_header=i == 0).encode())


def _write_jsonl(frames: Iterable[pl.DataFrame], stream: IO[bytes]) -> None:
    for frame in frames:
        for row in frame.iter_rows(named=True):
            stream.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def _write_ntriples(frames: Iterable[pl.DataFrame], stream: IO[bytes], names: IriShortening, base: str) -> None:
    left_out = 0
    for frame in frames:
        for head, relation, tail in frame.select("head", "relation", "tail").iter_rows():
            if LITERAL.match(head):  # RDF allows literals as tails only
                left_out += 1
                continue
            line = " ".join(
                (
                    spell_output_cell(head, names, base),
                    spell_output_iri(relation, names, base),
                    spell_output_cell(tail, names, base),
                )
            )
            stream.write(f"{line} .\n".encode())
    if left_out:
        print_note(f"skipped {spell_count(left_out, 'fact')} with a literal as head, which N-Triples does not allow.")
