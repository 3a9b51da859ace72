"""What every learner of rules can do."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from stablerule.graph import Graph, Triples
from stablerule.reasoning.aggregation import Aggregation, AggregationName
from stablerule.reasoning.calibration import Calibration, calibrate
from stablerule.reasoning.choosing import CALIBRATING, choose_aggregation, split_valid
from stablerule.reasoning.reasoner import Reasoner
from stablerule.reasoning.search import Search
from stablerule.reasoning.theory import By, Encoded, encode_rules
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.deadline import Deadline
    from stablerule.reasoning.folder import SavedModel
    from stablerule.reasoning.searching import Searcher


class RuleReasoner(Reasoner):
    """A learner of rules: `fit(graph)` learns them, and how to weigh them; `answer` and `explain` use them.

    Valid facts choose how the rules that fired are weighed. Without them, training facts choose, each hidden while it
    is asked for; and there is no calibration. Facts that are no examples begin and close no walk, count for no support
    and choose nothing, but they are walked.
    """

    rules_: RuleSet
    aggregation_: Aggregation
    calibration_: Calibration | None

    # How answers are weighed; a learner may offer them as options.
    aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto"
    by: By = "confidence"
    top: int = 0

    @abstractmethod
    def _learn(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> RuleSet:
        """Learn rules from a graph, some of whose facts may serve as examples."""

    def _fit(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> None:
        self.rules_ = self._learn(graph, valid, examples, deadline)
        self._choose(graph, valid, examples)

    def _choose(self, graph: Graph, valid: Triples | None, examples: ExampleFacts) -> None:
        """Choose the aggregation on one part of valid, and calibrate on the other."""
        encoded: dict[By, Encoded] = {}

        def encode(by: By) -> Encoded:
            if by not in encoded:
                encoded[by] = encode_rules(self.rules_, graph, by)
            return encoded[by]

        fixed, seed = self._fixed_aggregation(), getattr(self, "seed", 0)
        choosing, calibrating = split_valid(valid, seed)
        only = self._asked_aggregation()
        known = graph if valid is None else Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
        choice = choose_aggregation(
            encode, graph, choosing, known, only=only, fixed=fixed, seed=seed, examples=examples
        )
        self.aggregation_ = choice.aggregation
        self.learned_["aggregation"] = choice.aggregation.to_json()
        self.learned_["choice"] = choice.to_json()
        search = Search(encode(choice.aggregation.by), choice.aggregation)
        self._searchers = {id(graph): search}
        calibration = calibrate(search, calibrating, known, seed=seed, share=CALIBRATING)
        self.calibration_ = calibration if isinstance(calibration, Calibration) else None
        self.learned_["calibration"] = (
            {"none_because": calibration} if isinstance(calibration, str) else calibration.to_json()
        )

    def _asked_aggregation(self) -> AggregationName | None:
        """The way to weigh that was asked for; None leaves the choice to the facts."""
        return None if self.aggregation == "auto" else self.aggregation

    def _fixed_aggregation(self) -> Aggregation:
        """What counts where there is nothing to choose by."""
        name: AggregationName = "max_plus"
        if self.aggregation != "auto":
            name = "max_plus" if self.aggregation == "learned" else self.aggregation
        return Aggregation(name, by=self.by, top=self.top)

    @property
    def rules(self) -> RuleSet:
        """The learned rules."""
        self._check_fitted()
        return self.rules_

    def calibration_for(self, graph: Graph) -> Calibration | str:
        """Return what gives probabilities on a graph, or say why there is nothing."""
        self._check_fitted()
        if graph.sha256 != self.data_.sha256:
            return f"it holds only on the graph that the model learned from, {self.data_.name!r}, and this is another"
        why = self.learned_.get("calibration", {}).get("none_because", "the model was kept without one")
        return self.calibration_ or str(why)

    def search(self, graph: Graph | None = None) -> Search:
        """Give the rules, made ready for a graph: the one that was learned from, or another."""
        found = self.searcher(graph)
        assert isinstance(found, Search)  # noqa: S101  # `_searcher` gives nothing else
        return found

    def _searcher(self, graph: Graph) -> Searcher:
        encoded, aggregation = encode_rules(self.rules_, graph, self.aggregation_.by), self.aggregation_
        chains_alone = encoded.n_chains == len(encoded.rows)
        return Search(encoded, aggregation.without_constants() if chains_alone else aggregation)

    def _take_up(self, saved: SavedModel) -> None:
        self.rules_ = RuleSet() if saved.rules is None else saved.rules
        kept = saved.learned.get("aggregation")
        self.aggregation_ = self._fixed_aggregation() if kept is None else Aggregation.from_json(kept)
        self.calibration_ = Calibration.from_json(saved.learned.get("calibration"))

    def _kept_rules(self) -> RuleSet:
        return self.rules_

    def _check_options(self) -> None:
        super()._check_options()
        self._at_least(0, "top")
