"""Distances between groups of facts, or between two sets of queries, from 0 to 1, compared with chance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from stablerule.shifts.signatures import has_sklearn, reduce_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.shifts.profile import Profile
    from stablerule.shifts.signatures import Signatures

CONTROLS = 20  # random groupings to compare with
CLASSIFIER_CONTROLS = 19
MOST_CLASSIFIED = 3000
FOLDS = 4
NEARLY_ALL = 0.95  # quantile of the random groupings
RESAMPLES = 200
BEYOND = 0.99  # quantile of the resampled distances


@dataclass(frozen=True)
class ShiftSize:
    """One distance between groups.

    value: 0 for equal groups, 1 for groups with nothing in common. chance: the mean distance of random groups of the
    same sizes. chance_high: their 95% point. Without a `value` above `chance_high`, no shift is visible.
    """

    measure: str
    value: float
    chance: float
    chance_high: float

    @property
    def is_shifted(self) -> bool:
        """Whether the distance is larger than by chance."""
        return self.value > self.chance_high

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "is_shifted": self.is_shifted}


def measure_shift(
    facts: Triples, labels: NDArray[np.int64], graph: Graph, signatures: Signatures, *, seed: int = 0
) -> tuple[ShiftSize, ...]:
    """Measure the distance between groups of facts: relation mix, bodies that link them, degrees, and a classifier.

    The first three are Jensen-Shannon distances between the distributions of the groups, as a share of the largest
    possible. The last is how well a logistic regression distinguishes the groups by their path signatures, on held-out
    facts: the mean area under the ROC curve of each group against the rest, rescaled so that chance is 0.
    """
    random = np.random.default_rng(seed)
    relations = encode_one_hot(facts.relations % graph.n_relations)
    degrees = encode_one_hot(classify_degrees(graph.degrees[facts.heads]))
    other_degrees = encode_one_hot(classify_degrees(graph.degrees[facts.tails]))
    measured = [
        _measure_against_chance("relation mix", relations, labels, random),
        _measure_against_chance("body coverage", signatures.linked.astype(np.float64), labels, random),
        _measure_against_chance("degrees", sparse.hstack([degrees, other_degrees]).tocsr(), labels, random),
    ]
    told = _measure_by_classifier(signatures, labels, random, seed)
    return (*measured, told) if told is not None else tuple(measured)


@dataclass(frozen=True)
class Distance:
    """One distance between two sets of queries, 0 to 1.

    null: its mean if both sets are resampled from all queries. null_high: the 99% point. p: the share of resamples that
    are at least as far apart, never 0. is_shifted: above the 99% point, and by enough to matter.
    """

    measure: str
    value: float
    null: float
    null_high: float
    p: float
    least: float

    @property
    def is_shifted(self) -> bool:
        """Whether the distance is larger than by chance, by enough to matter."""
        return self.value > self.null_high and self.value - self.null > self.least

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "is_shifted": self.is_shifted}


def measure_distances(reference: Profile, current: Profile, *, least: float, seed: int) -> tuple[Distance, ...]:
    """Compare relation mix, degrees and bodies that fire: Jensen-Shannon distances with a resampled null.

    Both sets have the same weight, so the distance does not depend on their sizes.
    """
    random = np.random.default_rng(seed)
    relations = encode_one_hot(np.concatenate([reference.relations, current.relations]))
    degrees = encode_one_hot(classify_degrees(np.concatenate([reference.degrees, current.degrees])))
    # Queries without any body that fires get a column of their own.
    fires = sparse.vstack([reference.fires, current.fires]).tocsr()
    silent = sparse.csr_matrix((np.asarray(fires.sum(1)).ravel() == 0).astype(float)[:, None])
    bodies = sparse.hstack([_share_out_query_rows(fires), silent]).tocsr()
    is_current = np.arange(len(reference) + len(current)) >= len(reference)
    return tuple(
        _measure_query_distance(measure, values, is_current, least, random)
        for measure, values in (("relation mix", relations), ("degrees", degrees), ("bodies that fire", bodies))
    )


def measure_jensen_shannon(table: NDArray[np.float64] | Any) -> float:
    """Return the distance between the rows of a table of counts (groups, values), weighted by their totals.

    It is the square root of the mutual information of row and column, as a share of the largest possible.

    >>> apart, alike = np.array([[4.0, 0.0], [0.0, 4.0]]), np.array([[2.0, 6.0], [1.0, 3.0]])
    >>> measure_jensen_shannon(apart), measure_jensen_shannon(alike)
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


def _measure_against_chance(
    measure: str, values: Any, labels: NDArray[np.int64], random: np.random.Generator
) -> ShiftSize:
    """Compare a distance with random groupings; values: (n, m) sparse, each fact's part in its group's distribution."""

    def distance(groups: NDArray[np.int64]) -> float:
        return measure_jensen_shannon((encode_one_hot(groups).T @ values).toarray())

    by_chance = [distance(random.permutation(labels)) for _ in range(CONTROLS)]
    return ShiftSize(
        measure, distance(labels), float(np.mean(by_chance)), float(np.quantile(by_chance, NEARLY_ALL, method="higher"))
    )


def _measure_by_classifier(
    signatures: Signatures, labels: NDArray[np.int64], random: np.random.Generator, seed: int
) -> ShiftSize | None:
    """Return the distance by a classifier; None if groups are too small, or scikit-learn is not installed."""
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


def _share_out_query_rows(fires: Any) -> Any:
    """Normalise rows, so that each query has the same weight however many bodies fire for it."""
    sums = np.asarray(fires.sum(1)).ravel()
    return sparse.diags(1 / np.maximum(sums, 1)) @ fires


def _measure_query_distance(
    measure: str, values: Any, is_current: NDArray[np.bool_], least: float, random: np.random.Generator
) -> Distance:
    total = np.asarray(values.sum(0)).ravel()

    def apart(second: NDArray[np.bool_]) -> float:
        one = np.asarray(values[second].sum(0)).ravel()
        other = total - one
        return measure_jensen_shannon(np.stack([one / max(one.sum(), 1e-12), other / max(other.sum(), 1e-12)]))

    found = apart(is_current)
    null = np.array([apart(random.permutation(is_current)) for _ in range(RESAMPLES)])
    p = (1 + int((null >= found).sum())) / (1 + RESAMPLES)
    return Distance(measure, found, float(null.mean()), float(np.quantile(null, BEYOND)), p, least)


def classify_degrees(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of each degree: 0, 1, 2-3, 4-7, 8-15 ..."""
    classes: NDArray[np.int64] = np.ceil(np.log2(degrees + 1)).astype(np.int64)
    return classes


def encode_one_hot(values: NDArray[Any]) -> Any:
    """Return whole numbers (n,) as a sparse matrix (n, largest + 1) with a one in each row."""
    n = len(values)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), values)), shape=(n, int(values.max()) + 1))
