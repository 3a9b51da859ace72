"""Read and write N-Triples, Turtle and N-Quads with pyoxigraph."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import polars as pl

from stablerule.errors import MissingExtra, OptionError, ReadError, WriteError
from stablerule.graph import INVERSE
from stablerule.io.columns import Part, RowPlace
from stablerule.io.files import open_bytes
from stablerule.io.options import spell_read_option
from stablerule.io.text import Utf8Stream, read_utf8_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from stablerule.io.options import ReadOptions

FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".nq": "N_QUADS"}
BATCH = 200_000
PIECE_BYTES = 1 << 20
DEFAULT_GRAPH = "default"
KEEP = spell_read_option("literals", "keep")
RELATIVE = (
    " It has relative IRIs. Add a line such as @base <https://example.org/> . to the file, or pass "
    "base='https://example.org/' in Python."
)
NOT_IN_IRIS = re.compile(r"[\x00-\x20<>\"{}|\\^`%]")
ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>\"{}|\\^`]*\Z")
# The random labels of the parser, and the labels of a file that look the same.
RANDOM = re.compile(r"[0-9a-f]{1,32}\Z")
LABELS = re.compile(rb"_:([0-9a-f]{1,32})")
LONGEST_LABEL = 40
# Contains a character that no label may have, so these names can't clash with a file's, until `final` knows all names.
MARK = "_:\ue000"


def _import_pyoxigraph() -> Any:
    try:
        import pyoxigraph  # noqa: PLC0415  # an extra, only needed for RDF
    except ImportError as error:
        raise MissingExtra("Reading and writing RDF", package="pyoxigraph", extra="rdf") from error
    return pyoxigraph


@dataclass
class BlankNodes:
    """Number the blank nodes without a label; labels in a file are kept.

    The parser gives random labels, so the same file would be a different dataset each time. Here unlabelled nodes are
    numbered in the order of their occurrence, over all files of a dataset.
    """

    _labels: set[str] = field(default_factory=set)
    _numbers: dict[str, int] = field(default_factory=dict)

    def watch(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Pass text on, and record the labels in it that look like random ones."""
        before = b""
        for piece in pieces:
            seen = before + piece
            self._labels.update(found.decode() for found in LABELS.findall(seen))
            before = seen[-LONGEST_LABEL:]
            yield piece

    def name(self, label: str) -> str:
        """Return the name of a node: its label, or a number that `final` replaces."""
        if label in self._labels or not RANDOM.match(label):
            return f"_:{label}"
        return f"{MARK}{self._numbers.setdefault(label, len(self._numbers) + 1)}"

    def final(self, names: pl.Series, known: pl.Series) -> pl.Series:
        """Replace the numbers by labels such as `_:anon1`, with a prefix that no other label has."""
        if not self._numbers:
            return names
        word = "_:anon"
        while known.str.starts_with(word).any():
            word += "_"
        return names.str.replace(MARK, word, literal=True)


@dataclass
class RdfReader:
    """Read one RDF file; names are full IRIs until `IriShortening` is applied to the finished vocabulary."""

    path: Path
    suffix: str
    options: ReadOptions
    blank_nodes: BlankNodes = field(default_factory=BlankNodes)
    prefixes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def read(self) -> Iterator[Part]:
        """Yield frames; the named graph of an N-Quad becomes the source of the fact."""
        ox = _import_pyoxigraph()
        with open_bytes(self.path) as stream:
            pieces = read_utf8_pieces(stream, self.path, encoding=self.options.encoding, size=PIECE_BYTES)
            # Only Turtle has relative IRIs, and blank nodes without a label.
            turtle = self.suffix == ".ttl"
            text = Utf8Stream(self.blank_nodes.watch(pieces) if turtle else pieces)
            try:
                parser = ox.parse(
                    text,
                    format=getattr(ox.RdfFormat, FORMATS[self.suffix]),
                    base_iri=self.options.base if turtle else None,
                )
            except ValueError as error:
                raise OptionError(f"Argument 'base' must be an IRI such as 'https://example.org/': {error}.") from error
            try:
                yield from self._read_frames(ox, parser)
            except SyntaxError as error:
                way_out = RELATIVE if "No scheme" in str(error.msg) else ""
                raise ReadError(f"not valid RDF: {error.msg}.{way_out}", path=self.path, line=error.lineno) from error
            except UnicodeDecodeError as error:
                raise ReadError(f"not UTF-8: {error.reason}.", path=self.path) from error

    def _read_frames(self, ox: Any, parser: Any) -> Iterator[Part]:
        literals = quoted = found = 0
        rows: list[tuple[str, ...]] = []
        for quad in parser:
            if isinstance(quad.subject, ox.Triple) or isinstance(quad.object, ox.Triple):
                quoted += 1
                continue
            if isinstance(quad.object, ox.Literal):
                literals += 1
                if self.options.literals == "drop":
                    continue
            row = (self._name_term(ox, quad.subject), quad.predicate.value, self._name_term(ox, quad.object))
            rows.append((*row, self._name_term(ox, quad.graph_name)) if self.suffix == ".nq" else row)
            if len(rows) == BATCH:
                found += len(rows)
                yield self._make_part(rows)
                rows = []
        self.prefixes = dict(parser.prefixes)
        if rows:
            yield self._make_part(rows)
        left_out = literals if self.options.literals == "drop" else 0
        if not found + len(rows):
            why = f" All {left_out:,} have a literal as tail; keep them with {KEEP}." if left_out else ""
            raise ReadError(f"no triples between entities.{why}", path=self.path)
        if left_out:
            self.notes.append(f"{self.path}: skipped {left_out:,} facts with a literal as tail. Keep them with {KEEP}.")
        if quoted:
            self.notes.append(f"{self.path}: skipped {quoted:,} statements about statements.")

    def _make_part(self, rows: list[tuple[str, ...]]) -> Part:
        names = ("head", "relation", "tail", "source") if self.suffix == ".nq" else ("head", "relation", "tail")
        return Part(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), RowPlace(self.path))

    def _name_term(self, ox: Any, term: Any) -> str:
        """Return the text of an IRI, and the N-Triples spelling of other terms: `_:b0`, `"text"@en`."""
        if isinstance(term, ox.NamedNode):
            return str(term.value)
        if isinstance(term, ox.BlankNode) and self.suffix == ".ttl":
            return self.blank_nodes.name(term.value)
        return DEFAULT_GRAPH if isinstance(term, ox.DefaultGraph) else str(term)


