"""The input and the result of `fit`, as immutable values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from stablerule.errors import InputError
from stablerule.graph import Dataset, Graph, Triples
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning.budget import Budget, check_minutes
from stablerule.reasoning.calibration import Calibration  # noqa: TC001  # read at run time, by `make_record`
from stablerule.reasoning.queries import check_asked_graph
from stablerule.reasoning.scoring.score import Aggregation, AggregationRecord  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from stablerule.reasoning.searcher import Searcher
    from stablerule.rules import RuleSet


SPELLED = 3  # aggregations and relations that a summary names


@dataclass(frozen=True)
class Lesson:
    """What a learner learns from, and its time budget.

    dataset: its training facts are the graph. Its test facts are known to be true, and nothing is learned from them.
    examples: the facts of the graph that may be used as targets; `some_serve` is whether the caller limited them.
    """

    dataset: Dataset
    examples: ExampleFacts
    some_serve: bool
    budget: Budget

    @classmethod
    def prepare(
        cls, given: Graph | Dataset, valid: Triples | None, examples: Triples | None, minutes: float | None
    ) -> Lesson:
        """Check the arguments of `fit`, and start the time budget."""
        if isinstance(given, Dataset) and valid is not None:
            raise InputError("Argument 'valid' is part of the dataset. Pass fit(dataset), or fit(graph, valid).")
        data = given if isinstance(given, Dataset) else Dataset.of_graph(check_asked_graph(given), valid)
        if not data.graph.n_facts:
            raise InputError(f"Graph {data.name!r} has no facts to learn from.")
        if minutes is not None:
            check_minutes(minutes)
        return cls(data, ExampleFacts.of(data.graph, examples), examples is not None, Budget(minutes))

    @property
    def graph(self) -> Graph:
        """The graph to learn from."""
        return self.dataset.graph

    @property
    def valid(self) -> Triples | None:
        """Facts outside the graph for model selection; None if there are none."""
        return self.dataset.valid if len(self.dataset.valid) else None

    @cached_property
    def known_while_learning(self) -> Graph:
        """The known facts during model selection: those of the graph and the validation facts."""
        valid, graph = self.valid, self.graph
        return graph if valid is None else Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)


class Size(NamedTuple):
    """The longest body, and the number of chain rules kept for each relation and inverse."""

    max_length: int
    per_relation: int

    def __str__(self) -> str:
        return f"{self.per_relation:,} chains for each relation, up to length {self.max_length}"


@dataclass(frozen=True)
class SizeChoice:
    """The chosen length and number of rules, with the validation MRR of each size tried.

    gain, error: the difference in MRR to the usual size, and its standard error.
    """

    max_length: int
    rules_per_relation: int
    usual_length: int
    usual_number: int
    queries: int
    tried: tuple[dict[str, float], ...]

    @classmethod
    def of(cls, chosen: Size, usual: Size, found: Mapping[Size, NDArray[np.float64]]) -> Self:
        """Summarise the reciprocal ranks (n,) of each size."""
        gains = {size: ranks - found[usual] for size, ranks in found.items()}
        tried = tuple(
            {
                "max_length": float(size.max_length),
                "rules_per_relation": float(size.per_relation),
                "mrr": round(float(ranks.mean()), 4),
                "gain": round(float(gains[size].mean()), 4),
                "error": round(float(gains[size].std() / len(ranks) ** 0.5), 4),
            }
            for size, ranks in found.items()
        )
        return cls(*chosen, *usual, len(found[usual]), tried)

    def lines(self) -> list[str]:
        """Spell the chosen size, with the gains in MRR of those tried.

        >>> import numpy as np
        >>> found = {Size(3, 200): np.array([0.25, 0.5]), Size(4, 200): np.array([0.5, 0.75])}
        >>> print(*SizeChoice.of(Size(4, 200), Size(3, 200), found).lines(), sep="\\n")
        200 chains for each relation, up to length 4 (best on 2 validation queries; MRR: length 4 +0.250 +- 0.000).
        """
        parts = []
        for one in self.tried:
            length, number = int(one["max_length"]), int(one["rules_per_relation"])
            what = f"length {length}" if length != self.usual_length else f"{number:,} for each relation"
            if (length, number) != (self.usual_length, self.usual_number):
                parts.append(f"{what} {one['gain']:+.3f} +- {2 * one['error']:.3f}")
        chosen = Size(self.max_length, self.rules_per_relation)
        return [f"{chosen} (best on {self.queries:,} validation queries; MRR: {', '.join(parts)})."]


@dataclass(frozen=True)
class Choice:
    """The chosen aggregation, and those tried: name, by, top and MRR of each, also by fold.

    Each query is ranked with weights of `learned` that were fitted without its fold.

    >>> tried = ({"name": "learned", "mrr": 0.41, "folds": [0.4, 0.42]}, {"name": "noisy_or", "top": 5, "mrr": 0.4})
    >>> lines = Choice(Aggregation("count", relations={"r": "binary"}), tried, 200, 200, "validation facts").lines()
    >>> print(*lines, sep="\\n")
    Aggregation: count (best on validation facts, 200 queries in 2 folds; MRR: learned 0.410, noisy_or top 5 0.400).
    1 relation has its own aggregation: r (binary).
    """

    aggregation: Aggregation
    tried: tuple[dict[str, Any], ...]
    judged: int
    fitted: int
    chosen_on: str

    @classmethod
    def fixed(cls, aggregation: Aggregation, why: str) -> Choice:
        """Return an aggregation that was set without trying others."""
        return cls(aggregation, (), 0, 0, f"nothing: {why}")

    def describe(self) -> str:
        """Name the aggregation, and how it was chosen, or why nothing was tried.

        >>> Choice.fixed(Aggregation("max_plus"), "set by an option").describe()
        'max_plus (set by an option)'
        """
        how = self.chosen_on.removeprefix("nothing: ")
        if self.tried:
            folds = len(self.tried[0].get("folds", ()))
            best = sorted(self.tried, key=lambda one: -float(one["mrr"]))[:SPELLED]
            among = ", ".join(f"{_spell_tried_aggregation(one)} {one['mrr']:.3f}" for one in best)
            how = f"best on {how}{f', {self.judged:,} queries in {folds} folds' * bool(folds)}; MRR: {among}"
        return f"{self.aggregation.name} ({how})"

    def lines(self) -> list[str]:
        """Spell the chosen aggregation, and those of relations with their own."""
        lines, own = [f"Aggregation: {self.describe()}."], self.aggregation.relations
        if own:
            which = ", ".join(f"{relation} ({name})" for relation, name in sorted(own.items())[:SPELLED])
            others = f" and {len(own) - SPELLED} more" * (len(own) > SPELLED)
            have = "relation has its" if len(own) == 1 else "relations have their"
            lines.append(f"{len(own)} {have} own aggregation: {which}{others}.")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "tried": list(self.tried),
            "judged_queries": self.judged,
            "fitted_queries": self.fitted,
            "chosen_on": self.chosen_on,
        }


def _spell_tried_aggregation(one: Mapping[str, Any]) -> str:
    top = f" top {one['top']}" if one.get("top") else ""
    return f"{one['name']}{top}{' by score' * (one.get('by') == 'score')}"


@dataclass
class Course:
    """The course of training: rows of numbers for steps, checks, epochs or rounds, whichever the learner has.

    ended_by: "itself", "epochs", "patience", "minutes" or "interrupt".
    """

    steps: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    best_mrr: float | None = None
    best_epoch: int | None = None
    ended_by: str = "itself"
    seconds: float = 0.0


@dataclass(frozen=True)
class Learned:
    """The result of `fit`, and how training went.

    rules: None for a method without rules. choice: the aggregation, and those tried.
    calibration: from scores to probabilities; a string is the reason why there is none. samples, bodies: how many were
    counted. examples: number of facts used as targets, if the caller limited them. held_out: number of facts that chose
    and calibrated before the rules were measured again on all facts. network: tensors to save beside the rules. sizes:
    the chosen length and number of rules, and those tried. cut_short: whether the time budget ended training early.
    notes: remarks for the user. ready: the model prepared for its own graph, if training needed that anyway.
    """

    rules: RuleSet | None = None
    choice: Choice | None = None
    calibration: Calibration | str | None = None
    samples: int | None = None
    bodies: int | None = None
    examples: int | None = None
    held_out: int | None = None
    course: Course | None = None
    network: Mapping[str, NDArray[Any]] | None = field(default=None, repr=False, compare=False)
    sizes: tuple[SizeChoice, ...] = ()
    notes: tuple[str, ...] = ()
    cut_short: bool = False
    ready: Searcher | None = field(default=None, repr=False, compare=False)

    @property
    def aggregation(self) -> Aggregation | None:
        """The aggregation of the rules that fire; None for a method without rules."""
        return None if self.choice is None else self.choice.aggregation

    @property
    def ended_by(self) -> str:
        """What ended training: "itself", "epochs", "patience", "minutes" or "interrupt"."""
        ended = "itself" if self.course is None else self.course.ended_by
        return "minutes" if ended == "itself" and self.cut_short else ended

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended training."""
        return self.ended_by == "interrupt"

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `LearnedRecord` reads back; rules and network are saved in other files."""
        found: dict[str, Any] = {
            "samples": self.samples,
            "bodies": self.bodies,
            "examples": self.examples,
            "held_out": self.held_out,
            "course": None if self.course is None else asdict(self.course),
            "sizes": [asdict(size) for size in self.sizes],
            "notes": list(self.notes),
            "cut_short": self.cut_short,
        }
        if self.choice is not None:
            found |= {"aggregation": self.choice.aggregation.to_json(), "choice": self.choice.to_json()}
        if self.calibration is not None:
            why = self.calibration
            found["calibration"] = {"none_because": why} if isinstance(why, str) else why.to_json()
        return found

    def with_rules(self, rules: RuleSet) -> Self:
        """Return the same with other rules."""
        return replace(self, rules=rules)

    def with_aggregation(self, aggregation: Aggregation) -> Self:
        """Return the same with another aggregation."""
        choice = Choice.fixed(aggregation, "set by with_aggregation") if self.choice is None else self.choice
        return replace(self, choice=replace(choice, aggregation=aggregation))


@dataclass(frozen=True)
class ChoiceRecord:
    """The fields of `Choice.to_json`; the defaults are for a method that chose nothing."""

    tried: list[dict[str, Any]] = field(default_factory=list)
    judged_queries: int = 0
    fitted_queries: int = 0
    chosen_on: str = "nothing: the only one of the method"


@dataclass(frozen=True)
class NoCalibration:
    """Why there are no probabilities."""

    none_because: str


@dataclass(frozen=True)
class LearnedRecord:
    """The fields of `Learned.to_json`, with the types that a file must have."""

    samples: int | None = None
    bodies: int | None = None
    examples: int | None = None
    held_out: int | None = None
    course: Course | None = None
    notes: list[str] = field(default_factory=list)
    cut_short: bool = False
    aggregation: AggregationRecord | None = None
    choice: ChoiceRecord = field(default_factory=ChoiceRecord)
    sizes: list[SizeChoice] = field(default_factory=list)
    calibration: Calibration | NoCalibration | None = None

    def make_learned(self, rules: RuleSet | None) -> Learned:
        """Return the saved `Learned`, with its rules."""
        choice, chosen = None, self.choice
        if self.aggregation is not None:
            how = self.aggregation.aggregation
            tried = tuple(chosen.tried)
            choice = Choice(how, tried, chosen.judged_queries, chosen.fitted_queries, chosen.chosen_on)
        why = self.calibration
        return Learned(
            rules=rules,
            choice=choice,
            sizes=tuple(self.sizes),
            calibration=why.none_because if isinstance(why, NoCalibration) else why,
            samples=self.samples,
            bodies=self.bodies,
            examples=self.examples,
            held_out=self.held_out,
            course=self.course,
            notes=tuple(self.notes),
            cut_short=self.cut_short,
        )
