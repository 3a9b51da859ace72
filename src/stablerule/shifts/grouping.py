"""Group facts for evaluation: by paths, degree, relation, labels or at random, and measure the shift between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.graph.triples import sort_distinct_triples
from stablerule.shifts.distances import ShiftSize, measure_shift
from stablerule.shifts.signatures import Signatures, make_balanced_clusters, make_path_signatures, reduce_signatures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples

GROUPS = 5
NO_LABEL = "(no label)"
Align = Literal["density", "arbitrary"]


@dataclass(frozen=True, eq=False, repr=False)
class Grouping(Sequence[str]):
    """The group of each of n facts, as a sequence of names for `evaluate(groups=...)`.

    labels: (n,), indices into `names`. shift: the distances between the groups, compared with chance. notes: remarks
    for the user.
    """

    kind: str
    names: tuple[str, ...]
    labels: NDArray[np.int64]
    options: Mapping[str, Any] = field(default_factory=dict)
    shift: tuple[ShiftSize, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """The number of facts of each group."""
        return dict(zip(self.names, np.bincount(self.labels, minlength=len(self.names)).tolist(), strict=True))

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self.names[label] for label in self.labels[at]]
        return self.names[int(self.labels[at])]

    def __len__(self) -> int:
        return len(self.labels)

    def to_json(self) -> dict[str, Any]:
        """Return everything except the label of each fact."""
        return {
            "kind": self.kind,
            "options": dict(self.options),
            "sizes": self.sizes,
            "shift": {size.measure: size.to_json() for size in self.shift},
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {size:,}" for name, size in self.sizes.items())
        return f"Grouping({self.kind}, {len(self):,} facts: {sizes})"


def by_paths(
    facts: Triples,
    graph: Graph,
    *,
    groups: int = GROUPS,
    align: Align = "density",
    max_length: int = 3,
    seed: int = 0,
    measure: bool = True,
) -> Grouping:
    """Group the facts of each relation by their path signatures, into clusters of equal size.

    This is the synthetic shift of the paper. Within a relation, the sizes differ by at most one. The clusters of
    different relations are unrelated, so `align` decides which ones share a number: "density" numbers them from the
    fewest paths to the most, "arbitrary" keeps their order. Facts of relations with fewer facts than groups are
    assigned in turn. Needs the extra `shifts`.
    """
    _check_group_count(groups)
    _check_grouping_seed(seed)
    if align not in ("density", "arbitrary"):
        raise OptionError(f"Argument 'align' must be density or arbitrary, got {align!r}.")
    distinct, back = _find_distinct_grouped_facts(facts, groups)
    signatures = make_path_signatures(distinct, graph, max_length=max_length)
    labels = np.zeros(len(distinct), np.int64)
    density, dealt, few = signatures.density, 0, 0
    for relation in np.unique(distinct.relations).tolist():
        rows = np.flatnonzero(distinct.relations == relation)
        if len(rows) < groups:
            labels[rows] = (dealt + np.arange(len(rows))) % groups
            dealt += len(rows)
            few += 1
            continue
        points = reduce_signatures(_keep_bodies_of_group(signatures.features[rows]), seed=seed)
        found = make_balanced_clusters(points, groups, seed + relation)
        labels[rows] = _order_clusters(found, density[rows], groups) if align == "density" else found
    notes = [f"{few:,} relations have fewer than {groups} facts, which were assigned in turn."] if few else []
    names = tuple(f"paths {i}" for i in range(groups))
    if align == "density":
        names = (f"{names[0]} (fewest)", *names[1:-1], f"{names[-1]} (most)")
    options = {"groups": groups, "align": align, "max_length": max_length, "seed": seed}
    return _make_grouping("by_paths", names, labels, back, options, notes, (distinct, graph, signatures), seed, measure)


def by_degree(facts: Triples, graph: Graph, *, groups: int = GROUPS, seed: int = 0, measure: bool = True) -> Grouping:
    """Group facts by the lower degree of their two ends.

    The groups have about equal sizes. Facts of the same degree stay together, so there may be fewer groups.
    """
    _check_group_count(groups)
    _check_grouping_seed(seed)
    distinct, back = _find_distinct_grouped_facts(facts, groups)
    degrees = np.minimum(graph.degrees[distinct.heads], graph.degrees[distinct.tails])
    cuts = np.unique(np.quantile(degrees, np.arange(1, groups) / groups, method="inverted_cdf"))
    labels = np.searchsorted(cuts, degrees)  # a cut belongs to the group below it
    present, labels = np.unique(labels, return_inverse=True)
    names = []
    for place in range(len(present)):
        low, high = int(degrees[labels == place].min()), int(degrees[labels == place].max())
        names.append(f"degree {low:,}" if low == high else f"degree {low:,} to {high:,}")
    return _make_grouping(
        "by_degree", tuple(names), labels, back, {"groups": groups}, [], (distinct, graph, None), seed, measure
    )


def by_relation(facts: Triples, graph: Graph, *, seed: int = 0, measure: bool = True) -> Grouping:
    """Make each relation a group."""
    _check_grouping_seed(seed)
    distinct, back = _find_distinct_grouped_facts(facts, 1)
    present, labels = np.unique(distinct.relations, return_inverse=True)
    names = tuple(graph.vocabulary.relation_name(int(relation)) for relation in present)
    return _make_grouping("by_relation", names, labels, back, {}, [], (distinct, graph, None), seed, measure)


def by_random(facts: Triples, graph: Graph, *, groups: int = GROUPS, seed: int = 0, measure: bool = True) -> Grouping:
    """Group the facts of each relation at random: the control for the spread of other groupings."""
    _check_group_count(groups)
    _check_grouping_seed(seed)
    distinct, back = _find_distinct_grouped_facts(facts, groups)
    random = np.random.default_rng(seed)
    order = random.permutation(len(distinct))
    order = order[np.argsort(distinct.relations[order], kind="stable")]
    labels = np.empty(len(distinct), np.int64)
    labels[order] = np.arange(len(distinct)) % groups
    names = tuple(f"random {i}" for i in range(groups))
    options = {"groups": groups, "seed": seed}
    return _make_grouping("by_random", names, labels, back, options, [], (distinct, graph, None), seed, measure)


def by_labels(
    facts: Triples,
    graph: Graph,
    labels: Mapping[str, str],
    *,
    of: Literal["head", "tail", "either"] = "either",
    kind: str = "by_labels",
    seed: int = 0,
    measure: bool = True,
) -> Grouping:
    """Group facts by a label of their head or tail; "either" uses the tail's label if the head has none.

    labels: from entity names to labels. Facts without a label are a group of their own.
    """
    if of not in ("head", "tail", "either"):
        raise OptionError(f"Argument 'of' must be head, tail or either, got {of!r}.")
    distinct, back = _find_distinct_grouped_facts(facts, 1)
    entities = graph.vocabulary.entities
    found: list[str] = []
    heads, tails = (entities.names_of(ids).to_list() for ids in (distinct.heads, distinct.tails))
    for head, tail in zip(heads, tails, strict=True):
        label = labels.get(head) if of != "tail" else None
        if label is None and of != "head":
            label = labels.get(tail)
        found.append(NO_LABEL if label is None else label)
    if labels and all(label == NO_LABEL for label in found):
        ends = {"head": "heads", "tail": "tails", "either": "heads and tails"}[of]
        raise InputError(
            f"None of the {len(labels):,} labels is for one of the {ends} of these {len(distinct):,} facts, such as "
            f"{heads[0]!r} and {tails[0]!r}. The labels are for entities such as {next(iter(labels))!r}."
        )
    if not labels:
        raise InputError("There are no labels to group by.")
    made = group_by_names(distinct, graph, found, kind=kind, seed=seed, measure=measure)
    return Grouping(made.kind, made.names, made.labels[back], {"of": of}, made.shift, made.notes)


def group_by_names(
    facts: Triples, graph: Graph, names: Sequence[str], *, kind: str = "given", seed: int = 0, measure: bool = True
) -> Grouping:
    """Group facts by given names, one for each fact; a repeated fact must have the same name."""
    if len(names) != len(facts):
        raise InputError(f"There must be a group for each of the {len(facts):,} facts, got {len(names):,}.")
    _check_grouping_seed(seed)
    distinct, back = _find_distinct_grouped_facts(facts, 1)
    found, codes = np.unique(np.asarray(names, object), return_inverse=True)
    labels = np.zeros(len(distinct), np.int64)
    labels[back] = codes.reshape(-1)
    if not np.array_equal(labels[back], codes.reshape(-1)):
        row = int(np.flatnonzero(labels[back] != codes.reshape(-1))[0])
        raise InputError(f"A repeated fact must have one group: see fact {row}, with group {names[row]!r}.")
    missing = int((np.asarray(names, object) == NO_LABEL).sum())
    notes = [f"{missing:,} of {len(names):,} facts have no label."] if missing else []
    return _make_grouping(kind, tuple(found.tolist()), labels, back, {}, notes, (distinct, graph, None), seed, measure)


def by_attribute(
    facts: Triples,
    graph: Graph,
    relation: str,
    *,
    labels_from: Graph | None = None,
    of: Literal["head", "tail", "either"] = "either",
    seed: int = 0,
    measure: bool = True,
) -> Grouping:
    """Group facts by an attribute of their head or tail, such as in_continent: a natural shift.

    relation: its tails are the values of the attribute. labels_from: the graph with the attribute (None: the same
    graph). An entity with several values gets the first by name.
    """
    known = labels_from or graph
    relation_id = known.vocabulary.relation_id(relation)
    heads, tails = known.facts(relation_id)
    names = known.vocabulary.entities
    labels: dict[str, str] = {}
    pairs = sorted(zip(names.names_of(heads).to_list(), names.names_of(tails).to_list(), strict=True), reverse=True)
    labels.update(pairs)  # the first by name comes last, so it overwrites the others
    if not labels:
        raise InputError(f"Relation {relation!r} has no facts in graph {known.name!r} to group by.")
    made = by_labels(facts, graph, labels, of=of, kind="by_attribute", seed=seed, measure=measure)
    several = len(pairs) - len(labels)
    notes = [f"{several:,} further values of {relation} were ignored: an entity has one label."] if several else []
    return Grouping(
        made.kind, made.names, made.labels, {"relation": relation, "of": of}, made.shift, (*made.notes, *notes)
    )


def _check_group_count(groups: object) -> None:
    if not isinstance(groups, int) or isinstance(groups, bool) or groups < 2:
        raise OptionError(f"Argument 'groups' must be a whole number of at least 2, got {groups!r}.")


def _check_grouping_seed(seed: object) -> None:
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise OptionError(f"Argument 'seed' must be a whole number of at least 0, got {seed!r}.")


def _find_distinct_grouped_facts(facts: Triples, groups: int) -> tuple[Triples, NDArray[np.int64]]:
    """Return the distinct facts, and the index of each row among them: a repeated fact must have one group."""
    if not len(facts):
        raise InputError("There are no facts to group.")
    found = sort_distinct_triples(facts.relations, facts.heads, facts.tails)
    if len(found.first) < groups:
        raise InputError(f"{len(found.first):,} distinct facts are fewer than {groups} groups. Ask for fewer groups.")
    back = np.empty(len(facts), np.int64)
    back[found.order] = np.cumsum(found.new) - 1
    return facts.take(found.first), back


def _keep_bodies_of_group(features: Any) -> Any:
    """Drop the bodies that link none of these facts."""
    return features[:, np.unique(features.indices)] if features.nnz else features[:, :1]


def _order_clusters(labels: NDArray[np.int64], density: NDArray[np.float64], groups: int) -> NDArray[np.int64]:
    """Number clusters by their mean density."""
    means = np.bincount(labels, density, groups) / np.maximum(np.bincount(labels, minlength=groups), 1)
    places = np.empty(groups, np.int64)
    places[np.argsort(means, kind="stable")] = np.arange(groups)
    return places[labels]


def _make_grouping(
    kind: str,
    names: tuple[str, ...],
    labels: NDArray[np.int64],
    back: NDArray[np.int64],
    options: dict[str, Any],
    notes: list[str],
    measured_on: tuple[Triples, Graph, Signatures | None],
    seed: int,
    measure: bool,
) -> Grouping:
    shift: tuple[ShiftSize, ...] = ()
    labels = labels.astype(np.int64)
    alone = [names[label] for label, size in enumerate(np.bincount(labels)) if size == 1]
    if alone:
        shown = ", ".join(alone[:3]) + (" ..." if len(alone) > 3 else "")
        notes = [*notes, f"{len(alone):,} groups have only one fact: {shown}."]
    if measure and len(names) > 1:
        facts, graph, signatures = measured_on
        shift = measure_shift(facts, labels, graph, signatures or make_path_signatures(facts, graph), seed=seed)
    return Grouping(kind, names, labels[back], options, shift, tuple(notes))