@dataclass(frozen=True)
class IriShortening:
    """Convert between IRIs and short names: `http://example.org/Paris` is `ex:Paris` if ex is known.

    An IRI is only shortened if `expand` restores it, so two IRIs never get the same name.

    >>> names = IriShortening({"ex": "http://example.org/"}, base="http://other.org/")
    >>> names.shorten(pl.Series(["http://example.org/Paris", "http://other.org/New%20York", "urn:x"])).to_list()
    ['ex:Paris', 'New York', 'urn:x']
    >>> names.expand("ex:Paris"), names.expand("New York")
    ('http://example.org/Paris', 'http://other.org/New%20York')
    """

    prefixes: Mapping[str, str]
    base: str | None = None

    def without_clashes(self, names: pl.Series) -> IriShortening:
        """Return a shortening without prefixes that are also the scheme of an IRI, since `ex:a` would be ambiguous."""
        schemes = set(names.str.split(":").list.first().unique())
        return IriShortening({p: ns for p, ns in self.prefixes.items() if p not in schemes}, self.base)

    def shorten(self, names: pl.Series) -> pl.Series:
        """Shorten many names."""
        return pl.Series(names.name, [self._shorten_one(name) for name in names], dtype=pl.String)

    def _shorten_one(self, iri: str) -> str:
        fitting = [(p, ns) for p, ns in self.prefixes.items() if iri.startswith(ns)]
        candidates = [f"{p}:{iri[len(ns) :]}" for p, ns in sorted(fitting, key=lambda item: -len(item[1]))]
        if self.base and iri.startswith(self.base):
            candidates.append(unquote(iri[len(self.base) :]))
        # A short name must expand to its IRI, and must not look like an inverse.
        good = (short for short in candidates if self.expand(short) == iri and not short.startswith(INVERSE))
        return next(good, iri)

    def expand(self, name: str) -> str | None:
        """Return the IRI of a name, None if it has none."""
        if not name or name.startswith(('"', "_:")):
            return None
        prefix, colon, local = name.partition(":")
        if colon and prefix in self.prefixes and not local.startswith("//"):
            return self.prefixes[prefix] + local
        if ABSOLUTE.match(name):
            return name
        return self.base + NOT_IN_IRIS.sub(lambda found: quote(found[0], safe=""), name) if self.base else None


def write_rdf(
    rows: Iterable[tuple[str, ...]], stream: IO[bytes], suffix: str, names: IriShortening, *, path: Path
) -> None:
    """Write rows of names (a fourth one is the named graph); a name that is not an IRI needs a base."""
    ox = _import_pyoxigraph()
    cache: dict[str, Any] = {}

    def term(name: str) -> Any:
        if name not in cache:
            cache[name] = _make_rdf_term(ox, name, names, path)
        return cache[name]

    def quads() -> Iterator[Any]:
        for head, relation, tail, *graph in rows:
            parts = term(head), term(relation), term(tail)
            if not isinstance(parts[1], ox.NamedNode) or isinstance(parts[0], ox.Literal):
                raise WriteError(
                    f"{path}: {head!r} {relation!r} {tail!r} is not valid RDF: only a tail may be a literal."
                )
            if suffix != ".nq":
                yield ox.Triple(*parts)
            else:
                yield ox.Quad(*parts, ox.DefaultGraph() if graph in ([], [DEFAULT_GRAPH]) else term(graph[0]))

    prefixes = dict(names.prefixes) if suffix == ".ttl" else None
    ox.serialize(quads(), stream, format=getattr(ox.RdfFormat, FORMATS[suffix]), prefixes=prefixes)


def _make_rdf_term(ox: Any, name: str, names: IriShortening, path: Path) -> Any:
    try:
        if name.startswith("_:"):
            return ox.BlankNode(name[2:])
        if name.startswith('"'):
            line = f"<x:x> <x:x> {name} ."
            return next(iter(ox.parse(line.encode(), format=ox.RdfFormat.N_TRIPLES))).object
        iri = names.expand(name)
        if iri is not None:
            return ox.NamedNode(iri)
    except (ValueError, SyntaxError):
        pass
    raise WriteError(
        f"{path}: {name!r} is not an IRI. "
        f"Pass {spell_read_option('base', 'https://example.org/')} to make IRIs from names."
    )
