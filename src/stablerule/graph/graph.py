"""Graph: an immutable set of facts as sorted arrays, with bitmaps for fast steps along a relation.

Most entities have no edge of a given relation, and following rules mostly asks for such edges. So for each relation a
bitmap has one bit for each entity that has an edge. Together with a running count for every 64 entities, it gives the
position of the tails. This takes 0.19 bytes for each entity and relation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.errors import InputError
from stablerule.graph.behaviour import EntityKinds
from stablerule.graph.triples import Ids, Offsets, TriplePacking, Triples, read_only, sort_triples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids, Offsets
    from stablerule.graph.vocabulary import Vocabulary


WORD = 64


class Adjacency(NamedTuple):
    """The arrays of a Graph for kernels that walk, as one argument; see `Graph`."""

    offsets: Offsets
    edge_relations: Ids
    edge_tails: Ids
    link_tails: Ids
    link_relations: Ids


class Stepped(NamedTuple):
    """The arrays of `Adjacency` and `Steps`, for kernels that follow rules."""

    offsets: Offsets
    edge_relations: Ids
    edge_tails: Ids
    link_tails: Ids
    link_relations: Ids
    step_words: NDArray[np.uint64]
    step_ranks: Ids
    step_starts: Offsets
    step_heads: Ids
    step_tails: Ids


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A set of facts, each stored with its inverse, as contiguous read-only arrays.

    With T distinct facts, E entities and R relations, in bytes:

    ============== ========= ===== ====================================================================
    offsets        (E + 1,)  8 E   edges and links of entity h are at offsets[h]:offsets[h + 1]
    edge_relations (2T,)     8 T   sorted by (head, relation, tail): "the tails of (h, r)"
    edge_tails     (2T,)     8 T
    link_tails     (2T,)     8 T   sorted by (head, tail, relation): "the relations between a and b"
    link_relations (2T,)     8 T
    fact_offsets   (R + 1,)  8 R   facts of relation r are at fact_offsets[r]:fact_offsets[r + 1]
    fact_heads     (T,)      4 T   sorted by (relation, head, tail), without inverses
    fact_tails     (T,)      4 T
    ============== ========= ===== ====================================================================

    This is 40 bytes for each fact and 8 for each entity, independent of the number of relations. Compiled kernels use
    the arrays directly; `open_graph` maps them from disk, so that several processes share one copy. The methods check
    ids, the kernels don't.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("tiny", train=[("a", "likes", "b"), ("b", "likes", "c"), ("a", "knows", "b")]).graph
    >>> graph
    Graph('tiny', 3 entities, 2 relations, 3 facts)
    >>> [graph.vocabulary.relation_name(r) for r in graph.relations_between(1, 0)]
    ['~knows', '~likes']
    """

    vocabulary: Vocabulary
    offsets: Offsets
    edge_relations: Ids
    edge_tails: Ids
    link_tails: Ids
    link_relations: Ids
    fact_offsets: Offsets
    fact_heads: Ids
    fact_tails: Ids
    name: str = "graph"

    @classmethod
    def build(cls, triples: Triples, vocabulary: Vocabulary, name: str = "graph") -> Graph:
        """Build a graph from triples; repeated facts count once."""
        entities, relations = len(vocabulary.entities), len(vocabulary.relations)
        _check_triple_ids(triples, entities, relations)
        labels, heads, tails = sort_triples(
            triples.relations, triples.heads, triples.tails, (relations, entities, entities), distinct=True
        )
        # Each fact twice: as it is, and as its inverse.
        starts = np.concatenate([heads, tails])
        steps = np.concatenate([labels, labels + np.int32(relations)])
        ends = np.concatenate([tails, heads])
        _, edge_relations, edge_tails = sort_triples(starts, steps, ends, (entities, 2 * relations, entities))
        _, link_tails, link_relations = sort_triples(starts, ends, steps, (entities, entities, 2 * relations))
        return cls(
            vocabulary=vocabulary,
            offsets=_find_edge_offsets(starts, entities),
            edge_relations=read_only(edge_relations),
            edge_tails=read_only(edge_tails),
            link_tails=read_only(link_tails),
            link_relations=read_only(link_relations),
            fact_offsets=_find_edge_offsets(labels, relations),
            fact_heads=read_only(heads),
            fact_tails=read_only(tails),
            name=name,
        )

    @property
    def n_entities(self) -> int:
        """E: the number of entities, including isolated ones."""
        return len(self.vocabulary.entities)

    @property
    def n_relations(self) -> int:
        """R: the number of relations without inverses; relation ids are below 2R."""
        return len(self.vocabulary.relations)

    @property
    def n_facts(self) -> int:
        """T: the number of distinct facts, without inverses."""
        return len(self.fact_heads)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays, without the names."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {f.name: a for f in fields(self) if isinstance(a := getattr(self, f.name), np.ndarray)}

    @property
    def adjacency(self) -> Adjacency:
        """The arrays for kernels that walk."""
        return Adjacency(self.offsets, self.edge_relations, self.edge_tails, self.link_tails, self.link_relations)

    @cached_property
    def stepped(self) -> Stepped:
        """The arrays for kernels that follow rules; `steps` are built on first use."""
        return Stepped(*self.adjacency, *self.steps)

    @cached_property
    def steps(self) -> Steps:
        """The bitmaps for steps along a relation."""
        heads = np.repeat(np.arange(self.n_entities, dtype=np.int32), self.degrees)
        steps = build_graph_bitmaps(heads, self.edge_relations, self.edge_tails, self.n_entities, 2 * self.n_relations)
        return Steps(*(read_only(array) for array in steps))

    @cached_property
    def kinds(self) -> EntityKinds:
        """The kinds of entities: which ones look like heads of a relation."""
        return EntityKinds(self)

    @property
    def degrees(self) -> Offsets:
        """The number of edges of each entity, including inverses; a self-loop counts twice."""
        return np.diff(self.offsets)

    def inverse(self, relation: int) -> int:
        """Return the id of the inverse of a relation or inverse."""
        return (self.vocabulary.known_relation(relation) + self.n_relations) % (2 * self.n_relations)

    def edges(self, head: int) -> tuple[Ids, Ids]:
        """Return the relations and tails of all edges of an entity, sorted by relation."""
        self.vocabulary.known_entity(head)
        at = slice(self.offsets[head], self.offsets[head + 1])
        return self.edge_relations[at], self.edge_tails[at]

    def tails(self, head: int, relation: int) -> Ids:
        """Return the tails of (head, relation), sorted; the relation may be an inverse."""
        self.vocabulary.known_relation(relation)
        relations, tails = self.edges(head)
        return tails[np.searchsorted(relations, relation) : np.searchsorted(relations, relation, "right")]

    def relations_between(self, head: int, tail: int) -> Ids:
        """Return all relation ids, including inverses, that link one entity to another, sorted."""
        self.vocabulary.known_entity(head)
        self.vocabulary.known_entity(tail)
        at = slice(self.offsets[head], self.offsets[head + 1])
        tails = self.link_tails[at]
        return self.link_relations[at][np.searchsorted(tails, tail) : np.searchsorted(tails, tail, "right")]

    def facts(self, relation: int) -> tuple[Ids, Ids]:
        """Return the heads and tails of all facts of a relation or an inverse."""
        plain = self.vocabulary.known_relation(relation) % self.n_relations
        at = slice(self.fact_offsets[plain], self.fact_offsets[plain + 1])
        pair = self.fact_heads[at], self.fact_tails[at]
        return pair if plain == relation else pair[::-1]

    @cached_property
    def triples(self) -> Triples:
        """All facts as rows, sorted by (relation, head, tail)."""
        relations = np.repeat(np.arange(self.n_relations, dtype=np.int32), np.diff(self.fact_offsets))
        return Triples(read_only(np.stack([self.fact_heads, relations, self.fact_tails], axis=1)))

    @cached_property
    def sha256(self) -> str:
        """A hash of the facts by name, independent of their order; it identifies the graph of a model."""
        digest = self.vocabulary.compute_digest()
        for array in (self.fact_offsets.astype("<i8"), self.fact_heads.astype("<i4"), self.fact_tails.astype("<i4")):
            digest.update(array.tobytes())
        return digest.hexdigest()

    def contains(self, triples: Triples) -> NDArray[np.bool_]:
        """Return which triples are facts of the graph; (h, ~r, t) is one if (t, r, h) is."""
        _check_triple_ids(triples, self.n_entities, 2 * self.n_relations)
        ours, theirs = self.triples, _turn_inverse_triples(triples, self.n_relations)
        packing = TriplePacking.of(self.n_relations, self.n_entities, self.n_entities)
        if not packing.fits:
            known = {tuple(row) for row in ours.rows.tolist()}
            return np.fromiter((tuple(row) in known for row in theirs.rows.tolist()), bool, len(theirs))
        keys = packing.pack(ours.relations, ours.heads, ours.tails)
        asked = packing.pack(theirs.relations, theirs.heads, theirs.tails)
        if not len(keys):
            return np.zeros(len(asked), bool)
        at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        found: NDArray[np.bool_] = keys[at] == asked
        return found

    def __repr__(self) -> str:
        counts = f"{self.n_entities:,} entities, {self.n_relations:,} relations, {self.n_facts:,} facts"
        return f"Graph({self.name!r}, {counts})"


