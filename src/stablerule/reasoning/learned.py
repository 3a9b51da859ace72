"""What `fit` is given and what it leaves behind, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from stablerule.errors import InputError
from stablerule.graph import Dataset
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning.budget import Budget, check_minutes
from stablerule.reasoning.calibration import Calibration  # noqa: TC001  # read at run time, by `make_record`
from stablerule.reasoning.queries import check_asked_graph
from stablerule.reasoning.scoring.score import Aggregation, AggregationRecord  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples
    from stablerule.reasoning.searcher import Searcher
    from stablerule.rules import RuleSet


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


@dataclass(frozen=True)
class Choice:
    """The aggregation that was chosen, and what was tried: name, by, top and MRR of each on the judged queries."""

    aggregation: Aggregation
    tried: tuple[dict[str, Any], ...]
    judged: int
    fitted: int
    chosen_on: str

    @classmethod
    def fixed(cls, aggregation: Aggregation, why: str) -> Choice:
        """Return what is no choice: nothing was tried."""
        return cls(aggregation, (), 0, 0, f"nothing: {why}")

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "tried": list(self.tried),
            "judged_queries": self.judged,
            "fitted_queries": self.fitted,
            "chosen_on": self.chosen_on,
        }


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
    rules were measured again on all facts. network: tensors to save beside the rules.
    cut_short: the time budget ended before everything was done. notes: remarks for the user. ready: the model on the
    graph that it learned from, where learning made that anyway.
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
            calibration=why.none_because if isinstance(why, NoCalibration) else why,
            samples=self.samples,
            bodies=self.bodies,
            examples=self.examples,
            held_out=self.held_out,
            course=self.course,
            notes=tuple(self.notes),
            cut_short=self.cut_short,
        )
