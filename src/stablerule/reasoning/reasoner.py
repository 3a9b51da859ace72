"""The base classes of all learners: fit, answer, score, rank, complete, explain, save."""

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

BLOCK = 512  # queries answered together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from stablerule.graph import Dataset, Graph, Triples, Vocabulary
    from stablerule.reasoning.ranks import Ranks
    from stablerule.reasoning.scoring.theory import By
    from stablerule.reasoning.searcher import Searcher
    from stablerule.reasoning.wanted import WantedOptions


class Reasoner(HasOptions, ABC):
    """A learner: `fit(graph)` trains it, `answer`, `score`, `rank` and `complete` use it, `save` saves it to a folder.

    `__init__` only stores its arguments; `fit` checks them. The names of fitted attributes end in `_`. Learners of
    rules have `rules` and `explain`; for the others these raise an error.
    """

    method: ClassVar[str]
    refits: ClassVar[bool] = False  # whether `fit` may hold facts out, and has the argument `refit`
    old_names: ClassVar[Mapping[str, str]] = {}  # of options, in models saved by earlier versions
    vocabulary_: Vocabulary
    data_: DataMark
    learned_: Learned
    dataset_: Dataset | None = None  # the data it was trained on and answers from; None if saved without
    saved_: SavedModel | None = None  # the folder it was loaded from

    @abstractmethod
    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Train on a graph; `valid` are facts outside it, for model selection.

        graph: a graph, or a dataset: its training facts are the graph, its validation facts are `valid`. Nothing is
            learned from its test facts; they are known facts, so `complete` does not predict them.
        examples: the facts of the graph used as targets. The others stay in the graph as path steps, and are never
            counted as false. None is all of them.
        minutes: a time budget; training stops there and keeps what it has learned.
        """

    @abstractmethod
    def _searcher(self, graph: Graph) -> Searcher:
        """Prepare the fitted model for a graph."""

    @abstractmethod
    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Describe what `fit` would do on a graph, and estimate its time and memory."""

    def _begin(
        self, graph: Graph | Dataset, valid: Triples | None, examples: Triples | None, minutes: float | None
    ) -> Lesson:
        """Check the options and the data: the first line of every `fit`."""
        self.check_options()
        return Lesson.prepare(graph, valid, examples, minutes)

    def _end(self, lesson: Lesson, learned: Learned) -> Self:
        """Store the result: the last line of every `fit`."""
        graph = lesson.graph
        self.dataset_, self.vocabulary_ = lesson.dataset, graph.vocabulary
        self.data_ = DataMark(graph.name, graph.sha256, graph.n_entities, graph.n_relations, graph.n_facts)
        self._searchers: dict[int, Searcher] = {} if learned.ready is None else {id(graph): learned.ready}
        examples = lesson.examples.facts.n_facts if lesson.some_serve else None
        cut_short = learned.cut_short or lesson.budget.cut_short
        notes = learned.notes
        if lesson.budget.skipped:
            notes += (f"the time budget allowed {', '.join(lesson.budget.skipped)}",)
        self.learned_ = replace(learned, examples=examples, cut_short=cut_short, notes=notes, ready=None)
        return self

    def with_learned(self, learned: Learned) -> Self:
        """Return a copy of the model with another result of `fit`, such as other rules or another aggregation."""
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

        Queries are read from their iterable some hundreds at a time. An entity is not an answer to a query about
        itself, unless the relation has a loop, a fact (x, r, x).

        graph: the graph to answer from; None is the one that the model was trained on.
        known: graphs whose facts are left out of the answers.
        new: leave out known facts: those of the graph, and on the model's own graph its validation and test facts.
        candidates: "range" allows only tails seen with the relation; a list of names allows only these.
        explain: add the rules behind its score to each answer, at most `most_reasons` of them; None is all.
        """
        check_at_least_one("k", k)
        if most_reasons is not None:
            check_at_least_one("most_reasons", most_reasons)
        search = self.searcher(graph)
        if explain:
            self.rule_searcher(graph)  # an error for a model without rules
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

        With rules it is 0 if none reaches the tail. With `max_plus` it is the weight of the best rule, while ranks use
        all rules.
        """
        search = self.searcher(graph)
        asked = check_queries_listed(triples, "triples", "(head, relation, tail)")
        return search.score(*encode_triples(asked, search.graph.vocabulary)).tolist()  # type: ignore[no-any-return]

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        """Rank answers for the evaluation: rows are (head, relation or inverse, answer); `known` filters the ranks."""
        return self.searcher(graph).rank(queries.heads, queries.relations, queries.tails, known)

    def complete(
        self,
        *,
        graph: Graph | None = None,
        known: Graph | Iterable[Graph] | None = None,
        relations: Iterable[str] | None = None,
        **wanted: Unpack[WantedOptions],
    ) -> NewFacts:
        """Predict new facts for the whole graph, the best first, by default the best 1,000.

        known: graphs whose facts are not new either; None is the model's validation and test facts, if it answers from
            its own graph. relations: by name; None is all. The other arguments are those of `Wanted`.

        Facts have a probability if the model is calibrated and answers from its own graph.
        """
        search = self.searcher(graph)
        calibration = self.calibration_for(search.graph)
        known = self._known_on(search.graph) if known is None else known
        found = complete(search, known=known, relations=relations, calibration=calibration, **wanted)
        return NewFacts(found)

    def calibration_for(self, graph: Graph) -> Calibration | str:  # overridden for rules
        """Return the calibration for a graph, or the reason why there is none."""
        self._check_fitted()
        return f"{self.method} is not calibrated; only models that answer by rules are"

    def searcher(self, graph: Graph | None = None) -> Searcher:
        """Return the model prepared for a graph, by default the one that it was trained on."""
        self._check_fitted()
        if graph is None:
            graph = self.dataset.graph
        check_asked_graph(graph)
        kept = self._searchers.get(id(graph))
        if kept is None or kept.graph is not graph:
            kept = self._searcher(graph)
            self._searchers = {id(graph): kept}  # one graph at a time, to save memory
        return kept

    @property
    def dataset(self) -> Dataset:
        """The dataset that the model was trained on: the graph that it answers from, and other known facts."""
        self._check_fitted()
        if self.dataset_ is None:
            source = "" if self.data_.source is None else f", from {self.data_.source!r}"
            raise InputError(
                f"This model was saved without its graph ({self.data_.name!r}, {self.data_.facts:,} facts{source}). "
                "Pass graph=... (--graph DATA)."
            )
        return self.dataset_

    def _known_on(self, graph: Graph) -> Graph:
        """Return the facts known on a graph: its own, and on the model's graph also validation and test facts."""
        own = self.dataset_
        return own.known if own is not None and graph.sha256 == own.graph.sha256 else graph

    @property
    def rules(self) -> RuleSet:
        """The learned rules."""
        raise InputError(f"{self.method} learns no rules. stablerule learn --list shows the methods that do.")

    def rule_searcher(self, graph: Graph | None = None) -> RuleSearcher:  # overridden for rules
        """Return the rules prepared for a graph, by default the one that the model was trained on."""
        raise InputError(
            f"{self.method} learns no rules, so it can't explain answers. "
            "stablerule learn --list shows the methods that can."
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
        """Explain the rank of (head, relation, tail) among the answers, and why it is not ranked first."""
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
        """Save the model to a folder, with the graph that it answers from (40 bytes a fact).

        graph: False saves without the graph; then each use of the model must pass one.
        source, reading: where the data came from, for people, and the options that it was read with.
        """
        self._check_fitted()
        mark = self.data_ if source is None else replace(self.data_, source=source, reading=dict(reading or {}))
        data = self.dataset_ if graph else None
        saved = SavedModel(self.method, self.options, mark, self.vocabulary_, self.learned_, dataset=data)
        saved.write(Path(folder), overwrite=overwrite, tensors=self._tensors())

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make a model from a saved one."""
        model = cls.with_options(rename_options(saved.options, cls.old_names))
        model.vocabulary_, model.data_, model.dataset_ = saved.vocabulary, saved.data, saved.dataset
        model.learned_, model.saved_ = saved.learned, saved
        model._searchers = {}
        model._load_own(saved)
        return model

    def _load_own(self, saved: SavedModel) -> None:  # most learners have nothing more
        """Load what is specific to this learner."""

    def _tensors(self) -> dict[str, Any] | None:
        """Return arrays to save in addition."""
        return None

    def _check_fitted(self) -> None:
        if not hasattr(self, "data_"):
            raise InputError(f"This {type(self).__name__} is not fitted. Call fit(graph) first.")

    def _repr_html_(self) -> str:
        """Show the data, rules and aggregation in a notebook."""
        if not hasattr(self, "data_"):
            return spell_html_table(f"{self!r} (not fitted)", (), ())
        mark, learned = self.data_, self.learned_
        rows = [("trained on", f"{mark.name}: {mark.facts:,} facts, {mark.entities:,} entities")]
        if learned.rules is not None:
            rows.append(("rules", learned.rules.describe()))
        if learned.choice is not None:
            rows.append(("aggregation", learned.choice.describe()))
            why = learned.calibration
            rows.append(("probabilities", f"none: {why}" if isinstance(why, str) else "yes" if why else "none"))
        return spell_html_table(repr(self), ("", ""), rows)


class RuleReasoner(Reasoner):
    """A learner of rules: `fit(graph)` learns the rules and chooses their aggregation; `answer` and `explain` use them.

    The aggregation is chosen on the validation facts; without them on training facts, each hidden while it is asked
    for. Facts outside `examples` stay in the graph as path steps but are never used as targets. With `fit(dataset)`,
    test facts are known to be true: calibration does not count them as candidates. They are used for nothing else.
    """

    # The aggregation; a learner may offer these as options.
    aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto"
    by: By = "confidence"
    top: int = 0

    @property
    def rules(self) -> RuleSet:
        """The learned rules."""
        self._check_fitted()
        return RuleSet() if self.learned_.rules is None else self.learned_.rules

    def calibration_for(self, graph: Graph) -> Calibration | str:
        """Return the calibration for a graph, or the reason why there is none."""
        self._check_fitted()
        if graph.sha256 != self.data_.sha256:
            return f"it applies only to the graph that the model was trained on, {self.data_.name!r}"
        return self.learned_.calibration or "the model was saved without one"

    def rule_searcher(self, graph: Graph | None = None) -> RuleSearcher:
        """Return the rules prepared for a graph, by default the one that the model was trained on."""
        found = self.searcher(graph)
        assert isinstance(found, RuleSearcher)  # noqa: S101  # `_searcher` returns nothing else
        return found

    def _searcher(self, graph: Graph) -> Searcher:
        aggregation = self.learned_.aggregation or Aggregation()
        encoded = encode_rules(self.rules, graph, aggregation.by)
        chains_alone = encoded.n_chains == len(encoded.rows)
        return RuleSearcher(encoded, aggregation.without_constants() if chains_alone else aggregation)

    def _check_options(self) -> None:
        super()._check_options()
        self._check_at_least(0, "top")
