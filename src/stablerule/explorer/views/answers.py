"""Questions: the best answers, why one of them, why not another, and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stablerule.errors import OptionError
from stablerule.explorer.views.records import FactView, ReasonView, RuleView
from stablerule.reasoning.queries import check_at_least_one
from stablerule.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stablerule.explorer.explored import Explored
    from stablerule.reasoning.model_on_graph import ModelOnGraph, RankedAnswer
    from stablerule.reasoning.whynot import WhyNot

MOST_ANSWERS, MOST_TRIPLES, MOST_REASONS = 1000, 1000, 50
EXPLAINED = 20  # rules that an explanation shows
Candidates = Literal["all", "range"]


@dataclass(frozen=True)
class AnswerView:
    """An answer: its place, its score, its probability if there is one, and the split that has the fact.

    rank_without: its place when the rules that are switched off don't count; None where it is none of the answers then.
    """

    rank: int
    entity: str
    score: float
    probability: float | None
    split: str | None
    reasons: list[ReasonView]
    rank_before: int | None = None


@dataclass(frozen=True)
class AnswersView:
    """The best answers to a query; off: rules that did not count."""

    head: str
    relation: str
    answers: list[AnswerView]
    off: list[str]
    calibrated: bool


@dataclass(frozen=True)
class ExplanationView:
    """Why (head, relation, tail) is an answer: the rules that fired, the largest share first; `rules` counts all."""

    head: str
    relation: str
    tail: str
    split: str | None
    score: float
    place: str
    rules: int
    reasons: list[ReasonView]


@dataclass(frozen=True)
class AttemptView:
    """How far a rule gets from the head of the query."""

    rule: RuleView
    outcome: str


@dataclass(frozen=True)
class RivalView:
    """An answer that ranks higher."""

    entity: str
    score: float
    known: bool
    best: ReasonView


@dataclass(frozen=True)
class WhyNotView:
    """The rank of (head, relation, tail) among the answers, and why it is not higher."""

    head: str
    relation: str
    tail: str
    split: str | None
    reason: str
    sentences: list[str]
    found: bool
    known: bool
    score: float
    rank: list[int]
    rank_among_new: list[int]
    rules: int
    best: ReasonView | None
    attempts: list[AttemptView]
    above: list[RivalView]


def ask(
    explored: Explored,
    head: str,
    relation: str,
    *,
    k: int = 10,
    new: bool = False,
    candidates: Candidates = "all",
    reasons: int = 1,
    off: Iterable[str] = (),
) -> AnswersView:
    """Return the k best answers to (head, relation, ?), with at most so many reasons each.

    off: rules that do not count; then each answer has its rank with them, too.
    """
    _check_most("k", k, MOST_ANSWERS)
    if not 0 <= reasons <= MOST_REASONS:
        raise OptionError(f"Argument 'reasons' must be from 0 to {MOST_REASONS}, got {reasons}.")
    head, off = explored.entity_name(head), tuple(off)
    opened = explored.without(off)
    most = reasons if explored.has_rules else 0
    found = opened.rank_answers(head, relation, k, new=new, candidates=candidates, most_reasons=most)
    before: dict[str, int] = {}
    if off:
        all_rules = explored.opened.rank_answers(head, relation, k, new=new, candidates=candidates)
        before = {row.answer.entity: row.rank for row in all_rules}
    return AnswersView(
        head=head,
        relation=relation,
        answers=[_show_answer(row, before) for row in found],
        off=list(off),
        calibrated=not isinstance(opened.model.calibration_for(opened.graph), str),
    )


def _show_answer(row: RankedAnswer, before: dict[str, int]) -> AnswerView:
    answer = row.answer
    reasons = [ReasonView.of(reason) for reason in answer.reasons]
    return AnswerView(
        row.rank, answer.entity, answer.score, answer.probability, row.split, reasons, before.get(answer.entity)
    )


def explain_answer(
    explored: Explored, head: str, relation: str, tail: str, *, most: int = EXPLAINED, off: Iterable[str] = ()
) -> ExplanationView:
    """Say which rules lead from head to tail, by which facts."""
    opened, triple = explored.without(off), (explored.entity_name(head), relation, explored.entity_name(tail))
    reasons = opened.explain(triple)
    doubt = opened.why_not(triple)
    return ExplanationView(
        *triple,
        split=_find_split(opened, triple),
        score=doubt.score,
        place=doubt.place,
        rules=len(reasons),
        reasons=[ReasonView.of(reason) for reason in reasons[:most]],
    )


def explain_why_not(explored: Explored, head: str, relation: str, tail: str) -> WhyNotView:
    """Return the rank of a triple among the answers to its query, and why it is not higher."""
    triple = explored.entity_name(head), relation, explored.entity_name(tail)
    doubt = explored.opened.why_not(triple)
    return WhyNotView(
        *triple,
        split=_find_split(explored.opened, triple),
        reason=doubt.reason,
        sentences=_spell_doubt(doubt),
        found=doubt.found,
        known=doubt.known,
        score=doubt.score,
        rank=list(doubt.rank),
        rank_among_new=list(doubt.rank_among_new),
        rules=doubt.rules,
        best=None if doubt.best is None else ReasonView.of(doubt.best),
        attempts=[AttemptView(RuleView.of(one.rule), one.outcome) for one in doubt.attempts],
        above=[RivalView(one.entity, one.score, one.known, ReasonView.of(one.best)) for one in doubt.above],
    )


def _spell_doubt(doubt: WhyNot) -> list[str]:
    """Return the sentences in front of the lists, which the page shows in its own way."""
    return [line for line in doubt.lines()[:2] if not line.startswith(" ")]


def score_triples(explored: Explored, triples: list[FactView]) -> list[float]:
    """Return the score of each triple."""
    _check_most("triples", len(triples), MOST_TRIPLES)
    named = [(explored.entity_name(one.head), one.relation, explored.entity_name(one.tail)) for one in triples]
    return explored.model.score(named, graph=explored.graph)


def describe_silence(explored: Explored, head: str, relation: str) -> str:
    """Say why a query has no answer."""
    if not explored.has_rules:
        return f"{METHODS[explored.model.method].name} has nothing to say about it."
    plain = relation.removeprefix("~")
    if not {plain, f"~{plain}"} & set(explored.rules.relations):
        return f"The model has no rule for {relation}."
    return f"No rule leads from {head} to an entity by {relation}."


def _find_split(opened: ModelOnGraph, triple: tuple[str, str, str]) -> str | None:
    words = opened.graph.vocabulary
    head, relation, tail = triple
    return opened.split_with(words.entity_id(head), words.relation_id(relation), words.entity_id(tail))


def _check_most(argument: str, given: int, most: int) -> None:
    check_at_least_one(argument, given)
    if given > most:
        raise OptionError(f"Argument {argument!r} must be at most {most:,}, got {given:,}.")
