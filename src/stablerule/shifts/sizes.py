"""How far groups are apart: distances between 0 and 1, each beside what random groups of the same sizes give."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from stablerule.shifts.extras import has_sklearn
from stablerule.shifts.signatures import reduce_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.shifts.signatures import Signatures

CONTROLS = 20  # random groupings that are measured beside
CLASSIFIER_CONTROLS = 19
MOST_CLASSIFIED = 3000
FOLDS = 4
BEYOND = 0.95  # what share of random groupings stays below, in a table of chance


@dataclass(frozen=True)
class ShiftSize:
    """One measure of the distance between groups.

    value: 0 where the groups are alike, 1 where they have nothing in common; chance: the mean of the same measure over
    random groups of these sizes; chance_high: the most that nearly all of them reach. Where `value` is not above
    `chance_high`, there is no shift to be seen.
    """

    measure: str
    value: float
    chance: float
    chance_high: float

    @property
    def is_shifted(self) -> bool:
        """Whether it is more than chance gives."""
        return self.value > self.chance_high

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "is_shifted": self.is_shifted}


def measure_shift(
    facts: Triples, labels: NDArray[np.int64], graph: Graph, signatures: Signatures, *, seed: int = 0
) -> tuple[ShiftSize, ...]:
    """Measure how far groups of facts are apart: relation mix, bodies that link them, degrees, and a classifier.

    The first three are Jensen-Shannon distances between the distributions of the groups, as a share of the largest
    possible. The last is how well a logistic regression tells the groups apart by their path signatures, on facts it
    was not fitted to: the mean area under the curve of each group against the rest, stretched so that chance is 0.
    """
    random = np.random.default_rng(seed)
    relations = one_hot(facts.relations % graph.n_relations)
    degrees = one_hot(degree_classes(graph.degrees[facts.heads]))
    other_degrees = one_hot(degree_classes(graph.degrees[facts.tails]))
    measured = [
        _against_chance("relation mix", relations, labels, random),
        _against_chance("body coverage", signatures.linked.astype(np.float64), labels, random),
        _against_chance("degrees", sparse.hstack([degrees, other_degrees]).tocsr(), labels, random),
    ]
    told = _classifier(signatures, labels, random, seed)
    return (*measured, told) if told is not None else tuple(measured)


def jensen_shannon(table: NDArray[np.float64] | Any) -> float:
    """Distance between the rows of a table of counts (groups, values), each weighing as much as it counts.

    The square root of the mutual information of row and column, as a share of the largest possible.

    >>> jensen_shannon(np.array([[4.0, 0.0], [0.0, 4.0]])), jensen_shannon(np.array([[2.0, 6.0], [1.0, 3.0]]))
    (1.0, 0.0)
    """
    table = np.asarray(table, np.float64)
    table = table[table.sum(1) > 0]
    total = table.sum()
    if total <= 0 or len(table) < 2:
        return 0.0
    joint = table / total
    rows, columns = joint.sum(1, keepdims=True), joint.sum(0, keepdims=True)
    expected = rows * columns
    held = joint > 0
    information = float((joint[held] * np.log(joint[held] / expected[held])).sum())
    most = -float((rows * np.log(rows)).sum())
    return min(1.0, float(np.sqrt(information / most))) if information > 1e-12 else 0.0


def _against_chance(measure: str, values: Any, labels: NDArray[np.int64], random: np.random.Generator) -> ShiftSize:
    """values: (n, m) sparse, what each fact adds to the distribution of its group."""

    def distance(groups: NDArray[np.int64]) -> float:
        return jensen_shannon((one_hot(groups).T @ values).toarray())

    by_chance = [distance(random.permutation(labels)) for _ in range(CONTROLS)]
    return ShiftSize(
        measure, distance(labels), float(np.mean(by_chance)), float(np.quantile(by_chance, BEYOND, method="higher"))
    )


def _classifier(
    signatures: Signatures, labels: NDArray[np.int64], random: np.random.Generator, seed: int
) -> ShiftSize | None:
    """None where there is too little of each group to fit and to judge, or nothing to fit with."""
    if not has_sklearn():
        return None
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  # an extra
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold, cross_val_predict  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    sizes = np.bincount(labels)
    kept = np.flatnonzero(np.isin(labels, np.flatnonzero(sizes >= 5 * FOLDS)))
    kept = random.permutation(kept)[:MOST_CLASSIFIED]
    names, groups = np.unique(labels[kept], return_inverse=True)
    if len(names) < 2 or np.bincount(groups).min() < FOLDS or not signatures.counts.nnz:
        return None
    points = reduce_signatures(signatures.features[kept], seed=seed)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)

    def told_apart(wanted: NDArray[np.int64]) -> float:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
        guessed = cross_val_predict(model, points, wanted, cv=folds, method="predict_proba")
        areas = [roc_auc_score(wanted == group, guessed[:, group]) for group in range(len(names))]
        return max(0.0, 2 * float(np.mean(areas)) - 1)

    by_chance = [told_apart(random.permutation(groups)) for _ in range(CLASSIFIER_CONTROLS)]
    return ShiftSize("classifier", told_apart(groups), float(np.mean(by_chance)), float(np.max(by_chance)))


def degree_classes(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2-3, 4-7, 8-15 ..."""
    classes: NDArray[np.int64] = np.ceil(np.log2(degrees + 1)).astype(np.int64)
    return classes


def one_hot(values: NDArray[Any]) -> Any:
    """Whole numbers (n,) -> sparse (n, largest + 1) with a one in each row."""
    n = len(values)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), values)), shape=(n, int(values.max()) + 1))
