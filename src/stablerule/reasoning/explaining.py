"""Why an answer was given: the rules that fired for it, each with its share of the score and its concrete paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import InputError
from stablerule.reasoning.answers import Explanation
from stablerule.reasoning.firings import N_CHAINS, N_FIRINGS, N_TRAITS, fire, new_workplace, no_firings, open_relation
from stablerule.reasoning.grounding import Paths
from stablerule.reasoning.shares import Fired, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from stablerule.reasoning.search import Search
    from stablerule.rules import ScoredRule

SHOWN_PATHS = 3  # groundings of one explanation
CHAIN, TRAIT_OF_HEAD, TRAIT_OF_TAIL = range(3)


def explain(search: Search, head: str, relation: str, tail: str) -> list[Explanation]:
    """Return the rules that fired for a triple, the largest share first; none where no rule reaches the tail.

    >>> from stablerule import Dataset, Rule, RuleSet
    >>> from stablerule.reasoning.aggregation import Aggregation
    >>> from stablerule.reasoning.search import Search
    >>> from stablerule.reasoning.theory import encode_rules
    >>> graph = Dataset.from_names("tiny", train=[("Lyon", "in", "France"), ("France", "part_of", "Europe")]).graph
    >>> rules = RuleSet([(Rule("part_of", ("in", "part_of")), {"confidence": 0.9})])
    >>> for reason in explain(Search(encode_rules(rules, graph), Aggregation("binary")), "Lyon", "part_of", "Europe"):
    ...     print(reason)
    100%  part_of(X, Y) <- in(X, A), part_of(A, Y)  by Lyon - France - Europe
    """
    words = search.graph.vocabulary
    asked = words.entity_id(head), words.relation_id(relation)
    return Reasons(search, *asked).behind(words.entity_id(tail))


def check_triple(triple: Iterable[str]) -> tuple[str, str, str]:
    """Refuse what is not (head, relation, tail)."""
    if not isinstance(triple, (tuple, list)) or len(triple) != 3:
        raise InputError(
            f"A triple must be (head, relation, tail), such as ('Paris', 'capital_of', 'France'); got {triple!r}."
        )
    head, relation, tail = triple
    return head, relation, tail


class Reasons:
    """All that fired for one query, by ids; made once, and asked for any number of its answers."""

    def __init__(self, search: Search, head: int, relation: int) -> None:
        self.search, self.graph, self.head, self.relation = search, search.graph, head, relation
        graph, theory = self.graph, search.encoded.theory
        place = new_workplace(graph.n_entities, len(theory.traits.owner_offsets) - 1)
        open_relation(theory, relation, place.row_of)
        none = no_firings(place)
        # Nothing is hidden: the shares are those of the score that `answer` and `score` give.
        self._firings = fire(graph.stepped, graph.n_relations, theory, head, relation, -1, place, none)

    def fired_for(self, tail: int) -> Fired | None:
        """What fired for one answer, None where nothing did."""
        at = self._firings_of(tail)
        f, theory = self._firings, self.search.encoded.theory
        kinds = np.searchsorted(f.sizes[[N_CHAINS, N_TRAITS]], at, side="right")
        return Fired(theory.weights[f.rules[at]], f.paths[at].astype(np.float64), kinds) if len(at) else None

    def behind(self, tail: int, most: int | None = None) -> list[Explanation]:
        """Explain one answer by the rules with the largest shares, all of them or `most`."""
        fired, encoded = self.fired_for(tail), self.search.encoded
        if fired is None:
            return []
        rules = self._firings.rules[self._firings_of(tail)]
        shares = shares_of(fired, self.search.ways.how(self.relation))
        order = np.lexsort((encoded.rows[rules], -fired.weights, -shares))[:most]
        ways = Paths(self.graph, self.head, tail)
        found = []
        for i in order.tolist():
            rule = encoded.rules[int(encoded.rows[rules[i]])]
            if fired.kinds[i] == CHAIN:
                groundings = self._chains(int(rules[i]), ways, min(SHOWN_PATHS, int(fired.paths[i])))
            else:
                groundings = (self._trait(rule, tail, self.head if fired.kinds[i] == TRAIT_OF_HEAD else tail),)
            found.append(Explanation(rule, float(shares[i]), int(fired.paths[i]), groundings))
        return found

    def _firings_of(self, tail: int) -> NDArray[np.int64]:
        f = self._firings
        if f.slot_of[tail] < 0:
            return np.empty(0, np.int64)
        return np.flatnonzero(f.slots[: f.sizes[N_FIRINGS]] == f.slot_of[tail])

    def _chains(self, rule: int, ways: Paths, most: int) -> tuple[tuple[str, ...], ...]:
        """A few paths by name, in the order of the rule's own body, from X to Y."""
        encoded, entities = self.search.encoded, self.graph.vocabulary.entities
        body = encoded.theory.bodies[rule, : encoded.theory.lengths[rule]]
        paths = ways.along(tuple(body.tolist()), most)
        turn = -1 if encoded.turned[rule] else 1
        return tuple(tuple(entities.names_of(path[::turn]).to_list()) for path in paths)

    def _trait(self, scored: ScoredRule, tail: int, owner: int) -> tuple[str, str]:
        """q(X, c) <- s(X, d) is due to s(X, d); for any d, to one such fact, if possible not the one asked for."""
        words = self.graph.vocabulary
        if scored.rule.constants is not None and scored.rule.constants[1] is not None:
            return words.entity_name(owner), scored.rule.constants[1]
        step = words.relation_id(scored.rule.body[0])
        there = self.graph.tails(owner, step)
        for asked in ((self.head, self.relation, tail), (tail, self.graph.inverse(self.relation), self.head)):
            if (owner, step) == asked[:2] and len(there) > 1:
                there = there[there != asked[2]]
        return words.entity_name(owner), words.entity_name(int(there[0]))