def _turn_inverse_triples(triples: Triples, relations: int) -> Triples:
    """Turn (h, ~r, t) into (t, r, h)."""
    inverse = triples.relations >= relations
    if not inverse.any():
        return triples
    rows = triples.rows.copy()
    rows[inverse] = rows[inverse][:, ::-1]
    rows[inverse, 1] -= relations
    return Triples(read_only(rows))


def _check_triple_ids(triples: Triples, entities: int, relations: int) -> None:
    for what, ids, size in (
        ("head", triples.heads, entities),
        ("relation", triples.relations, relations),
        ("tail", triples.tails, entities),
    ):
        if len(ids) and (ids.min() < 0 or ids.max() >= size):
            bad = int(ids.min() if ids.min() < 0 else ids.max())
            raise InputError(f"A {what} id must be in 0..{size - 1}, got {bad}. Use the vocabulary of these triples.")


def _find_edge_offsets(ids: Ids, size: int) -> Offsets:
    """Return where the run of each id begins in the sorted order (size + 1,)."""
    counts = np.bincount(ids, minlength=size)
    return read_only(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


class Steps(NamedTuple):
    """Bitmaps and counts (2R, words), starts (P + 1,) and heads (P,) of blocks, tails (2T,) by relation, then head."""

    step_words: NDArray[np.uint64]
    step_ranks: Ids
    step_starts: Offsets
    step_heads: Ids
    step_tails: Ids


def build_graph_bitmaps(heads: Ids, relations: Ids, tails: Ids, entities: int, n_relations: int) -> Steps:
    """Build the bitmaps from all edges, including inverses, sorted by (head, relation, tail)."""
    order = np.argsort(relations, kind="stable")  # now by relation, head, tail
    heads, relations = heads[order], relations[order]
    new = np.ones(len(order), bool)
    new[1:] = (heads[1:] != heads[:-1]) | (relations[1:] != relations[:-1])
    starts = np.flatnonzero(new)
    block_heads, block_relations = heads[starts].astype(np.int64), relations[starts].astype(np.int64)
    words = -(-entities // WORD)
    where = block_relations * words + block_heads // WORD
    bitmap = np.zeros(n_relations * words, np.uint64)
    np.bitwise_or.at(bitmap, where, np.uint64(1) << (block_heads % WORD).astype(np.uint64))
    counts = np.bincount(where, minlength=n_relations * words)
    ranks = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    return Steps(
        step_words=bitmap.reshape(n_relations, words),
        step_ranks=ranks.astype(np.int32).reshape(n_relations, words),
        step_starts=np.append(starts, len(order)).astype(np.int64),
        step_heads=heads[starts].astype(np.int32),
        step_tails=tails[order],
    )
