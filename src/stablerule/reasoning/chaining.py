"""Questions answered by forward chaining, the paper's appendix C: sum over rules of score * number of paths."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import OptionError
from stablerule.paths.following import follow
from stablerule.reasoning.answers import Answer, Explanation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.rules import RuleSet, ScoredRule

SHOWN_PATHS = 3


class Chaining:
    """The chain rules of a RuleSet on a graph, ready to be asked."""

    def __init__(self, rules: RuleSet, graph: Graph) -> None:
        self.graph = graph
        self.rules = rules.filter(kind="chains").per_relation()

    def scores(self, head: int, relation: str) -> tuple[Ids, NDArray[np.float64]]:
        """Return the entities that rules reach, sorted by id, with their scores."""
        bodies, weights = self._encoded(self._rules_of(relation))
        return follow(self.graph, head, bodies, weights)

    def answer(self, head: str, relation: str, k: int) -> list[Answer]:
        """Return the k best answers, the best first; equal scores stand in the order of names."""
        if k < 1:
            raise OptionError(f"Argument 'k' must be at least 1, got {k}.")
        words = self.graph.vocabulary
        words.relation_id(relation)
        entities, scores = self.scores(words.entity_id(head), relation)
        best = np.lexsort((entities, -scores))[:k]
        return [Answer(words.entity_name(int(entities[i])), float(scores[i])) for i in best]

    def score(self, head: str, relation: str, tail: str) -> float:
        """Return the score of one triple, 0 where no rule reaches the tail."""
        words = self.graph.vocabulary
        words.relation_id(relation)
        entities, scores = self.scores(words.entity_id(head), relation)
        at = np.searchsorted(entities, wanted := words.entity_id(tail))
        return float(scores[at]) if at < len(entities) and entities[at] == wanted else 0.0

    def explain(self, head: str, relation: str, tail: str) -> list[Explanation]:
        """Return the rules that fired for a triple, the largest share first."""
        words = self.graph.vocabulary
        words.relation_id(relation)
        start, end = words.entity_id(head), words.entity_id(tail)
        fired = []
        for rule in self._rules_of(relation):
            bodies, weights = self._encoded([rule])
            entities, scores = follow(self.graph, start, bodies, np.ones(1))
            at = np.searchsorted(entities, end)
            if at < len(entities) and entities[at] == end:
                fired.append((rule, bodies[0], int(scores[at]), float(weights[0]) * scores[at]))
        total = sum(part for *_, part in fired) or 1.0
        found = [
            Explanation(rule, part / total, paths, tuple(self._named(body, start, end)))
            for rule, body, paths, part in fired
        ]
        return sorted(found, key=lambda e: (-e.share, e.rule.rule))

    def _rules_of(self, relation: str) -> list[ScoredRule]:
        """Rules whose relations the graph has: another graph may lack some."""
        known = self.graph.vocabulary.relations
        rules = self.rules.get(relation, ())
        return [s for s in rules if all(step.removeprefix("~") in known for step in s.rule.body)]

    def _encoded(self, rules: list[ScoredRule]) -> tuple[Ids, NDArray[np.float64]]:
        longest = max((s.rule.length for s in rules), default=1)
        bodies = np.full((len(rules), longest), -1, np.int32)
        for row, scored in zip(bodies, rules, strict=True):
            row[: scored.rule.length] = [self.graph.vocabulary.relation_id(step) for step in scored.rule.body]
        weights = [s.score if s.score is not None else s.confidence or 0.0 for s in rules]
        return bodies, np.array(weights, dtype=np.float64)

    def _named(self, body: Ids, start: int, end: int) -> Iterator[tuple[str, ...]]:
        """Yield a few paths from start to end, by the names of their entities."""
        steps = [int(step) for step in body if step >= 0]

        def walk(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if len(path) == len(steps) + 1:
                if path[-1] == end:
                    yield path
                return
            for tail in self.graph.tails(path[-1], steps[len(path) - 1]).tolist():
                if tail not in path and (tail != end or len(path) == len(steps)):
                    yield from walk((*path, tail))

        for path in islice(walk((start,)), SHOWN_PATHS):
            yield tuple(self.graph.vocabulary.entity_name(entity) for entity in path)
