"""Estimate a model's accuracy on queries without answers, from reference queries with answers.

This is a doubly robust estimate. The reference queries are weighted so that they look like the current ones. A
regression predicts the reciprocal rank of each query, and its weighted mean error on the reference corrects the
prediction. The estimate is correct if either the weights or the regression are. Both are cross-fitted. No part of it
can see that queries became harder if they look the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from stablerule.errors import MissingExtra
from stablerule.shifts.distances import classify_degrees, encode_one_hot
from stablerule.shifts.signatures import has_sklearn, reduce_signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.shifts.profile import Profile

FOLDS = 5
MOST_REFERENCE = 8000
FEWEST_EFFECTIVE = 40  # effective reference queries: with fewer, there is no estimate
FEWEST_CURRENT = 10
SIZE = 12  # dimensions of the bodies that fire
MOST_WEIGHT = 20.0  # times the mean weight; above, a single query would dominate
TOGETHER = 1.15  # errors of queries about one fact are correlated, and weights are estimated: widens the interval
UNSEEN = 1.5  # how large a hidden shift may be, in standard deviations over groups that only answers show
SHRINK = 10.0  # the weight of the overall mean, in queries, when it is mixed with the mean of a relation


@dataclass(frozen=True)
class ExpectedAccuracy:
    """The expected mean reciprocal rank on the current queries, with its interval, or why it cannot be estimated.

    tried: False if the package for it is missing.
    effective: the effective sample size of the weighted reference queries. reference: their unweighted mean. chance,
    hidden: the two parts of the standard error, from the number of queries, and from differences that only answers
    show.
    blind: how far the mean may be off if the queries look the same and only their answers changed. The interval allows
    for hidden differences only as far as the queries differ.
    """

    mrr: float | None
    low: float | None
    high: float | None
    confidence: float
    effective: float
    reference: float
    refused: str | None = None
    chance: float | None = None
    hidden: float | None = None
    blind: float | None = None
    tried: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def expect_accuracy(
    reference: Profile,
    reciprocal_ranks: NDArray[np.float64],
    current: Profile,
    *,
    hidden: Sequence[NDArray[np.int64]] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[ExpectedAccuracy, NDArray[np.float64]]:
    """Return the estimate for the current queries, and the expected reciprocal rank of each.

    hidden: groupings of the reference queries that only their answers show. The error of the regression varies from
    group to group, which shows how large the effect of a hidden shift may be. It widens the interval, the more the
    current queries differ from the reference. A query without any candidate is ranked by popularity. It gets the mean
    of such queries in the reference.
    """
    answered = np.flatnonzero(current.answered)
    each = np.zeros(len(current))
    usable = np.flatnonzero(reference.answered)
    plain = float(reciprocal_ranks.mean()) if len(reciprocal_ranks) else 0.0
    if not has_sklearn():
        why = str(MissingExtra("Estimating it", package="scikit-learn", extra="shifts"))
        return ExpectedAccuracy(None, None, None, confidence, 0.0, plain, why, tried=False), each
    if len(answered) < FEWEST_CURRENT:
        why = f"only {len(answered):,} of these queries have a candidate; at least {FEWEST_CURRENT} are needed"
        return ExpectedAccuracy(None, None, None, confidence, 0.0, plain, why), each
    if len(usable) < FEWEST_EFFECTIVE:
        why = f"only {len(usable):,} reference queries have a candidate; at least {FEWEST_EFFECTIVE} are needed"
        return ExpectedAccuracy(None, None, None, confidence, float(len(usable)), plain, why), each
    random = np.random.default_rng(seed)
    if len(usable) > MOST_REFERENCE:
        usable = np.sort(random.choice(usable, MOST_REFERENCE, replace=False))
    old, ranks, new = reference.take(usable), reciprocal_ranks[usable], current.take(answered)
    weights, told_apart = _weigh_reference(old, new, seed)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    on_old, on_new = _predict_reciprocal_ranks(old, ranks, new, seed)
    errors = ranks - on_old
    correction = float(weights @ errors / weights.sum())
    spread = float(weights @ (errors - correction) ** 2 / weights.sum())
    mean = float(on_new.mean()) + correction
    # Later the mean is measured on these same queries, so their own random variation counts as well.
    chance = TOGETHER * float(np.sqrt(spread / effective + spread / len(new)))
    between = UNSEEN * _measure_hidden_spread(hidden, usable, errors)
    unseen = float(np.sqrt(told_apart)) * between
    share = len(new) / len(current)
    each[answered] = np.clip(on_new + correction, 0, 1)
    silent = np.flatnonzero(~current.answered)
    each[silent], rest_chance = _expect_without_candidate(reference, reciprocal_ranks, current.relations[silent])
    mean = float(np.clip(mean, 0, 1)) * share + float(each[silent].sum()) / len(current)
    chance, unseen = float(np.hypot(chance * share, rest_chance * (1 - share))), unseen * share
    sure = NormalDist().inv_cdf((1 + confidence) / 2)
    wide = sure * float(np.hypot(chance, unseen))
    low, high = max(0.0, mean - wide), min(1.0, mean + wide)
    if effective < FEWEST_EFFECTIVE:
        why = f"the effective sample is only {effective:.0f} reference queries; at least {FEWEST_EFFECTIVE} are needed"
        return ExpectedAccuracy(None, None, None, confidence, effective, plain, why), each
    blind = sure * float(np.hypot(chance, between * share))
    return ExpectedAccuracy(mean, low, high, confidence, effective, plain, None, chance, unseen, blind), each


def _expect_without_candidate(
    reference: Profile, reciprocal_ranks: NDArray[np.float64], asked: NDArray[Any]
) -> tuple[NDArray[np.float64], float]:
    """Return the expected reciprocal rank of queries without a candidate (n,), and the standard error of its mean.

    It is the mean of such reference queries, by relation; 0 if the reference has none.
    """
    known = np.flatnonzero(~reference.answered)
    if not len(known) or not len(asked):
        return np.zeros(len(asked)), 0.0
    usual = _fit_relation_means(reference.relations[known], reciprocal_ranks[known])
    spread = float(((reciprocal_ranks[known] - usual(reference.relations[known])) ** 2).mean())
    found: NDArray[np.float64] = usual(asked)
    return found, float(np.sqrt(spread / len(known) + spread / len(asked)))


def _measure_hidden_spread(
    groupings: Sequence[NDArray[np.int64]], rows: NDArray[np.int64], errors: NDArray[np.float64]
) -> float:
    """Return the standard deviation of the mean error over groups, beyond sampling error: the largest over groupings.

    >>> errors = np.array([0.1, 0.1, 0.1, -0.1, -0.1, -0.1])
    >>> round(_measure_hidden_spread([np.array([0, 0, 0, 1, 1, 1])], np.arange(6), errors), 3)
    0.1
    """
    largest = 0.0
    for grouping in groupings:
        _, labels = np.unique(grouping[rows], return_inverse=True)
        sizes = np.bincount(labels)
        means = np.bincount(labels, errors) / sizes
        noise = np.bincount(labels, (errors - means[labels]) ** 2) / sizes / sizes
        shares = sizes / sizes.sum()
        largest = max(largest, float(shares @ (means - shares @ means) ** 2 - shares @ noise))
    return float(np.sqrt(largest))


def _weigh_reference(old: Profile, new: Profile, seed: int) -> tuple[NDArray[np.float64], float]:
    """How much likelier each reference query is among the current ones: the odds of a classifier, mean 1.

    Also how well it tells the two apart, from 0, not at all, to 1.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  # an extra
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.model_selection import StratifiedKFold, cross_val_predict  # noqa: PLC0415

    features = _make_sparse_features(old, new, seed)
    is_new = np.arange(features.shape[0]) >= len(old)
    folds = min(FOLDS, len(new))
    model = LogisticRegression(C=0.3, class_weight="balanced", max_iter=500)
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    guessed = cross_val_predict(model, features, is_new, cv=splits, method="predict_proba")[:, 1]
    odds = np.clip(guessed[: len(old)], 1e-4, 1 - 1e-4)
    odds = odds / (1 - odds)
    weights: NDArray[np.float64] = np.minimum(odds / odds.mean(), MOST_WEIGHT)
    return weights, max(0.0, 2 * float(roc_auc_score(is_new, guessed)) - 1)


