"""GivenRules: answer with rules from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

import polars as pl

from stablerule.errors import InputError, OptionError
from stablerule.learning.fitting import finish_learning, measure_named_chains
from stablerule.learning.plan import limit_measuring_to_budget
from stablerule.learning.refit import fit_on_everything
from stablerule.reasoning import RuleReasoner
from stablerule.rules import RuleSet, read_rules

if TYPE_CHECKING:
    from stablerule.graph import Dataset, Graph, Triples
    from stablerule.reasoning.learned import Learned, Lesson


class GivenRules(RuleReasoner):
    """Use rules from a file, in any format of `read_rules`; `fit` chooses their aggregation.

    Rules keep the measures of the file. A chain rule without a confidence is measured on the graph. Rules with
    relations or entities that are not in the graph never fire.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from stablerule import households
    >>> path = Path(mkdtemp()) / "mine.txt"
    >>> _ = path.write_text("grandparent_of(X, Y) <- parent_of(X, A), parent_of(A, Y)\\n")
    >>> model = GivenRules(file=str(path)).fit(households(families=5, seed=0).dataset.graph)
    >>> len(model.rules), model.rules[0].confidence > 0.5
    (1, True)
    """

    refits: ClassVar[bool] = True
    method: ClassVar[str] = "given"

    def __init__(
        self,
        *,
        file: str = "",
        measure_budget: float | None = 2e9,
        aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto",
        by: Literal["confidence", "score"] = "confidence",
        top: int = 0,
        seed: int = 0,
    ) -> None:
        self.file = file
        self.measure_budget = measure_budget
        self.aggregation = aggregation
        self.by = by
        self.top = top
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
        """Read the rules and measure those without a confidence; see `Reasoner.fit`.

        The aggregation is chosen and calibrated on `valid`. refit: without `valid`, hold out a tenth of the facts for
        this, then measure the rules again on all facts.
        """
        lesson = self._begin(graph, valid, examples, minutes)
        return self._end(lesson, fit_given(lesson, self, refit=refit))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Spell what `fit` would do."""
        return [f"reads the rules in {self.file}, and chooses their aggregation on {graph.name!r}"]

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(1, "measure_budget")
        if not self.file:
            raise OptionError("GivenRules needs a file of rules: GivenRules(file=...), or --set file=FILE.")


def fit_given(lesson: Lesson, o: GivenRules, *, refit: bool = True) -> Learned:
    """Fit with rules from a file: reading replaces steps 1 to 3 of `fit_stablerule`."""
    graph = lesson.graph
    rules, notes = read_rules(o.file)
    known = [name for name in rules.relations if name in set(graph.vocabulary.all_relations)]
    if not known:
        raise InputError(
            f"{o.file}: none of its {len(rules):,} rules is for a relation of {graph.name!r}, such as "
            f"{graph.vocabulary.relation_name(0)!r}."
        )

    def learn(part: Lesson) -> Learned:
        return finish_learning(part, o, measure_bare_chains(part, o, rules), notes=tuple(notes))

    def measure(everything: Lesson, _: RuleSet) -> RuleSet:
        return measure_bare_chains(everything, o, rules)

    return fit_on_everything(lesson, o.seed, learn, measure, refit=refit)


def measure_bare_chains(lesson: Lesson, o: GivenRules, rules: RuleSet) -> RuleSet:
    """Measure the chain rules without a confidence, if all their relations are in the graph."""
    frame = rules.to_frame()
    is_bare = pl.col("confidence").is_null() & pl.col("score").is_null()
    bare = RuleSet.from_frame(frame.filter(is_bare))
    if some := next(iter(bare.filter(kind="constants")), None):
        raise InputError(
            f"{o.file}: rules with constants need a confidence, which this one lacks: {some.rule}. Add it to the file."
        )
    measured = measure_named_chains(lesson, bare, limit_measuring_to_budget(lesson.budget, o.measure_budget), o.seed)
    return RuleSet.from_frame(frame.filter(~is_bare)).union(measured)
