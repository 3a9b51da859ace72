"""Tabular: learn rules from smoothed counts of sampled paths, in seconds and without a network."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from stablerule.learning.fitting import fit_tabular, measure_rules_again
from stablerule.learning.options import OLD_MINING, Mining
from stablerule.learning.plan import USUAL_LENGTH, plan_counting
from stablerule.learning.refit import fit_on_everything
from stablerule.reasoning.reasoner import RuleReasoner
from stablerule.samples import check_walk_lengths

if TYPE_CHECKING:
    from stablerule.graph import Dataset, Graph, Triples


class Tabular(RuleReasoner):
    """Learn rules by counting how often each relation closes each body.

    A rule's score is P(head relation | body) = (count + s * prior) / (samples of the body + s), with s = `smoothing`
    and the prior the share of the head relation among all samples. The other arguments are those of StableRule.

    >>> from stablerule import households
    >>> dataset = households(families=5, seed=0).dataset
    >>> model = Tabular(walks=20_000, seed=0).fit(dataset.graph, dataset.valid)
    >>> print(model.rules.filter(head_relation="grandparent_of", max_length=2)[0].rule)
    grandparent_of(X, Y) <- grandchild_of(Y, X)
    """

    refits: ClassVar[bool] = True
    method: ClassVar[str] = "tabular"
    old_names: ClassVar[dict[str, str]] = OLD_MINING

    def __init__(
        self,
        *,
        max_length: int | None = None,
        walks: int | None = None,
        smoothing: float = 5.0,
        rules_per_relation: int | None = None,
        constants: bool = True,
        aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto",
        by: Literal["confidence", "score"] = "confidence",
        top: int = 0,
        mining: Mining = Mining(),  # noqa: B008  # it is frozen
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.walks = walks
        self.smoothing = smoothing
        self.rules_per_relation = rules_per_relation
        self.constants = constants
        self.aggregation = aggregation
        self.by = by
        self.top = top
        self.mining = mining
        self.seed = seed

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
        refit: bool = True,
    ) -> Self:
        """Learn from a graph; see `Reasoner.fit`. The aggregation is chosen and calibrated on `valid`.

        refit: without `valid`, hold out a tenth of the facts for this, then measure the rules again on all facts.
        """
        lesson = self._begin(graph, valid, examples, minutes)
        learn, measure = partial(fit_tabular, o=self), partial(measure_rules_again, o=self)
        return self._end(lesson, fit_on_everything(lesson, self.seed, learn, measure, refit=refit))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Spell what `fit` would do on a graph, with an estimate of its time and memory."""
        return plan_counting(graph, self).lines(minutes)

    def _check_options(self) -> None:
        super()._check_options()
        check_walk_lengths(self.mining.min_length, self.max_length or max(USUAL_LENGTH, self.mining.min_length))
        self._check_at_least(1, "walks", "rules_per_relation", "max_length")
        self._check_at_least(0, "smoothing")
