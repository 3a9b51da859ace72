"""A model and the dataset that it answers from: answers with the split that has them, reasons, new facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stablerule.reasoning.calibration import read_answers
from stablerule.reasoning.completing import Completion
from stablerule.reasoning.queries import encode_triples
from stablerule.reasoning.whynot import explain_why_not

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stablerule.graph import Dataset, Graph
    from stablerule.reasoning.answers import Answer, Fact, Reasons
    from stablerule.reasoning.reasoner import Reasoner
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.reasoning.searcher import Searcher
    from stablerule.reasoning.wanted import WantedFacts
    from stablerule.reasoning.whynot import WhyNot


@dataclass(frozen=True)
class RankedAnswer:
    """An answer with its rank, and the split that has the fact, if one has it."""

    rank: int
    answer: Answer
    split: str | None

    def to_json(self, *, explain: bool) -> dict[str, Any]:
        """Return plain values; a model that also scores without rules may give an answer without an explanation."""
        row = {"rank": self.rank, "entity": self.answer.entity, "score": self.answer.score}
        row |= {"probability": self.answer.probability}
        row |= {"known": self.split is not None, "split": self.split}
        reason = next(iter(self.answer.reasons), None)
        return row | {"explanation": reason and reason.to_json()} if explain else row


@dataclass(frozen=True)
class ModelOnGraph:
    """A model, and the dataset whose training facts it answers from.

    >>> from stablerule import Tabular, households
    >>> dataset = households(families=3, seed=0).dataset
    >>> asked = ModelOnGraph(Tabular(walks=20_000, constants=False).fit(dataset), dataset)
    >>> head, relation, tail = dataset.frame("train").row(0)
    >>> {answer.answer.entity: answer.split for answer in asked.rank_answers(head, relation, 100)}[tail]
    'train'
    """

    model: Reasoner
    dataset: Dataset

    @property
    def graph(self) -> Graph:
        """The facts that the model answers from."""
        return self.dataset.graph

    @property
    def searcher(self) -> Searcher:
        """The model, prepared for the graph."""
        return self.model.searcher(self.graph)

    @property
    def search(self) -> RuleSearcher:
        """The model's rules, prepared for the graph; an error for a model without rules."""
        return self.model.rule_searcher(self.graph)

    @property
    def known(self) -> Graph:
        """The facts of all splits."""
        return self.dataset.known

    def split_with(self, head: int, relation: int, tail: int) -> str | None:
        """Return the name of the split that has a fact, None if no split has it."""
        if tail in self.graph.tails(head, relation):
            return "train"
        n = self.graph.n_relations
        fact = (head, relation, tail) if relation < n else (tail, relation - n, head)
        for name in ("valid", "test"):
            if (self.dataset.split(name).rows == fact).all(axis=1).any():
                return name
        return None

    def rank_answers(
        self,
        head: str,
        relation: str,
        k: int,
        *,
        new: bool = False,
        candidates: Literal["all", "range"] | Iterable[str] = "all",
        most_reasons: int | None = 0,
    ) -> list[RankedAnswer]:
        """Return the k best answers to one query, each with its split; most_reasons: for each answer, None is all."""
        words = self.graph.vocabulary
        about = words.entity_id(head), words.relation_id(relation)
        found = self.model.answer(
            [(head, relation)],
            k,
            graph=self.graph,
            known=self.known if new else (),
            candidates=candidates,
            explain=most_reasons != 0,
            most_reasons=most_reasons or None,
        )
        answers = self._add_probabilities(about, next(found))
        return [
            RankedAnswer(rank, answer, self.split_with(*about, words.entity_id(answer.entity)))
            for rank, answer in enumerate(answers, 1)
        ]

    def _add_probabilities(self, about: tuple[int, int], answers: list[Answer]) -> list[Answer]:
        """Calibrate again with the facts of all splits, which may have the head's value of a one-valued relation."""
        calibration, words = self.model.calibration_for(self.graph), self.graph.vocabulary
        if isinstance(calibration, str):
            return answers
        heads, relations = (np.full(len(answers), one, np.int32) for one in about)
        entities = np.array([words.entity_id(answer.entity) for answer in answers], np.int32)
        scores = np.array([answer.score for answer in answers], np.float64)
        likely = read_answers(calibration, self.known, heads, relations, entities, scores)
        return [replace(answer, probability=one) for answer, one in zip(answers, likely, strict=True)]

    def explain(self, triple: Fact) -> Reasons:
        """Return the rules that fired for a triple, the largest share of its score first."""
        return self.model.explain(triple, graph=self.graph)

    def why_not(self, triple: Fact) -> WhyNot:
        """Explain the rank of a triple among the answers; the facts of all splits count as known."""
        return explain_why_not(self.search, *encode_triples([triple], self.graph.vocabulary), known=self.known)

    def completion(self, wanted: WantedFacts, relations: Iterable[str] | None = None) -> Completion:
        """Prepare the search for new facts, relation by relation."""
        return Completion(
            self.searcher,
            wanted,
            known=self.known,
            relations=relations,
            calibration=self.model.calibration_for(self.graph),
        )
