"""The first page: what graph this is, and what model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.graph import check
from stablerule.reasoning.calibration import Calibration

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored

TOP = 5


@dataclass(frozen=True)
class DegreeBin:
    """How many entities have so many facts, both ends included."""

    least: int
    most: int
    entities: int


@dataclass(frozen=True)
class Hub:
    """An entity with many facts."""

    name: str
    facts: int


@dataclass(frozen=True)
class RelationView:
    """A relation, its facts, and how it behaves."""

    name: str
    facts: int
    one_valued: bool
    inverse_one_valued: bool
    symmetric: bool
    rules: int


@dataclass(frozen=True)
class GraphView:
    """The graph: its sizes, how many facts entities have, and its relations by their facts."""

    name: str
    entities: int
    relations: int
    facts: dict[str, int]
    degrees: list[DegreeBin]
    hubs: list[Hub]
    relation_list: list[RelationView]
    sha256: str


@dataclass(frozen=True)
class ReliabilityBin:
    """Probabilities from `least` to `most`: their mean, and the share that was right of n candidates."""

    least: float
    most: float
    n: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class ModelView:
    """The model: how and from what it learned, how it answers, and how well its probabilities held."""

    name: str
    method: str
    sha256: str
    learned_at: str | None
    learned_from: str
    learned_from_facts: int
    on_its_own_graph: bool
    source: str | None
    has_rules: bool
    rules: int
    rules_described: str
    aggregation: str | None
    chosen_on: str | None
    calibrated: bool
    calibration: str
    reliability: list[ReliabilityBin]
    reliability_error: float | None
    held_out: int | None
    options: dict[str, Any]
    versions: dict[str, str]
    notes: list[str]


@dataclass(frozen=True)
class FindingView:
    """What the data check found."""

    kind: str
    severity: str
    count: int
    what: str
    example: str
    advice: str


def show_graph(explored: Explored) -> GraphView:
    """Count the graph."""
    graph, words, dataset = explored.graph, explored.graph.vocabulary, explored.dataset
    counts, behaviour, n = np.diff(graph.fact_offsets), explored.behaviour, graph.n_relations
    frame = explored.rules.to_frame()["head_relation"].value_counts()
    rules_of = dict(frame.iter_rows())
    order = np.lexsort((np.arange(n), -counts)).tolist()
    degrees = graph.degrees
    hubs = np.argsort(-degrees, kind="stable")[:TOP].tolist()
    return GraphView(
        name=dataset.name,
        entities=graph.n_entities,
        relations=n,
        facts={name: len(split) for name, split in dataset.splits.items()},
        degrees=_bin_degrees(degrees),
        hubs=[Hub(words.entity_name(one), int(degrees[one])) for one in hubs],
        relation_list=[
            RelationView(
                name := words.relation_name(r),
                int(counts[r]),
                bool(behaviour.one_valued[r]),
                bool(behaviour.one_valued[r + n]),
                bool(behaviour.symmetric[r]),
                rules_of.get(name, 0),
            )
            for r in order
        ],
        sha256=graph.sha256,
    )


def _bin_degrees(degrees: np.ndarray[Any, Any]) -> list[DegreeBin]:
    """Count entities by their facts, each bin twice as wide as the one before: 0, 1, 2 to 3, 4 to 7, ..."""
    if not len(degrees):
        return []
    place = np.where(degrees > 0, np.log2(np.maximum(degrees, 1)).astype(int) + 1, 0)
    counts = np.bincount(place)
    return [DegreeBin(2 ** (i - 1) if i else 0, 2**i - 1 if i else 0, int(n)) for i, n in enumerate(counts)]


def show_model(explored: Explored) -> ModelView:
    """Say what the model is."""
    model = explored.model
    learned, mark = model.learned_, model.data_
    when = explored.learned_at
    calibration = model.calibration_for(explored.graph)
    reliability = calibration.reliability if isinstance(calibration, Calibration) else {}
    return ModelView(
        name=explored.name,
        method=model.method,
        sha256=explored.sha256,
        learned_at=None if when is None else datetime.fromtimestamp(when, UTC).isoformat(timespec="minutes"),
        learned_from=mark.name,
        learned_from_facts=mark.facts,
        on_its_own_graph=mark.sha256 == explored.graph.sha256,
        source=mark.source,
        has_rules=explored.has_rules,
        rules=len(explored.rules),
        rules_described=explored.rules.describe() if explored.has_rules else "",
        aggregation=None if learned.choice is None else learned.choice.aggregation.name,
        chosen_on=None if learned.choice is None else learned.choice.chosen_on,
        calibrated=isinstance(calibration, Calibration),
        calibration="" if isinstance(calibration, Calibration) else calibration,
        reliability=[
            ReliabilityBin(one["from"], one["to"], one["n"], one["predicted"], one["observed"])
            for one in reliability.get("bins", [])
        ],
        reliability_error=reliability.get("ece"),
        held_out=learned.held_out,
        options=dict(model.options),
        versions=dict(model.saved_.versions) if model.saved_ else {},
        notes=list(learned.notes),
    )


def find_findings(explored: Explored) -> list[FindingView]:
    """Check the data; that takes seconds on a large graph."""
    return [FindingView(**finding.to_dict()) for finding in check(explored.dataset)]
