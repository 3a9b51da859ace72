"""Explain why a triple was not predicted, or not ranked first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from stablerule.errors import spell_count
from stablerule.graph import Graph, Triples
from stablerule.paths.reach import reach_next
from stablerule.reasoning.answers import spell_facts_of_reason, spell_score
from stablerule.reasoning.queries import join_known_graphs
from stablerule.reasoning.ranks import Rank
from stablerule.rules.rule import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stablerule.graph.triples import Ids
    from stablerule.reasoning.answers import Explanation, Fact
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.rules import ScoredRule

Reason: TypeAlias = Literal["no rule for the relation", "rules but no path", "outranked", "answer is first"]
SHOWN = 3  # rules tried, answers ranked above, names on a line


@dataclass(frozen=True)
class RuleAttempt:
    """How far one rule gets: `taken` steps of its body from the entity `start`, the entity of the query.

    relation: the step without any fact; None if the whole body can be followed but ends elsewhere.
    reached: how many entities the last possible step reaches (the start itself if there is none); `names` are some of
    them. A rule with a constant is one step, from the entity in place of its X. A rule that is used in the inverse
    direction is followed from its Y.
    """

    rule: ScoredRule
    start: str
    taken: int
    relation: str | None
    reached: int
    names: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """Spell where the rule stops."""
        if not self.reached:
            return f"reaches it from {quote_name(self.start)} only by paths that visit an entity twice"
        if self.relation is None:
            return f"reaches {self._say_where()} from {quote_name(self.start)}, but not this answer"
        constants = self.rule.rule.constants
        to = f" to {quote_name(constants[1])}" if constants is not None and constants[1] is not None else ""
        step = f"step {self.taken + 1} of {self.rule.rule.length}"
        return f"stops at {step}: no {self.relation} from {self._say_where()}{to}"

    def _say_where(self) -> str:
        more = self.reached - len(self.names)
        return ", ".join(map(quote_name, self.names)) + (f" and {spell_count(more, 'other')}" if more else "")

    def __str__(self) -> str:
        """Spell it on one line."""
        return f"{self.rule.rule}  {self.outcome}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "rule": str(self.rule.rule),
            "numbers": self.rule.numbers,
            "start": self.start,
            "taken": self.taken,
            "relation": self.relation,
            "reached": self.reached,
            "names": list(self.names),
        }


@dataclass(frozen=True)
class AnswerAbove:
    """An answer ranked above: its score, whether it is a known fact, and the rule with the largest share.

    facts: how many facts of the relation have this tail, which breaks ties between equal scores.
    """

    entity: str
    score: float
    known: bool
    facts: int
    best: Explanation

    def lines(self) -> list[str]:
        """Spell it in a few lines: the answer, the rule, and the facts of one path."""
        known = "  known" if self.known else ""
        return [f"{quote_name(self.entity)}  {spell_score(self.score)}{known}", *self.best.lines()[:2]]

    def __str__(self) -> str:
        """Spell it on one line."""
        return f"{quote_name(self.entity)}  {spell_score(self.score)}{'  known' if self.known else ''}  {self.best}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "entity": self.entity,
            "score": self.score,
            "known": self.known,
            "facts": self.facts,
            "best": self.best.to_json(),
        }


@dataclass(frozen=True)
class WhyNot:
    """The rank of a triple among the answers to its query, and why it is not ranked higher.

    known: whether the triple is a known fact. score: 0 if no rule reaches the tail. facts: how many facts of the
    relation have this tail. rank: among all entities. rank_among_new: without other known answers. rules: how many the
    relation has. attempts: if none fired, the best rules that could have. above: the first answers ranked above it.
    best: the rule with the largest share, if one fired.
    """

    triple: Fact
    reason: Reason
    known: bool
    score: float
    facts: int
    rank: Rank
    rank_among_new: Rank
    rules: int
    best: Explanation | None = None
    attempts: tuple[RuleAttempt, ...] = ()
    above: tuple[AnswerAbove, ...] = ()

    @property
    def found(self) -> bool:
        """Whether a rule reaches the tail."""
        return self.best is not None

    def lines(self) -> list[str]:
        """Spell it in a few lines."""
        what = f"{spell_facts_of_reason([self.triple])} is {'' if self.known else 'not '}a known fact."
        relation = self.triple[1]
        match self.reason:
            case "no rule for the relation":
                return [what, f"It is not predicted: no rule for {relation} applies to this graph."]
            case "rules but no path":
                return [what, *self._without_path()]
            case "answer is first":
                return [what, f"It is the first answer: {self.place}."]
            case _:
                best = self.best.lines()[:2] if self.best is not None else []
                return [
                    what,
                    f"It is predicted: {self.place}, score {spell_score(self.score)}.",
                    *best,
                    *self.lines_above(),
                ]

    def _without_path(self) -> list[str]:
        relation = self.triple[1]
        there, best, others = (
            f"none of the {self.rules:,} rules for {relation} reaches it",
            "The best that could have:",
            "All of them are about other entities.",
        )
        if self.rules == 1:
            there, best, others = (
                f"the only rule for {relation} does not reach it",
                "The rule:",
                "The rule is about other entities.",
            )
        steps = [line for one in self.attempts for line in (f"  {one.rule.rule}", f"      {one.outcome}")]
        return [f"It is not predicted: {there}.", best if self.attempts else others, *steps]

    @property
    def place(self) -> str:
        """The rank as text."""
        new = self.rank_among_new
        return _spell_rank_band(self.rank) + (
            f" ({_spell_rank_band(new)} without other known answers)" if new.best < self.rank.best else ""
        )

    def lines_above(self) -> list[str]:
        """Spell the answers ranked above it."""
        more = self.rank.best - 1 - len(self.above)
        found = ["Ranked above it:"] if self.above else []
        found += [f"  {line}" for one in self.above for line in one.lines()]
        return [*found, f"  and {spell_count(more, 'other')}"] if self.above and more else found

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "triple": list(self.triple),
            "reason": self.reason,
            "found": self.found,
            "known": self.known,
            "score": self.score,
            "facts": self.facts,
            "rank": list(self.rank),
            "rank_among_new": list(self.rank_among_new),
            "rules": self.rules,
            "best": None if self.best is None else self.best.to_json(),
            "attempts": [one.to_json() for one in self.attempts],
            "above": [one.to_json() for one in self.above],
        }

    def __str__(self) -> str:
        """Spell it in a few lines."""
        return "\n".join(self.lines())


def explain_why_not(search: RuleSearcher, head: Ids, relation: Ids, tail: Ids, *, known: Graph | None = None) -> WhyNot:
    """Explain the rank of one triple, given as ids (1,); `known` are the known facts, by default those of the graph."""
    return _WhyNotSearch(search, int(head[0]), int(relation[0]), int(tail[0]), known).why_not()


class _WhyNotSearch:
    """One triple to explain, by ids."""

    def __init__(self, search: RuleSearcher, head: int, relation: int, tail: int, known: Graph | None) -> None:
        self.search, self.graph = search, search.graph
        self.head, self.relation, self.tail = head, relation, tail
        self.known = search.graph if known is None else join_known_graphs(known, search.graph) or search.graph

    def why_not(self) -> WhyNot:
        words, nothing = self.graph.vocabulary, Graph.build(Triples.empty(), self.graph.vocabulary)
        query = np.array([self.head], np.int32), np.array([self.relation], np.int32), np.array([self.tail], np.int32)
        rank, rank_among_new = (self._rank(*query, known) for known in (nothing, self.known))
        scores, reasons = self.search.explain(*query, most=1)
        ((*best_reasons,),) = self.search.name_reasons(*query, reasons)
        best = best_reasons[0] if best_reasons else None
        rules, relevant = self._try_rules()
        reason: Reason
        if best is not None:
            reason = "answer is first" if rank.best == 1 else "outranked"
        else:
            reason = "rules but no path" if rules else "no rule for the relation"
        return WhyNot(
            triple=(words.entity_name(self.head), words.relation_name(self.relation), words.entity_name(self.tail)),
            reason=reason,
            known=self._is_known(self.tail),
            score=float(scores[0]),
            facts=self._list_facts(self.tail),
            rank=rank,
            rank_among_new=rank_among_new,
            rules=rules,
            best=best,
            attempts=tuple(map(self._attempt, relevant)) if reason == "rules but no path" else (),
            above=self._list_answers_above(min(SHOWN, rank.best - 1)) if reason == "outranked" else (),
        )

    def _rank(self, heads: Any, relations: Any, tails: Any, known: Graph) -> Rank:
        ranks = self.search.rank(heads, relations, tails, known)
        return Rank(int(ranks.best[0]), int(ranks.worst[0]))

    def _is_known(self, tail: int) -> bool:
        return bool((self.known.tails(self.head, self.relation) == tail).any())

    def _list_facts(self, tail: int) -> int:
        return len(self.graph.tails(tail, self.graph.inverse(self.relation)))

    def _list_answers_above(self, count: int) -> tuple[AnswerAbove, ...]:
        words = self.graph.vocabulary
        query = np.array([self.head], np.int32), np.array([self.relation], np.int32)
        # A rank counts the head among the candidates.
        (found,), (scores,), reasons = self.search.answer(*query, count, itself=True, reasons=1)
        assert reasons is not None  # noqa: S101  # they were asked for
        heads, relations = (np.repeat(column, len(found)) for column in query)
        named = self.search.name_reasons(heads, relations, found, reasons)
        return tuple(
            AnswerAbove(words.entity_name(entity), score, self._is_known(entity), self._list_facts(entity), best)
            for entity, score, (best,) in zip(found.tolist(), scores.tolist(), named, strict=True)
        )

    def _try_rules(self) -> tuple[int, list[int]]:
        """Return the number of rules for such a query, and the best of those that could reach the tail, by number."""
        theory, back = self.search.encoded.theory, self.graph.inverse(self.relation)
        chains = np.arange(theory.starts[self.relation], theory.starts[self.relation + 1])
        of_head = np.arange(theory.trait_starts[self.relation], theory.trait_starts[self.relation + 1])
        of_tail = np.arange(theory.trait_starts[back], theory.trait_starts[back + 1])
        count = len(chains) + len(of_head) + len(of_tail)
        n = len(theory.bodies)
        of_head = n + of_head[theory.rule_constants[of_head] == self.tail]
        of_tail = n + of_tail[theory.rule_constants[of_tail] == self.head]
        relevant = np.concatenate([chains, of_head, of_tail])
        best = relevant[np.argsort(-theory.weights[relevant], kind="stable")[:SHOWN]]
        return count, best.tolist()

    def _attempt(self, rule: int) -> RuleAttempt:
        encoded, words = self.search.encoded, self.graph.vocabulary
        scored = encoded.rules[int(encoded.rows[rule])]
        if rule >= encoded.n_chains:
            # It names the tail or the head and did not fire, so the other entity lacks the trait.
            owner = self.head if words.relation_id(scored.rule.head_relation) == self.relation else self.tail
            name = words.entity_name(owner)
            return RuleAttempt(scored, name, 0, scored.rule.body[0], 1, (name,))
        body = tuple(encoded.theory.bodies[rule, : encoded.theory.lengths[rule]].tolist())
        levels = [np.array([self.head], np.int32), *self._follow(body)]
        taken, last = len(levels) - 1, levels[-1]
        if taken == len(body):
            last = last[last != self.tail]  # reached by a path that visits an entity twice, which does not count
        return RuleAttempt(
            scored,
            words.entity_name(self.head),
            taken,
            words.relation_name(body[taken]) if taken < len(body) else None,
            len(last),
            tuple(words.entities.names_of(last[:SHOWN]).to_list()),
        )

    def _follow(self, body: tuple[int, ...]) -> Iterator[Ids]:
        """Yield the entities that each step of a body reaches from the head, sorted, until a step reaches none."""
        here, none = np.array([self.head], np.int32), np.empty(0, np.int64)
        found, counts = np.empty(self.graph.n_entities, np.int32), np.zeros(self.graph.n_entities, np.int64)
        for relation in body:
            n, _ = reach_next(self.graph.stepped, self.head, relation, here, len(here), none, found, counts)
            here = np.sort(found[:n])
            counts[here] = 0
            if not n:
                return
            yield here


def _spell_rank_band(rank: Rank) -> str:
    return f"rank {rank.best:,}" if rank.best == rank.worst else f"rank {rank.best:,} to {rank.worst:,}"
