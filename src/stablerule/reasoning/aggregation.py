"""How the rules that fired become one score, relation by relation: a value that is chosen, kept and read back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stablerule.errors import OptionError, closest
from stablerule.reasoning.evidence import COLUMNS
from stablerule.reasoning.weighing import AGGREGATIONS, How

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.reasoning.theory import By

AggregationName = Literal["count", "log_count", "binary", "noisy_or", "max_plus", "learned"]
ELSEWHERE = "*"  # the weights for a relation that has none of its own
NO_WEIGHTS = np.zeros(0)


@dataclass(frozen=True)
class Aggregation:
    """How candidates are weighed.

    name: `count` sums rule weight * paths, as the paper does; `log_count` takes log(1 + paths); `binary` counts each
    rule once; `noisy_or` is 1 - product of (1 - weight) over the best `top` rules (0: all); `max_plus` compares the
    best rule, then the next, and so on; `learned` weighs the evidence with fitted weights.
    by: whether a rule's weight is its confidence or the learner's score.
    relations: relations that have a way of their own, by name.
    weights: those of `learned`, (columns of evidence,) for each relation by name, and for all others at "*".
    chain_weights: the same for a graph where no rule with constants can fire, since it has none of the constants.

    >>> Aggregation("noisy_or", top=5)
    Aggregation(name='noisy_or', by='confidence', top=5)
    """

    name: AggregationName = "max_plus"
    by: By = "confidence"
    top: int = 0
    relations: Mapping[str, AggregationName] = field(default_factory=dict, repr=False)
    weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    chain_weights: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in (self.name, *self.relations.values()):
            if name not in AGGREGATIONS:
                must = f"one of {', '.join(AGGREGATIONS)}"
                raise OptionError(f"An aggregation must be {must}, got {name!r}.{closest(str(name), AGGREGATIONS)}")
            if name == "learned" and ELSEWHERE not in self.weights:
                raise OptionError("The aggregation 'learned' has no weights yet: fit(graph, valid) learns them.")
        if self.by not in ("confidence", "score"):
            raise OptionError(f"Argument 'by' must be 'confidence' or 'score', got {self.by!r}.")
        if isinstance(self.top, bool) or not isinstance(self.top, int) or self.top < 0:
            raise OptionError(f"Argument 'top' must be 0 (all rules) or more, got {self.top!r}.")

    def of(self, relation: str) -> AggregationName:
        """Return the way for one relation or inverse, by name."""
        return self.relations.get(relation, self.name)

    def without_constants(self) -> Aggregation:
        """How to weigh where chains alone can fire: without evidence that was always there, others count for more."""
        return replace(self, weights=self.chain_weights or self.weights, chain_weights={})

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `from_json` reads back."""
        return {
            "name": self.name,
            "by": self.by,
            "top": self.top,
            "relations": dict(self.relations),
            "columns": list(COLUMNS) if self.weights else [],
            "weights": {name: list(weights) for name, weights in self.weights.items()},
            "chain_weights": {name: list(weights) for name, weights in self.chain_weights.items()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Aggregation:
        """Take up what `to_json` gave."""
        if kept["weights"] and tuple(kept["columns"]) != COLUMNS:
            raise OptionError("weights of `learned` for other evidence than this version gathers")
        weights, chain_weights = (
            {name: tuple(values) for name, values in kept.get(which, {}).items()}
            for which in ("weights", "chain_weights")
        )
        return cls(kept["name"], kept["by"], kept["top"], dict(kept["relations"]), weights, chain_weights)


class Ways:
    """An aggregation for the relation ids of one graph."""

    def __init__(self, aggregation: Aggregation, graph: Graph) -> None:
        words = graph.vocabulary
        names = [words.relation_name(r) for r in range(2 * graph.n_relations)]
        self.aggregation = aggregation
        self._hows = [_how(aggregation, name) for name in names]

    def how(self, relation: int) -> How:
        """Say to a kernel how to weigh."""
        return self._hows[relation]

    def shown(self, relation: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn what a kernel adds up into a score: noisy_or is in log space there, learned a log odds."""
        name = AGGREGATIONS[self._hows[relation].kind]
        if name == "noisy_or":
            return -np.expm1(-values)
        if name == "learned":
            return 1 / (1 + np.exp(-np.clip(values, -500, 500)))
        return values


def _how(aggregation: Aggregation, name: str) -> How:
    weights = aggregation.weights.get(name, aggregation.weights.get(ELSEWHERE))
    kind = AGGREGATIONS.index(aggregation.of(name))
    return How(kind, aggregation.top, NO_WEIGHTS if weights is None else np.array(weights, np.float64))
