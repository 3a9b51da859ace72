"""What `fit` is given and what it leaves behind, as values."""

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
    """What a learner learns from, and how long it may take.

    dataset: whose facts of train are the graph. Those of test are known to be true, and nothing learns from them.
    examples: the facts of the graph that may serve as examples; `some_serve` says whether the caller limited them.
    """

    dataset: Dataset
    examples: ExampleFacts
    some_serve: bool
    budget: Budget

    @classmethod
    def prepare(
        cls, given: Graph | Dataset, valid: Triples | None, examples: Triples | None, minutes: float | None
    ) -> Lesson:
        """Check the arguments of `fit`. The budget begins to run."""
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
        """Facts that are not in the graph, to choose by; None without any."""
        return self.dataset.valid if len(self.dataset.valid) else None

    @cached_property
    def known_while_learning(self) -> Graph:
        """What is known to be true while something is chosen: the facts of the graph and those of valid."""
        valid, graph = self.valid, self.graph
        return graph if valid is None else Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)


class Size(NamedTuple):
    """The longest body, and how many of the best chains are kept for each relation and inverse."""

    max_length: int
    per_relation: int

    def __str__(self) -> str:
        return f"{self.per_relation:,} chains a relation up to length {self.max_length}"


@dataclass(frozen=True)
class SizeChoice:
    """How long rules may be and how many chains are kept, and the MRR on validation facts of each size that was tried.

    gain, error: of the mean reciprocal rank against the usual size, with the standard error of that.
    """

    max_length: int
    rules_per_relation: int
    usual_length: int
    usual_number: int
    queries: int
    tried: tuple[dict[str, float], ...]

    @classmethod
    def of(cls, chosen: Size, usual: Size, found: Mapping[Size, NDArray[np.float64]]) -> Self:
        """Sum up reciprocal ranks (n,) by size."""
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
        """Say in words what was chosen, and what it is worth.

        >>> import numpy as np
        >>> found = {Size(3, 200): np.array([0.25, 0.5]), Size(4, 200): np.array([0.5, 0.75])}
        >>> print(*SizeChoice.of(Size(4, 200), Size(3, 200), found).lines(), sep="\\n")
        200 chains a relation up to length 4, chosen on 2 validation queries (MRR: up to length 4 +0.250 +- 0.000).
        """
        parts = []
        for one in self.tried:
            length, number = int(one["max_length"]), int(one["rules_per_relation"])
            what = f"up to length {length}" if length != self.usual_length else f"{number:,} a relation"
            if (length, number) != (self.usual_length, self.usual_number):
                parts.append(f"{what} {one['gain']:+.3f} +- {2 * one['error']:.3f}")
        chosen = Size(self.max_length, self.rules_per_relation)
        return [f"{chosen}, chosen on {self.queries:,} validation queries (MRR: {', '.join(parts)})."]


@dataclass(frozen=True)
class Choice:
    """The aggregation that was chosen, and what was tried: name, by, top and MRR of each on the judged queries.

    The MRR of each fold stands beside it. A query is judged by weights of `learned` that were fitted without its fold.

    >>> tried = ({"name": "learned", "mrr": 0.41, "folds": [0.4, 0.42]}, {"name": "noisy_or", "top": 5, "mrr": 0.4})
    >>> lines = Choice(Aggregation("count", relations={"r": "binary"}), tried, 200, 200, "valid").lines()
    >>> print(*lines, sep="\\n")
    Answers are weighed by count, chosen on valid in 2 folds of 200 queries (MRR: learned 0.410, noisy_or of 5 0.400).
    1 relation has an aggregation of its own: r (binary).
    """

    aggregation: Aggregation
    tried: tuple[dict[str, Any], ...]
    judged: int
    fitted: int
    chosen_on: str

    @classmethod
    def fixed(cls, aggregation: Aggregation, why: str) -> Choice:
        """Return what is no choice: nothing was tried."""
        return cls(aggregation, (), 0, 0, f"nothing: {why}")

    def lines(self) -> list[str]:
        """Say in words what was chosen, and how the best that were tried compare."""
        said = f"Answers are weighed by {self.aggregation.name}, chosen on {self.chosen_on}"
        if self.tried:
            folds = len(self.tried[0].get("folds", ()))
            best = sorted(self.tried, key=lambda way: -float(way["mrr"]))[:SPELLED]
            among = ", ".join(f"{_spell_tried_aggregation(way)} {way['mrr']:.3f}" for way in best)
            said += f" in {folds} folds of {self.judged:,} queries" * bool(folds) + f" (MRR: {among})"
        lines, own = [f"{said}."], self.aggregation.relations
        if own:
            which = ", ".join(f"{relation} ({name})" for relation, name in sorted(own.items())[:SPELLED])
            others = f" and {len(own) - SPELLED} more" * (len(own) > SPELLED)
            have = "relation has an aggregation of its" if len(own) == 1 else "relations have an aggregation of their"
            lines.append(f"{len(own)} {have} own: {which}{others}.")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "tried": list(self.tried),
            "judged_queries": self.judged,
            "fitted_queries": self.fitted,
            "chosen_on": self.chosen_on,
        }


def _spell_tried_aggregation(way: Mapping[str, Any]) -> str:
    of = f" of {way['top']}" if way.get("top") else ""
    return f"{way['name']}{of}{' by score' * (way.get('by') == 'score')}"


@dataclass
class Course:
    """How training went: rows of numbers for steps, checks, epochs or rounds, as far as the learner has them.

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
    """What was learned, and how it went.

    rules: None for a method that learns none. choice: how the rules that fire become one score, and what was tried.
    calibration: from scores to probabilities; a text says why there is none. samples, bodies: how many were counted.
    examples: how many facts served, where the caller limited them. held_out: how many chose and calibrated before the
    rules were measured again on all facts. network: tensors to save beside the rules. sizes: how many rules, and how
    long, where that was chosen. cut_short: the time budget ended before everything was done. notes: remarks for the
    user. ready: the model on the graph that it learned from, where learning made that anyway.
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
        """How the rules that fire become one score; None where rules do not score."""
        return None if self.choice is None else self.choice.aggregation

    @property
    def ended_by(self) -> str:
        """What ended learning: "itself", "epochs", "patience", "minutes" or "interrupt"."""
        ended = "itself" if self.course is None else self.course.ended_by
        return "minutes" if ended == "itself" and self.cut_short else ended

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended learning."""
        return self.ended_by == "interrupt"

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `LearnedRecord` reads back; rules and network have files of their own."""
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
        choice = Choice.fixed(aggregation, "somebody set it") if self.choice is None else self.choice
        return replace(self, choice=replace(choice, aggregation=aggregation))


@dataclass(frozen=True)
class ChoiceRecord:
    """What `Choice.to_json` gives; nothing at all is what a method saved that chose nothing."""

    tried: list[dict[str, Any]] = field(default_factory=list)
    judged_queries: int = 0
    fitted_queries: int = 0
    chosen_on: str = "nothing: the method has one way"


@dataclass(frozen=True)
class NoCalibration:
    """Why there are no probabilities."""

    none_because: str


@dataclass(frozen=True)
class LearnedRecord:
    """What `Learned.to_json` gives: the declared types are what a file must hold."""

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
        """Return what was saved, with the rules that belong to it."""
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
