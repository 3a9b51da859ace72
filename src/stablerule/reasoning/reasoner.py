"""What every learner of rules can do."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

import numpy as np

from stablerule.errors import InputError, OptionError, closest, listed
from stablerule.graph import Graph, Triples
from stablerule.paths.examples import ExampleFacts
from stablerule.reasoning.aggregation import Aggregation, AggregationName
from stablerule.reasoning.answers import Answer, Explanation
from stablerule.reasoning.calibration import Calibration, calibrate
from stablerule.reasoning.choosing import CALIBRATING, choose_aggregation, split_valid
from stablerule.reasoning.completing import NewFact, WantedOptions, complete
from stablerule.reasoning.explaining import check_triple, explain
from stablerule.reasoning.folder import DataMark, SavedModel
from stablerule.reasoning.option_types import check_types
from stablerule.reasoning.questions import (
    Limits,
    candidate_limits,
    check_graph,
    check_listed,
    encode_queries,
    in_blocks,
    joined_graph,
)
from stablerule.reasoning.search import Search
from stablerule.reasoning.theory import By, Encoded, encode_rules
from stablerule.reasoning.why_not import WhyNot, why_not

BLOCK = 512  # queries that are answered together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from stablerule.graph import Vocabulary
    from stablerule.reasoning.ranks import Ranks
    from stablerule.rules import RuleSet


class RuleReasoner(ABC):
    """A learner: `fit(graph)` learns, `rules` are what it learned, `answer` and `explain` use them, `save` keeps it.

    `__init__` of a learner stores its arguments and does nothing else; `fit` looks at them. What is learned has a name
    that ends in `_`.
    """

    method: ClassVar[str]
    rules_: RuleSet
    vocabulary_: Vocabulary
    data_: DataMark
    learned_: dict[str, Any]
    aggregation_: Aggregation
    calibration_: Calibration | None
    folder_: Path | None = None  # where the model was taken up from

    # How answers are weighed; a learner may offer them as options.
    aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto"
    by: By = "confidence"
    top: int = 0

    @abstractmethod
    def _learn(self, graph: Graph, valid: Triples | None, examples: ExampleFacts) -> RuleSet:
        """Learn rules from a graph, some of whose facts may serve as examples."""

    def fit(self, graph: Graph, valid: Triples | None = None, *, examples: Triples | None = None) -> Self:
        """Learn rules from a graph, and how to weigh them from `valid`, facts that are not in it.

        Without valid facts, training facts choose, each hidden while it is asked for; and there is no calibration.

        examples: the facts of the graph that a learner may learn to conclude: they begin and close walks, count as
            support, and choose. The others are still walked, and are never taken for false. None is all of them.
        """
        if not check_graph(graph).n_facts:
            raise InputError(f"Graph {graph.name!r} has no facts to learn from.")
        check_types(type(self), self.options)
        serving = ExampleFacts.of(graph, examples)
        self.learned_ = {}
        self.rules_ = self._learn(graph, valid, serving)
        self.graph_ = graph
        self.vocabulary_ = graph.vocabulary
        self.data_ = DataMark(graph.name, graph.sha256, graph.n_entities, graph.n_relations, graph.n_facts)
        if examples is not None:
            self.learned_["examples"] = serving.facts.n_facts
        self._choose(graph, valid, serving)
        return self

    def _choose(self, graph: Graph, valid: Triples | None, examples: ExampleFacts) -> None:
        """Choose the aggregation on one part of valid, and calibrate on the other."""
        encoded: dict[By, Encoded] = {}

        def encode(by: By) -> Encoded:
            if by not in encoded:
                encoded[by] = encode_rules(self.rules_, graph, by)
            return encoded[by]

        fixed, seed = self._fixed_aggregation(), getattr(self, "seed", 0)
        choosing, calibrating = split_valid(valid, seed)
        only = None if self.aggregation == "auto" else self.aggregation
        known = graph if valid is None else Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
        choice = choose_aggregation(
            encode, graph, choosing, known, only=only, fixed=fixed, seed=seed, examples=examples
        )
        self.aggregation_ = choice.aggregation
        self.learned_["aggregation"] = choice.aggregation.to_json()
        self.learned_["choice"] = choice.to_json()
        search = Search(encode(choice.aggregation.by), choice.aggregation)
        self._searches = {id(graph): search}
        calibration = calibrate(search, calibrating, known, seed=seed, share=CALIBRATING)
        self.calibration_ = calibration if isinstance(calibration, Calibration) else None
        self.learned_["calibration"] = (
            {"none_because": calibration} if isinstance(calibration, str) else calibration.to_json()
        )

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

    def answer(
        self,
        queries: Iterable[tuple[str, str]],
        k: int = 10,
        *,
        graph: Graph | None = None,
        known: Graph | Iterable[Graph] | None = None,
        candidates: Literal["all", "range"] | Iterable[str] = "all",
    ) -> Iterator[list[Answer]]:
        """Yield the k best answers to each query (head, relation); ("Paris", "~r") asks for the heads of r.

        Queries are taken from their iterable as they are needed, some hundreds at a time. An entity is no answer to a
        query about itself, unless some fact of the relation is a loop.

        graph: where to look; None is the graph that the model learned from, if it is still at hand.
        known: graphs whose facts are left out of the answers.
        candidates: "range" admits only entities that stand there in some fact of the relation; or a list of names.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise OptionError(f"Argument 'k' must be a whole number of at least 1, got {k!r}.")
        search = self.search(graph)
        limits = candidate_limits(candidates, search.graph)
        asked = check_listed(queries, "queries", "(head, relation)")
        return self._answers(search, asked, k, limits, joined_graph(known, search.graph))

    def _answers(
        self, search: Search, queries: Iterable[tuple[str, str]], k: int, limits: Limits, left_out: Graph | None
    ) -> Iterator[list[Answer]]:
        for block in in_blocks(queries, search.at_once(k, BLOCK)):
            heads, relations = encode_queries(block, search.graph.vocabulary)
            found, scores = search.answer(heads, relations, k, left_out, limits)
            names = search.graph.vocabulary.entities
            for entities, values in zip(found, scores, strict=True):
                n = int((entities >= 0).sum())
                named = names.names_of(entities[:n]).to_list()
                yield [Answer(name, score) for name, score in zip(named, values[:n].tolist(), strict=True)]

    def score(self, triples: Iterable[tuple[str, str, str]], *, graph: Graph | None = None) -> list[float]:
        """Return the score of each triple, 0 where no rule reaches its tail.

        Under `max_plus` it is the weight of the best rule; ranks go by the whole order.
        """
        search = self.search(graph)
        asked = [check_triple(triple) for triple in check_listed(triples, "triples", "(head, relation, tail)")]
        heads, relations = encode_queries([(head, relation) for head, relation, _ in asked], search.graph.vocabulary)
        tails = np.array([search.graph.vocabulary.entity_id(tail) for *_, tail in asked], np.int32)
        return search.score(heads, relations, tails).tolist()  # type: ignore[no-any-return]

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Rank answers for the evaluator: rows are (head, relation or inverse, answer); known rivals are left out."""
        return self.search(graph).rank(queries.heads, queries.relations, queries.tails, known)

    def explain(self, triple: tuple[str, str, str], *, graph: Graph | None = None) -> list[Explanation]:
        """Return the rules that fired for (head, relation, tail), the largest share of its score first."""
        return explain(self.search(graph), *check_triple(triple))

    def why_not(self, triple: tuple[str, str, str], *, graph: Graph | None = None) -> WhyNot:
        """Say where (head, relation, tail) stands among the answers, and why not further up."""
        return why_not(self.search(graph), *check_triple(triple))

    def complete(
        self,
        *,
        graph: Graph | None = None,
        known: Graph | Iterable[Graph] | None = None,
        relations: Iterable[str] | None = None,
        **wanted: Unpack[WantedOptions],
    ) -> Iterator[NewFact]:
        """Yield new facts over the whole graph: with `top` the best of all, else relation by relation, the best first.

        known: graphs whose facts are not new either. relations: by name; None is all. The others are those of `Wanted`.
        Probabilities are there if the model is calibrated, on the graph that it learned from.
        """
        search = self.search(graph)
        calibration = self.calibration_for(search.graph)
        return complete(search, known=known, relations=relations, calibration=calibration, **wanted)

    def calibration_for(self, graph: Graph) -> Calibration | str:
        """Return what gives probabilities on a graph, or say why there is nothing."""
        self._check_fitted()
        if graph.sha256 != self.data_.sha256:
            return f"it holds only on the graph that the model learned from, {self.data_.name!r}, and this is another"
        why = self.learned_.get("calibration", {}).get("none_because", "the model was kept without one")
        return self.calibration_ or str(why)

    def search(self, graph: Graph | None = None) -> Search:
        """Give the rules, made ready for a graph: the one that was learned from, or another."""
        self._check_fitted()
        graph = graph if graph is not None else getattr(self, "graph_", None)
        if graph is None:
            raise InputError(
                f"This model was taken up from disk, without a graph (it learned from {self.data_.name!r}). "
                "Pass graph=... to say where to look."
            )
        check_graph(graph)
        kept = self._searches.get(id(graph))
        if kept is None or kept.graph is not graph:
            kept = Search(encode_rules(self.rules_, graph, self.aggregation_.by), self.aggregation_)
            self._searches = {id(graph): kept}  # one graph at a time: rules made ready take room
        return kept

    @classmethod
    def option_names(cls) -> list[str]:
        """The arguments of the learner."""
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    @property
    def options(self) -> dict[str, Any]:
        """The arguments that this learner was made with."""
        return {name: getattr(self, name) for name in self.option_names()}

    @classmethod
    def with_options(cls, options: dict[str, Any]) -> Self:
        """Make a learner from a mapping; an unknown option is an error that says the closest."""
        for name in options:
            if name not in cls.option_names():
                near = closest(name, cls.option_names()) or listed(cls.option_names(), most=None)
                raise OptionError(f"{cls.__name__} has no option {name!r}.{near}")
        return cls(**check_types(cls, options))

    def save(
        self,
        folder: str | PathLike[str],
        *,
        overwrite: bool = False,
        source: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the model in a folder. `source` and `reading` say where the data is and how it was read."""
        self._check_fitted()
        mark = self.data_ if source is None else replace(self.data_, source=source, reading=dict(reading or {}))
        saved = SavedModel(self.method, self.options, mark, self.rules_, self.vocabulary_, self.learned_)
        saved.write(Path(folder), overwrite=overwrite, tensors=self._tensors())

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Take up a model that was kept."""
        model = cls.with_options(saved.options)
        model.rules_, model.vocabulary_, model.data_ = saved.rules, saved.vocabulary, saved.data
        model.learned_, model.folder_ = saved.learned, saved.folder
        kept = saved.learned.get("aggregation")
        model.aggregation_ = model._fixed_aggregation() if kept is None else Aggregation.from_json(kept)
        model.calibration_ = Calibration.from_json(saved.learned.get("calibration"))
        model._searches = {}
        return model

    def _tensors(self) -> dict[str, Any] | None:
        """Arrays to keep beside the rules."""
        return None

    def check_options(self) -> None:
        """Look at the options before any work, as `fit` does: a value that makes no sense is an error."""
        check_types(type(self), self.options)
        self._check_options()

    def _check_options(self) -> None:
        """Look at the values; their types have been looked at."""
        self._at_least(0, "top")

    def _at_least(self, least: float, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and value < least:
                raise OptionError(f"Argument {name!r} of {type(self).__name__} must be at least {least}, got {value}.")

    def _check_fitted(self) -> None:
        if not hasattr(self, "rules_"):
            raise InputError(f"This {type(self).__name__} has not learned anything yet. Call fit(graph) first.")

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = ", ".join(f"{n}={v!r}" for n, v in self.options.items() if v != defaults[n])
        return f"{type(self).__name__}({changed})"
