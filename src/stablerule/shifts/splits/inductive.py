"""Inductive split: no entity of the test graph is in the training graph."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.datasets.arguments import check_count, check_number
from stablerule.errors import InputError, OptionError
from stablerule.graph import SPLITS, Graph, Triples, split_triples
from stablerule.shifts.splits.saving import CROSSING, REPEATED, Split, make_split_manifest
from stablerule.shifts.splits.source import (
    Shares,
    check_split_shares,
    check_split_source,
    mark_first_facts,
    narrow_to_split,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stablerule.graph import Dataset

# The part of an entity without facts.
NOWHERE = -1
# Share of the training part's facts used as its valid: learners choose on facts about entities that they know.
HELD_OUT = 0.1


class Part(NamedTuple):
    """The facts within one part: the graph to reason on, the queries, and how many facts were unfit as queries."""

    context: Triples
    queries: Triples
    returned: int


def split_inductive(
    dataset: Dataset, shares: Shares = (0.7, 0.1, 0.2), *, context: float = 0.75, regions: int = 10, seed: int = 0
) -> Split:
    """Divide the entities into three parts, and keep the facts with both ends in the same part.

    shares: of the entities, for train, valid and test; 0 for valid leaves it out. context: within valid and test, the
    share of facts in the graph to reason on; the others are queries. regions: the number of entities from which valid
    and test each grow along the facts. A single region loses the fewest facts, but it may cover one topic only, with
    relations that are rare in train.

    Each part is a dataset. "train" has the facts to learn from, and a tenth of them as its valid. "valid" and "test"
    have their context as train and their queries as test: evaluate a model trained on `parts["train"]` with
    `evaluate(model, parts["test"])`. The entities of every query are in its context, and its relation is in train;
    facts unfit as queries stay in the context.

    The manifest has the share of facts kept, the share that random parts would keep, and the distance of each part's
    relation mix from that of train: 0 for the same mix, 1 for no relation in common.

    >>> from stablerule.datasets import load
    >>> split = split_inductive(load("geography"), seed=0)
    >>> for part in split.parts.values():
    ...     print(part)
    Dataset('geography/train', 3,234 entities, 10 relations, train 7,278, valid 809, test 0)
    Dataset('geography/valid', 463 entities, 8 relations, train 681, valid 0, test 227)
    Dataset('geography/test', 925 entities, 8 relations, train 1,308, valid 0, test 436)
    >>> print(split.manifest["notes"][0])
    79.9% of the facts have both ends in one part (random parts: 54.0%).
    """
    asked = check_split_shares(shares, needed=("train", "test"))
    if not 0 < check_number("context", context, 0, 1) < 1:
        raise OptionError(f"Argument 'context' must be above 0 and below 1, got {context!r}.")
    check_count("regions", regions, least=1)
    growing, dealing = np.random.default_rng(check_count("seed", seed, least=0)).spawn(2)
    facts = check_split_source(dataset).everything
    first = mark_first_facts(facts)
    distinct = facts.take(first)
    graph = Graph.build(distinct, dataset.vocabulary, dataset.name)
    sizes = _size_split_parts(graph, asked)
    place = grow_split_parts(graph, sizes, growing, regions)
    within = np.where(place[distinct.heads] == place[distinct.tails], place[distinct.heads], NOWHERE)  # (facts,)
    kept = {name: distinct.take(within == at) for at, name in enumerate(SPLITS) if asked[at]}
    for name, some in kept.items():
        _refuse_empty_part(some, "facts", name, dataset)
    train, held_out, _ = split_triples(kept["train"], (1 - HELD_OUT, HELD_OUT, 0.0), dealing)
    asking = {
        name: _divide_into_queries(some, context, train, dealing) for name, some in kept.items() if name != "train"
    }
    parts = {"train": narrow_to_split(dataset, f"{dataset.name}/train", train, held_out)}
    for name, part in asking.items():
        _refuse_empty_part(part.queries, "queries", name, dataset)
        parts[name] = narrow_to_split(dataset, f"{dataset.name}/{name}", part.context, test=part.queries)
    found = {
        "kept": float((within != NOWHERE).mean()),
        "kept_by_chance": expect_kept_split_share(graph, sizes),
        "relation_mix": {name: _measure_mix_distance(kept[name], kept["train"]) for name in asking},
        "returned_to_context": {name: part.returned for name, part in asking.items()},
    }
    manifest = make_split_manifest(
        "inductive",
        dataset,
        parts,
        parameters={"shares": asked, "context": context, "regions": regions, "held_out": HELD_OUT},
        seed=seed,
        lost={REPEATED: facts.take(~first), CROSSING: distinct.take(within == NOWHERE)},
        found=found,
        notes=_describe_inductive_split(found),
    )
    return Split(parts, manifest)


def _size_split_parts(graph: Graph, shares: Shares) -> tuple[int, int, int]:
    """Return the number of entities of each part."""
    entities = int((graph.degrees > 0).sum())
    valid, test = round(shares[1] * entities), round(shares[2] * entities)
    sizes = (entities - valid - test, valid, test)
    for name, share, size in zip(SPLITS, shares, sizes, strict=True):
        if share and size < 1:
            raise InputError(
                f"Dataset {graph.name!r} has too few entities ({entities:,}) for a {name} part with a share of "
                f"{share:g}. Use a larger share."
            )
    return sizes


def _divide_into_queries(facts: Triples, share: float, train: Triples, rng: np.random.Generator) -> Part:
    """Divide the facts of a part into context and queries; facts of relations not in train stay in the context."""
    context, _, queries = split_triples(facts, (share, 0.0, 1 - share), rng)
    known = np.isin(queries.relations, train.relations)
    return Part(Triples.concat(context, queries.take(~known)), queries.take(known), int((~known).sum()))


def _refuse_empty_part(facts: Triples, what: str, name: str, dataset: Dataset) -> None:
    if not len(facts):
        raise InputError(
            f"Part {name!r} of dataset {dataset.name!r} has no {what}. Use another seed, fewer regions, "
            f"{'less context, ' if what == 'queries' else ''}or a larger share of the entities for it."
        )


def _measure_mix_distance(facts: Triples, others: Triples) -> float:
    """Return the share of facts whose relation would have to change for both to have the same relation mix."""
    size = 1 + max(int(facts.relations.max()), int(others.relations.max()))
    one, two = (np.bincount(some.relations, minlength=size) / len(some) for some in (facts, others))
    return float(np.abs(one - two).sum() / 2)


def _describe_inductive_split(found: Mapping[str, Any]) -> list[str]:
    mixes = ", ".join(f"{distance:.2f} in {name}" for name, distance in found["relation_mix"].items())
    return [
        f"{found['kept']:.1%} of the facts have both ends in one part (random parts: {found['kept_by_chance']:.1%}).",
        f"Distance of the relation mix from train: {mixes} (0: the same, 1: no relation in common).",
        *(
            f"{count:,} {name} facts stay in its context, because their relation is not in train."
            for name, count in found["returned_to_context"].items()
            if count
        ),
    ]


def grow_split_parts(
    graph: Graph, sizes: tuple[int, ...], rng: np.random.Generator, regions: int = 1
) -> NDArray[np.int64]:
    """Assign each entity with facts to a part; part p gets sizes[p] entities.

    The last part grows along the facts from `regions` random entities, one region after the other. Then the part before
    it grows among the entities left, and so on; part 0 is the rest.

    >>> from stablerule.graph import Dataset
    >>> rings = [(f"{side}{i}", "next", f"{side}{(i + 1) % 4}") for side in "ab" for i in range(4)]
    >>> graph = Dataset.from_names("rings", train=[*rings, ("a0", "next", "b0")]).graph
    >>> parts = grow_split_parts(graph, (4, 4), np.random.default_rng(0))
    >>> len(set(parts[:4])), len(set(parts[4:]))
    (1, 1)
    """
    growing = _PartGrower(graph, rng)
    for part in range(len(sizes) - 1, 0, -1):
        # The sizes of the regions differ by at most one.
        for size in np.diff(np.arange(regions + 1) * sizes[part] // regions).tolist():
            growing.add_region(part, size)
    return np.array(growing.parts, np.int64)


class _PartGrower:
    """The growing parts, as lists, because access to single array values is slow."""

    def __init__(self, graph: Graph, rng: np.random.Generator) -> None:
        has_facts = graph.degrees > 0
        self.parts: list[int] = np.where(has_facts, 0, NOWHERE).tolist()
        self.order: list[int] = rng.permutation(np.flatnonzero(has_facts)).tolist()
        self.place = {entity: at for at, entity in enumerate(self.order)}
        self.offsets, self.neighbours = graph.offsets.tolist(), graph.link_tails.tolist()
        self.degrees = graph.degrees.tolist()
        self.starts = iter(self.order)

    def add_region(self, part: int, size: int) -> None:
        """Add a region of unassigned entities to a part.

        The next entity is the one with the largest share of its facts inside the region: entities linked to nothing
        else come first, hubs last. Choosing the most facts instead would take the hubs first, and leave none for other
        parts.
        """
        inside: dict[int, int] = {}  # facts between an entity and the region
        waiting: list[tuple[float, int, int]] = []
        for _ in range(size):
            entity = self._take_next(waiting, inside)
            if entity is None:  # the first entity, or no other is linked to the region any more
                entity = next(start for start in self.starts if self.parts[start] == 0)
            self.parts[entity] = part
            for neighbour in self.neighbours[self.offsets[entity] : self.offsets[entity + 1]]:
                if self.parts[neighbour] == 0:
                    inside[neighbour] = inside.get(neighbour, 0) + 1
                    share = inside[neighbour] / self.degrees[neighbour]
                    heapq.heappush(waiting, (-share, self.place[neighbour], neighbour))

    def _take_next(self, waiting: list[tuple[float, int, int]], inside: dict[int, int]) -> int | None:
        """Return the entity with the largest share inside, skipping outdated entries; None if there is none."""
        while waiting:
            share, _, entity = heapq.heappop(waiting)
            if self.parts[entity] == 0 and -share == inside[entity] / self.degrees[entity]:
                return entity
        return None


def expect_kept_split_share(graph: Graph, sizes: tuple[int, ...]) -> float:
    """Return the expected share of facts kept by random parts of these sizes.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("pairs", train=[("a", "r", "b"), ("c", "r", "d")]).graph
    >>> round(expect_kept_split_share(graph, (2, 2)), 3)
    0.333
    """
    n = sum(sizes)
    both_ends = sum(size * (size - 1) for size in sizes) / (n * (n - 1)) if n > 1 else 1.0
    loops = float((graph.fact_heads == graph.fact_tails).mean())
    return loops + (1 - loops) * both_ends
