"""What every learner can do: learn from a graph, answer, score, be judged, be kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

import numpy as np

from stablerule.errors import InputError
from stablerule.graph.html import spell_html_table
from stablerule.reasoning.answers import Answer, Answers, Explanation, Reasons
from stablerule.reasoning.calibration import Calibration, read_answers
from stablerule.reasoning.completing import NewFacts, complete
from stablerule.reasoning.learned import Learned, Lesson
from stablerule.reasoning.model_folder import DataMark, SavedModel
from stablerule.reasoning.option_types import HasOptions, rename_options
from stablerule.reasoning.queries import (
    Limits,
    check_asked_graph,
    check_at_least_one,
    check_queries_listed,
    divide_queries_into_blocks,
    encode_queries,
    encode_triples,
    join_known_graphs,
    join_triple,
    limit_candidates,
    list_known_graphs,
)
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.explain import ALL, take_reasons
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules
from stablerule.reasoning.whynot import WhyNot, explain_why_not
from stablerule.rules import RuleSet

BLOCK = 512  # queries that are answered together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from stablerule.graph import Dataset, Graph, Triples, Vocabulary
    from stablerule.reasoning.ranks import Ranks
    from stablerule.reasoning.scoring.theory import By
    from stablerule.reasoning.searcher import Searcher
    from stablerule.reasoning.wanted import WantedOptions


class Reasoner(HasOptions, ABC):
    """A learner: `fit(graph)` learns, `answer`, `score` and `rank` use what was learned, `save` saves it to a folder.

    `__init__` of a learner stores its arguments and does nothing else; `fit` checks them. What is learned has a name
    that ends in `_`. Those that learn rules have `rules` and `explain`; for the others these are errors that say so.
    """

    method: ClassVar[str]
    refits: ClassVar[bool] = False  # whether `fit` may hold facts out, and takes `refit`
    old_names: ClassVar[Mapping[str, str]] = {}  # of options, in models that were saved by earlier versions
    vocabulary_: Vocabulary
    data_: DataMark
    learned_: Learned
    dataset_: Dataset | None = None  # what it learned from, and answers on; None where it was saved without
    saved_: SavedModel | None = None  # what it was loaded from

    @abstractmethod
    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Learn from a graph; `valid`, facts that are not in it, choose what a learner has to choose.

        graph: or a dataset, whose training facts are the graph, and whose validation facts choose. Its test facts
            teach nothing; they are known, so that `complete` does not take them for new.
        examples: the facts of the graph that a learner may learn to conclude. The others are still part of the graph,
            and are never taken for false. None is all of them.
        minutes: a time budget; training stops there and keeps what it has.
        """

    @abstractmethod
    def _searcher(self, graph: Graph) -> Searcher:
        """Make what was learned ready for a graph."""

    @abstractmethod
    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Say in words what `fit` would do on a graph, and what it would cost."""

    def _begin(
        self, graph: Graph | Dataset, valid: Triples | None, examples: Triples | None, minutes: float | None
    ) -> Lesson:
        """Check the options and what there is to learn from: the first line of every `fit`."""
        self.check_options()
        return Lesson.prepare(graph, valid, examples, minutes)

    def _end(self, lesson: Lesson, learned: Learned) -> Self:
        """Take what was learned: the last line of every `fit`."""
        graph = lesson.graph
        self.dataset_, self.vocabulary_ = lesson.dataset, graph.vocabulary
        self.data_ = DataMark(graph.name, graph.sha256, graph.n_entities, graph.n_relations, graph.n_facts)
        self._searchers: dict[int, Searcher] = {} if learned.ready is None else {id(graph): learned.ready}
        examples = lesson.examples.facts.n_facts if lesson.some_serve else None
        cut_short = learned.cut_short or lesson.budget.cut_short
        self.learned_ = replace(learned, examples=examples, cut_short=cut_short, ready=None)
        return self

    def with_learned(self, learned: Learned) -> Self:
        """Return the same model with something else learned, such as other rules or another aggregation."""
        model = copy(self)
        model.learned_, model._searchers = learned, {}
        return model

    def answer(
        self,
        queries: Iterable[tuple[str, str]],
        k: int = 10,
        *,
        graph: Graph | None = None,
        known: Graph | Iterable[Graph] | None = None,
        new: bool = False,
        candidates: Literal["all", "range"] | Iterable[str] = "all",
        explain: bool = False,
        most_reasons: int | None = 3,
    ) -> Iterator[Answers]:
        """Yield the k best answers to each query (head, relation); ("Paris", "~r") asks for the heads of r.

        Queries are taken from their iterable as they are needed, some hundreds at a time. An entity is no answer to a
        query about itself, unless some fact of the relation is a loop.

        graph: where to look; None is the graph that the model learned from.
        known: graphs whose facts are left out of the answers.
        new: leave out what is known anyway: the facts of the graph, and with the model's own graph those of its
            validation and test facts.
        candidates: "range" admits only entities that stand there in some fact of the relation; or a list of names.
        explain: give each answer the rules behind its score, at most `most_reasons` of them; None is all.
        """
        check_at_least_one("k", k)
        if most_reasons is not None:
            check_at_least_one("most_reasons", most_reasons)
        search = self.searcher(graph)
        if explain:
            self.rule_searcher(graph)  # a model without rules says so
        limits = limit_candidates(candidates, search.graph)
        asked = check_queries_listed(queries, "queries", "(head, relation)")
        reasons = (ALL if most_reasons is None else most_reasons) if explain else 0
        graphs = [*list_known_graphs(known), *([self._known_on(search.graph)] if new else [])]
        return self._yield_answers(search, asked, k, limits, join_known_graphs(graphs, search.graph), reasons)

    def _yield_answers(
        self,
        search: Searcher,
        queries: Iterable[tuple[str, str]],
        k: int,
        limits: Limits,
        left_out: Graph | None,
        most: int,
    ) -> Iterator[Answers]:
        words, curves = search.graph.vocabulary, self.calibration_for(search.graph)
        known = self._known_on(search.graph)
        if left_out is not None:
            known = join_known_graphs([known, left_out], search.graph) or known
        for block in divide_queries_into_blocks(queries, search.at_once(k, BLOCK)):
            heads, relations = encode_queries(block, words)
            found, scores, reasons = search.answer(heads, relations, k, left_out, limits, reasons=most)
            query, place = np.nonzero(found >= 0)
            entities = found[query, place]
            named = words.entities.names_of(entities).to_list()
            if reasons is None:
                why: list[tuple[Explanation, ...]] = [()] * len(named)
            else:
                some = take_reasons(reasons, query * found.shape[1] + place)
                why = search.name_reasons(heads[query], relations[query], entities, some)
            likely: Iterable[float | None] = repeat(None)
            if isinstance(curves, Calibration):
                likely = read_answers(curves, known, heads[query], relations[query], entities, scores[query, place])
            answers = map(Answer, named, scores[query, place].tolist(), why, likely)
            for asked, n in zip(block, (found >= 0).sum(1).tolist(), strict=True):
                yield Answers(islice(answers, n), asked)

    def score(self, triples: Iterable[tuple[str, str, str]], *, graph: Graph | None = None) -> list[float]:
        """Return the score of each triple.

        For rules it is 0 where none reaches the tail, and under `max_plus` it is the weight of the best rule; ranks go
        by the whole order.
        """
        search = self.searcher(graph)
        asked = check_queries_listed(triples, "triples", "(head, relation, tail)")
        return search.score(*encode_triples(asked, search.graph.vocabulary)).tolist()  # type: ignore[no-any-return]

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Rank answers for the evaluator: rows are (head, relation or inverse, answer); known rivals are left out."""
        return self.searcher(graph).rank(queries.heads, queries.relations, queries.tails, known)

    def complete(
        self,
        *,
        graph: Graph | None = None,
        known: Graph | Iterable[Graph] | None = None,
        relations: Iterable[str] | None = None,
        **wanted: Unpack[WantedOptions],
    ) -> NewFacts:
        """Find new facts over the whole graph: the best 1,000 of all, the best first, unless arguments say otherwise.

        known: graphs whose facts are not new either; None is the validation and test facts that the model knows, where
            it looks at its own graph. relations: by name; None is all. The others are those of `Wanted`.

        Probabilities are there if the model is calibrated, on the graph that it learned from.
        """
        search = self.searcher(graph)
        calibration = self.calibration_for(search.graph)
        known = self._known_on(search.graph) if known is None else known
        found = complete(search, known=known, relations=relations, calibration=calibration, **wanted)
        return NewFacts(found)

    def calibration_for(self, graph: Graph) -> Calibration | str:  # rules have one for their graph
        """Return what gives probabilities on a graph, or say why there is nothing."""
        self._check_fitted()
        return f"{self.method} has none; only models that answer by rules are calibrated"

    def searcher(self, graph: Graph | None = None) -> Searcher:
        """Give what was learned, made ready for a graph: the one that was learned from, or another."""
        self._check_fitted()
        if graph is None:
            graph = self.dataset.graph
        check_asked_graph(graph)
        kept = self._searchers.get(id(graph))
        if kept is None or kept.graph is not graph:
            kept = self._searcher(graph)
            self._searchers = {id(graph): kept}  # one graph at a time: what is made ready takes room
        return kept

    @property
    def dataset(self) -> Dataset:
        """What the model learned from: the graph that it answers on, and what else is known to be true."""
        self._check_fitted()
        if self.dataset_ is None:
            source = "" if self.data_.source is None else f", then at {self.data_.source!r}"
            raise InputError(
                f"This model was saved without its graph: it learned from {self.data_.name!r} "
                f"({self.data_.facts:,} facts{source}). Say where to look, with graph=... (--graph DATA)."
            )
        return self.dataset_

    def _known_on(self, graph: Graph) -> Graph:
        """Return the facts that are no news on a graph."""
        own = self.dataset_
        return own.known if own is not None and graph.sha256 == own.graph.sha256 else graph

    @property
    def rules(self) -> RuleSet:
        """The learned rules."""
        raise InputError(f"{self.method} learns no rules: it scores answers by itself.")

    def rule_searcher(self, graph: Graph | None = None) -> RuleSearcher:  # the others have none
        """Give the learned rules, made ready for a graph: what explains answers."""
        raise InputError(
            f"{self.method} learns no rules, and can't say why it gives an answer. "
            "Methods that can: stablerule learn --list shows them."
        )

    def explain(
        self,
        head: str | tuple[str, str, str],
        relation: str | None = None,
        tail: str | None = None,
        *,
        graph: Graph | None = None,
    ) -> Reasons:
        """Return the rules that fired for (head, relation, tail), the largest share of its score first."""
        search = self.rule_searcher(graph)
        asked = encode_triples([join_triple(head, relation, tail)], search.graph.vocabulary)
        _, reasons = search.explain(*asked)
        return Reasons(search.name_reasons(*asked, reasons)[0])

    def why_not(
        self,
        head: str | tuple[str, str, str],
        relation: str | None = None,
        tail: str | None = None,
        *,
        graph: Graph | None = None,
    ) -> WhyNot:
        """Say where (head, relation, tail) stands among the answers of the rules, and why not further up."""
        search = self.rule_searcher(graph)
        return explain_why_not(search, *encode_triples([join_triple(head, relation, tail)], search.graph.vocabulary))

    def save(
        self,
        folder: str | PathLike[str],
        *,
        overwrite: bool = False,
        graph: bool = True,
        source: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        """Save the model to a folder, with the graph that it answers on: 40 bytes a fact.

        graph: False leaves the graph out; then each use of the model has to name one.
        source, reading: where the data came from, as text for people, and how it was read.
        """
        self._check_fitted()
        mark = self.data_ if source is None else replace(self.data_, source=source, reading=dict(reading or {}))
        data = self.dataset_ if graph else None
        saved = SavedModel(self.method, self.options, mark, self.vocabulary_, self.learned_, dataset=data)
        saved.write(Path(folder), overwrite=overwrite, tensors=self._tensors())

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make a model from what was saved."""
        model = cls.with_options(rename_options(saved.options, cls.old_names))
        model.vocabulary_, model.data_, model.dataset_ = saved.vocabulary, saved.data, saved.dataset
        model.learned_, model.saved_ = saved.learned, saved
        model._searchers = {}
        model._load_own(saved)
        return model

    def _load_own(self, saved: SavedModel) -> None:  # most have nothing of their own
        """Load what only this learner has."""

    def _tensors(self) -> dict[str, Any] | None:
        """Arrays to save beside the rest."""
        return None

    def _check_fitted(self) -> None:
        if not hasattr(self, "data_"):
            raise InputError(f"This {type(self).__name__} has not learned anything yet. Call fit(graph) first.")

    def _repr_html_(self) -> str:
        """Show in a notebook what was learned, and from what."""
        if not hasattr(self, "data_"):
            return spell_html_table(f"{self!r}, which has not learned anything yet", (), ())
        mark, learned = self.data_, self.learned_
        rows = [("learned from", f"{mark.name}: {mark.facts:,} facts, {mark.entities:,} entities")]
        if learned.rules is not None:
            rows.append(("rules", learned.rules.describe()))
        if learned.choice is not None:
            rows.append(("aggregation", f"{learned.choice.aggregation.name}, chosen on {learned.choice.chosen_on}"))
            why = learned.calibration
            rows.append(("probabilities", f"none: {why}" if isinstance(why, str) else "yes" if why else "none"))
        return spell_html_table(repr(self), ("", ""), rows)


class RuleReasoner(Reasoner):
    """A learner of rules: `fit(graph)` learns them, and how to weigh them; `answer` and `explain` use them.

    Validation facts choose how the rules that fired are weighed. Without them, training facts choose, each hidden while
    it is asked for. Facts outside `examples` stay in the graph as path steps but are never used as targets. With
    `fit(dataset)`, test facts are known to be true: they are not counted as candidates when scores are calibrated, and
    are used for nothing else.
    """

    # How answers are weighed; a learner may offer them as options.
    aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto"
    by: By = "confidence"
    top: int = 0

    @property
    def rules(self) -> RuleSet:
        """The learned rules."""
        self._check_fitted()
        return RuleSet() if self.learned_.rules is None else self.learned_.rules

    def calibration_for(self, graph: Graph) -> Calibration | str:
        """Return what gives probabilities on a graph, or say why there is nothing."""
        self._check_fitted()
        if graph.sha256 != self.data_.sha256:
            return f"it holds only on the graph that the model learned from, {self.data_.name!r}, and this is another"
        return self.learned_.calibration or "the model was saved without one"

    def rule_searcher(self, graph: Graph | None = None) -> RuleSearcher:
        """Give the rules, made ready for a graph: the one that was learned from, or another."""
        found = self.searcher(graph)
        assert isinstance(found, RuleSearcher)  # noqa: S101  # `_searcher` gives nothing else
        return found

    def _searcher(self, graph: Graph) -> Searcher:
        aggregation = self.learned_.aggregation or Aggregation()
        encoded = encode_rules(self.rules, graph, aggregation.by)
        chains_alone = encoded.n_chains == len(encoded.rows)
        return RuleSearcher(encoded, aggregation.without_constants() if chains_alone else aggregation)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(0, "top")