def _predict_reciprocal_ranks(
    old: Profile, ranks: NDArray[np.float64], new: Profile, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predict reciprocal ranks of the reference by folds, and of the current queries by the mean of all folds."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415  # an extra
    from sklearn.model_selection import KFold  # noqa: PLC0415

    on_old, on_new = np.empty(len(old)), np.zeros(len(new))
    points, others = _make_dense_features(old, new, seed)
    for fitted, judged in KFold(FOLDS, shuffle=True, random_state=seed).split(points):
        model = HistGradientBoostingRegressor(
            max_iter=80, learning_rate=0.08, max_leaf_nodes=15, min_samples_leaf=20, random_state=seed
        )
        usual = _fit_relation_means(old.relations[fitted], ranks[fitted])
        model.fit(np.column_stack([points[fitted], usual(old.relations[fitted])]), ranks[fitted])
        on_old[judged] = model.predict(np.column_stack([points[judged], usual(old.relations[judged])]))
        on_new += model.predict(np.column_stack([others, usual(new.relations)])) / FOLDS
    return np.clip(on_old, 0, 1), np.clip(on_new, 0, 1)


def _fit_relation_means(relations: NDArray[Any], ranks: NDArray[np.float64]) -> Any:
    """Return a function from relations to mean reciprocal ranks, shrunk towards the overall mean."""
    top = int(relations.max()) + 1
    counts, sums = np.bincount(relations, minlength=top), np.bincount(relations, ranks, top)
    overall = float(ranks.mean())
    means = (sums + SHRINK * overall) / (counts + SHRINK)

    def usual(asked: NDArray[Any]) -> NDArray[np.float64]:
        known = asked < top
        found: NDArray[np.float64] = np.where(known, means[np.minimum(asked, top - 1)], overall)
        return found

    return usual


def _stack_query_scores(profile: Profile) -> NDArray[np.float64]:
    return np.column_stack(
        [
            np.log1p(profile.degrees),
            np.log1p(profile.candidates),
            profile.best,
            profile.best - profile.second,
            np.log1p(np.asarray(profile.fires.sum(1)).ravel()),
        ]
    )


def _make_dense_features(old: Profile, new: Profile, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    fires = sparse.vstack([old.fires, new.fires]).tocsr()
    bodies = reduce_signatures(fires, SIZE, seed)
    points = np.column_stack([np.concatenate([_stack_query_scores(old), _stack_query_scores(new)]), bodies])
    return points[: len(old)], points[len(old) :]


def _make_sparse_features(old: Profile, new: Profile, seed: int) -> Any:
    """Return features for a linear classifier: categories as one-hot columns, numbers standardised."""
    numbers = np.concatenate([_stack_query_scores(old), _stack_query_scores(new)])
    numbers = (numbers - numbers.mean(0)) / np.maximum(numbers.std(0), 1e-9)
    bodies = reduce_signatures(sparse.vstack([old.fires, new.fires]).tocsr(), SIZE, seed)
    bodies /= max(float(bodies.std()), 1e-9)
    relations = encode_one_hot(np.concatenate([old.relations, new.relations]))
    degrees = encode_one_hot(classify_degrees(np.concatenate([old.degrees, new.degrees])))
    return sparse.hstack([relations, degrees, sparse.csr_matrix(numbers), sparse.csr_matrix(bodies)]).tocsr()
