"""Describe a dataset: sizes, degrees, relations, and what rules can answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.graph.behaviour import find_behaviour
from stablerule.paths import count_pairs_within
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from stablerule.graph import Dataset


@dataclass(frozen=True)
class Degrees:
    """The number of facts of an entity in the training graph, in either direction."""

    median: float
    mean: float
    highest: int
    highest_entity: str
    without_facts: int


@dataclass(frozen=True)
class Reach:
    """The share of pairs of a split that are linked within 1, 2 and 3 steps in the training graph."""

    split: str
    pairs: int
    within: dict[int, float]


@dataclass(frozen=True)
class RelationKinds:
    """The names of relations by their behaviour in the training graph; `~r` is the inverse of r.

    one_valued: a head has one tail; for `~r` a tail has one head. one_to_one: both. symmetric: the reverse of most
    facts is also a fact.
    """

    one_valued: list[str]
    one_to_one: list[str]
    symmetric: list[str]


@dataclass(frozen=True)
class Description:
    """The result of `describe`."""

    name: str
    entities: int
    relations: int
    facts: dict[str, int]
    degrees: Degrees
    frequent_relations: list[tuple[str, int]]
    kinds: RelationKinds
    reach: Reach | None
    graph_bytes: int
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def describe(dataset: Dataset, *, relations: int = 10) -> Description:
    """Return the sizes of a dataset, the degrees and memory of its training graph, and the reach of its test pairs.

    The reach of the test pairs (or the validation pairs) is an upper bound for rules: a rule of length three can't
    answer a pair that is not linked within three steps.
    """
    graph, vocabulary = dataset.graph, dataset.vocabulary
    degrees = graph.degrees
    top = int(degrees.argmax())
    counts = np.diff(graph.fact_offsets)
    frequent = [r for r in np.argsort(-counts, kind="stable")[:relations].tolist() if counts[r]]
    return Description(
        name=dataset.name,
        entities=graph.n_entities,
        relations=graph.n_relations,
        facts={name: len(triples) for name, triples in dataset.splits.items()},
        degrees=Degrees(
            median=float(np.median(degrees)),
            mean=float(degrees.mean()),
            highest=int(degrees[top]),
            highest_entity=vocabulary.entity_name(top),
            without_facts=int((degrees == 0).sum()),
        ),
        frequent_relations=[(vocabulary.relation_name(r), int(counts[r])) for r in frequent],
        kinds=_name_relation_kinds(dataset),
        reach=_measure_dataset_reach(dataset),
        graph_bytes=graph.nbytes,
        sha256=dataset.sha256,
    )


def _name_relation_kinds(dataset: Dataset) -> RelationKinds:
    found, name = find_behaviour(dataset.graph), dataset.vocabulary.relation_name
    return RelationKinds(
        *(
            [name(r) for r in np.flatnonzero(kind).tolist()]
            for kind in (found.one_valued, found.one_to_one, found.symmetric)
        )
    )


def _measure_dataset_reach(dataset: Dataset) -> Reach | None:
    for split in ("test", "valid"):
        triples = dataset.split(split)
        if len(triples):
            with progress_bar("measuring reach", len(triples)) as advance:
                within = count_pairs_within(dataset.graph, triples, progress=advance)
            return Reach(split, len(triples), {steps: count / len(triples) for steps, count in within.items()})
    return None
