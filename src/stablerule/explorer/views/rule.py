"""One rule: where it holds, where it fails, and which rules say nearly the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.explorer.views.entity import name_splits
from stablerule.explorer.views.records import FactView, PathView, RuleView
from stablerule.explorer.views.rules import spell_rule_in_words
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules
from stablerule.rules import RuleSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.explorer.explored import Explored
    from stablerule.graph.triples import Ids
    from stablerule.rules import Rule, ScoredRule

TRIED, EACH = 400, 5  # entities X that are asked, and conclusions of each
SHOWN, OTHERS = 10, 3
COMPARED = 200  # conclusions that other rules are held against
ALIKE, MOST_ALIKE = 0.5, 10


@dataclass(frozen=True)
class Example:
    """A conclusion of the rule with the path behind it; split has the fact, None where no split does.

    others: what the head has instead, some of it.
    """

    head: str
    tail: str
    split: str | None
    path: PathView | None
    others: list[str]


@dataclass(frozen=True)
class AlikeRule:
    """A rule for the same relation that fires where this one does: for what share of its conclusions."""

    rule: RuleView
    share: float
    overlap: float | None


@dataclass(frozen=True)
class RulePage:
    """A rule in words and numbers, with examples from some entities X that were drawn with a seed.

    conclusions: how many were looked at, and how many of these are facts of some split.
    """

    rule: RuleView
    words: str
    tried: int
    conclusions: int
    right: int
    holds: list[Example]
    fails: list[Example]
    alike: list[AlikeRule]
    seed: int


class _Conclusions(NamedTuple):
    heads: Ids
    tails: Ids
    splits: list[str]


def show_rule(explored: Explored, text: str, *, seed: int = 0) -> RulePage:
    """Show a rule of the model, with examples where its conclusion is a fact and where it is none."""
    scored = explored.find_rule(text)
    words, asked = explored.graph.vocabulary, Aggregation("max_plus")
    relation = words.relation_id(scored.rule.head_relation)
    alone = RuleSearcher(encode_rules(RuleSet([scored]), explored.graph), asked)
    starts = _draw_starts(explored, scored.rule, seed)
    found = _conclude(explored, alone, relation, starts)
    right = np.array([bool(split) for split in found.splits], bool)
    return RulePage(
        rule=RuleView.of(scored),
        words=spell_rule_in_words(scored),
        tried=len(starts),
        conclusions=len(right),
        right=int(right.sum()),
        holds=_show_examples(explored, alone, relation, found, np.flatnonzero(right)[:SHOWN]),
        fails=_show_examples(explored, alone, relation, found, np.flatnonzero(~right)[:SHOWN]),
        alike=_find_alike(explored, scored, relation, found),
        seed=seed,
    )


def _draw_starts(explored: Explored, rule: Rule, seed: int) -> Ids:
    """Draw entities X for which the first atom of the body holds."""
    graph, words = explored.graph, explored.graph.vocabulary
    if any(name.removeprefix("~") not in words.relations for name in rule.body):
        return np.empty(0, np.int32)
    heads, tails = graph.facts(words.relation_id(rule.body[0]))
    if rule.constants is not None and rule.constants[1] is not None:
        near = words.entities.id_of(rule.constants[1])
        heads = heads[tails == (-1 if near is None else near)]
    some = np.unique(heads)
    return np.random.default_rng(seed).permutation(some)[:TRIED].astype(np.int32)


def _conclude(explored: Explored, alone: RuleSearcher, relation: int, starts: Ids) -> _Conclusions:
    tails, _, _ = alone.answer(starts, np.full(len(starts), relation, np.int32), EACH)
    place, column = np.nonzero(tails >= 0)
    heads, ends = starts[place], tails[place, column]
    pairs = zip(heads.tolist(), ends, strict=True)
    splits = [name_splits(explored, head, relation, np.array([end]))[0] for head, end in pairs]
    return _Conclusions(heads, ends, splits)


def _show_examples(
    explored: Explored, alone: RuleSearcher, relation: int, found: _Conclusions, some: NDArray[np.intp]
) -> list[Example]:
    if not len(some):
        return []
    words = explored.graph.vocabulary
    heads, tails = found.heads[some], found.tails[some]
    asked = heads, np.full(len(some), relation, np.int32), tails
    _, reasons = alone.explain(*asked, most=1)
    examples = []
    for place, named in enumerate(alone.name_reasons(*asked, reasons)):
        path = None
        if named and named[0].groundings:
            facts = [FactView.of(fact) for fact in named[0].facts[0]]
            path = PathView(list(named[0].groundings[0]), facts)
        head, tail = int(heads[place]), int(tails[place])
        has = explored.known.tails(head, relation)
        others = words.entities.names_of(has[has != tail][:OTHERS]).to_list()
        split = found.splits[int(some[place])] or None
        examples.append(Example(words.entity_name(head), words.entity_name(tail), split, path, others))
    return examples


def _find_alike(explored: Explored, scored: ScoredRule, relation: int, found: _Conclusions) -> list[AlikeRule]:
    """Find the rules that fire for most of the conclusions of a rule."""
    n = min(len(found.heads), COMPARED)
    if not n:
        return []
    search = explored.opened.search
    _, reasons = search.explain(found.heads[:n], np.full(n, relation, np.int32), found.tails[:n])
    rows, counts = np.unique(search.encoded.rows[reasons.rules], return_counts=True)
    alike = []
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        share = count / n
        if share >= ALIKE:
            other = search.encoded.rules[row]
            if other.rule != scored.rule:
                alike.append(AlikeRule(RuleView.of(other), share, _estimate_overlap(scored, other, share)))
    alike.sort(key=lambda one: (-(one.overlap or 0), -one.share, one.rule.rule))
    return alike[:MOST_ALIKE]


def _estimate_overlap(one: ScoredRule, other: ScoredRule, share: float) -> float | None:
    """Estimate pairs that both link over pairs that either links, from the share of one's that the other links."""
    if not one.body_count or not other.body_count:
        return None
    both = share * one.body_count
    return min(1.0, both / max(one.body_count + other.body_count - both, both))
