"""What an entity lacks, and is likely: new facts about it along every relation of its kind, the most likely first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.explorer.views.records import ReasonView

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored
    from stablerule.reasoning import Answer

MOST = 20
LEAST = 0.01  # probability, where there is one
OF_ONE_RELATION = 5
ASKED = 10  # answers to a query, of which some are ruled out
MOST_RELATIONS = 200


@dataclass(frozen=True)
class LikelyFact:
    """A fact that the graph lacks: (head, relation, tail) in the direction of the relation."""

    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    reason: ReasonView | None


@dataclass(frozen=True)
class LikelyFacts:
    """New facts about an entity, the most likely first; asked: of how many relations and inverses."""

    name: str
    asked: int
    facts: list[LikelyFact]


def find_likely_facts(explored: Explored, name: str, *, most: int = MOST) -> LikelyFacts:
    """Ask along every relation that the entity has or that its kind has, but for one-valued ones that it has."""
    entity, words = explored.entity_id(name), explored.graph.vocabulary
    relations = _choose_relations(explored, entity)
    own = words.entity_name(entity)
    queries = [(own, words.relation_name(relation)) for relation in relations]
    found = explored.model.answer(
        queries,
        ASKED,
        graph=explored.graph,
        known=explored.known,
        candidates="range",
        explain=explored.has_rules,
        most_reasons=1,
    )
    facts = []
    for relation, answers in zip(relations, found, strict=True):
        allowed = [answer for answer in answers if not _is_taken(explored, relation, answer)]
        facts += [_show_fact(explored, own, relation, answer) for answer in allowed[:OF_ONE_RELATION]]
    facts = [fact for fact in facts if fact.probability is None or fact.probability >= LEAST]
    facts.sort(key=lambda fact: (-(fact.probability or 0), -fact.score, fact.relation, fact.head, fact.tail))
    return LikelyFacts(own, len(relations), facts[:most])


def _choose_relations(explored: Explored, entity: int) -> list[int]:
    graph, one_valued = explored.known, explored.behaviour.one_valued
    has = np.zeros(2 * graph.n_relations, bool)
    has[graph.edges(entity)[0]] = True
    kinds = explored.graph.kinds
    chosen = [
        relation
        for relation in range(2 * graph.n_relations)
        if (not one_valued[relation] if has[relation] else bool(kinds.alike(relation)[entity]))
    ]
    return chosen[:MOST_RELATIONS]


def _is_taken(explored: Explored, relation: int, answer: Answer) -> bool:
    """Tell whether an answer has its one value from the other end already."""
    graph = explored.known
    back = graph.inverse(relation)
    return bool(explored.behaviour.one_valued[back]) and bool(
        len(graph.tails(graph.vocabulary.entity_id(answer.entity), back))
    )


def _show_fact(explored: Explored, own: str, relation: int, answer: Answer) -> LikelyFact:
    words, n = explored.graph.vocabulary, explored.graph.n_relations
    plain = words.relation_name(relation % n)
    head, tail = (own, answer.entity) if relation < n else (answer.entity, own)
    reason = ReasonView.of(answer.reasons[0]) if answer.reasons else None
    return LikelyFact(head, plain, tail, answer.score, answer.probability, reason)
