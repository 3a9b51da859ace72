"""Rules applied one by one, as one reads them, and answers put in order by sorting."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from stablerule import Graph, Rule, RuleSet
from stablerule.reasoning.scoring.evidence import BEST, COLUMNS, KINDS, LEAST
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import CERTAIN
from tests.paths.plain import reached


class Fired(NamedTuple):
    """One rule for one candidate: the kind of reason it is, its weight, by how many paths."""

    kind: str
    weight: float
    paths: int


class Band(NamedTuple):
    best: int
    worst: int
    covered: bool
    candidates: int


class Plain:
    """What `RuleSearcher` does, slowly."""

    def __init__(self, graph: Graph, rules: RuleSet, way: Aggregation) -> None:
        self.graph, self.way = graph, way
        self.relations = [graph.vocabulary.relation_name(r) for r in range(2 * graph.n_relations)]
        self.entities = list(graph.vocabulary.entities)
        numbers = [(s.rule, s.score if way.by == "score" else s.confidence) for s in rules]
        self.rules = [(rule, min(weight or 0.0, CERTAIN)) for rule, weight in numbers if self._known(rule)]
        self.concluded = {rule.head_relation for rule, _ in self.rules if rule.constants is None}

    def _known(self, rule: Rule) -> bool:
        names = [name for name in rule.constants or () if name is not None]
        return {rule.head_relation, *rule.body} <= {*self.relations} and {*names} <= {*self.entities}

    def fired(self, head: int, relation: int) -> dict[int, list[Fired]]:
        """Which rules fire for (head, relation, ?), by candidate."""
        found: defaultdict[int, list[Fired]] = defaultdict(list)
        asked, back = self.relations[relation], self.relations[self.graph.inverse(relation)]
        for rule, weight in self.rules:
            if rule.constants is not None:
                constant = self.entities.index(rule.constants[0])
                if rule.head_relation == asked and self._holds(rule, head):
                    found[constant].append(Fired(KINDS[1], weight, 1))
                if rule.head_relation == back and constant == head:
                    for entity in range(len(self.entities)):
                        if self._holds(rule, entity):
                            found[entity].append(Fired(KINDS[2], weight, 1))
                continue
            body = tuple(self.relations.index(name) for name in rule.body)
            ends: Counter[int] = Counter()
            if rule.head_relation == asked:
                ends = reached(self.graph, head, body)
            elif rule.head_relation == back and asked not in self.concluded:
                ends = Counter({e: reached(self.graph, e, body)[head] for e in range(len(self.entities))})
            for entity, paths in ends.items():
                if paths:
                    found[entity].append(Fired(KINDS[0], weight, paths))
        return dict(found)

    def _holds(self, rule: Rule, entity: int) -> bool:
        assert rule.constants is not None
        tails = self.graph.tails(entity, self.relations.index(rule.body[0])).tolist()
        return bool(tails) if rule.constants[1] is None else self.entities.index(rule.constants[1]) in tails

    def popularity(self, relation: int) -> Counter[int]:
        return Counter(self.graph.facts(relation)[1].tolist())

    def value(self, fired: list[Fired], entity: int, relation: int) -> float:
        """What is shown as the score."""
        weights = sorted((f.weight for f in fired), reverse=True)
        match self.way.name:
            case "count":
                return math.fsum(f.weight * f.paths for f in fired)
            case "log_count":
                return math.fsum(f.weight * math.log1p(f.paths) for f in fired)
            case "binary":
                return math.fsum(weights)
            case "noisy_or":
                return 1 - math.prod(1 - w for w in weights[: self.way.top or None])
            case "max_plus":
                return weights[0]
            case _:
                own = self.way.weights.get(self.relations[relation], self.way.weights["*"])
                return 1 / (1 + math.exp(-float(np.dot(own, self.evidence(fired, entity, relation)))))

    def evidence(self, fired: list[Fired], entity: int, relation: int) -> list[float]:
        """(columns,): what `learned` weighs."""
        row: dict[str, float] = {}
        for kind in KINDS:
            weights = sorted((f.weight for f in fired if f.kind == kind), reverse=True)
            row[f"{kind}: together"] = -math.fsum(math.log1p(-w) for w in weights)
            for i in range(BEST):
                row[f"{kind}: best {i + 1}"] = weights[i] if i < len(weights) else 0.0
            best = max(row[f"{kind}: best 1"], LEAST)
            row[f"log odds {kind}: best 1"] = math.log(best / (1 - best))
        chains = [f for f in fired if f.kind == KINDS[0]]
        row["chains: weighted paths"] = math.fsum(f.weight * f.paths for f in chains)
        row["chains: weighted log paths"] = math.fsum(f.weight * math.log1p(f.paths) for f in chains)
        row["log facts with this tail"] = math.log1p(self.popularity(relation)[entity])
        row["one"] = 1.0
        row["log edges"] = math.log1p(int(self.graph.degrees[entity]))
        return [row[name] if name in row else math.log1p(row[name.removeprefix("log ")]) for name in COLUMNS]

    def order(self, head: int, relation: int) -> dict[int, tuple[bool, list[float], int]]:
        """For each entity, what it is sorted by: whether a rule reaches it, what the rules say, popularity."""
        fired, popularity = self.fired(head, relation), self.popularity(relation)

        def says(entity: int) -> list[float]:
            here = fired.get(entity, [])
            weights = sorted((f.weight for f in here), reverse=True)
            if not here or self.way.name == "max_plus":
                return weights
            if self.way.name == "noisy_or":  # one minus a product of many is 1 too early
                return [round(-math.fsum(math.log1p(-w) for w in weights[: self.way.top or None]), 9)]
            return [round(self.value(here, entity, relation), 9)]

        return {e: (e in fired, says(e), popularity[e]) for e in range(len(self.entities))}

    def band(self, head: int, relation: int, answer: int, known: Graph) -> Band:
        order = self.order(head, relation)
        left_out = {*known.tails(head, relation).tolist()} - {answer}
        keys = [key for entity, key in order.items() if entity not in left_out and entity != answer]
        own = order[answer]
        best = 1 + sum(key > own for key in keys)
        return Band(best, best + sum(key == own for key in keys), own[0], sum(key[0] for key in [*keys, own]))

    def answers(self, head: int, relation: int, k: int, left_out: set[int]) -> list[tuple[int, float]]:
        """The k best candidates with their scores; of equal ones the lower id. Without a loop, nobody is its own."""
        order, fired = self.order(head, relation), self.fired(head, relation)
        loops = any(h == t for h, t in zip(*self.graph.facts(relation), strict=True))
        by_id = sorted(fired.keys() - left_out - (set() if loops else {head}))
        best = sorted(by_id, key=lambda entity: order[entity], reverse=True)[:k]  # a reversed sort is stable too
        return [(entity, self.value(fired[entity], entity, relation)) for entity in best]


def random_rules(graph: Graph, seed: int, *, steps: int = 0, both: bool = True, chains: int = 40) -> RuleSet:
    """Chains up to length 5 and rules with constants for the relations of a graph.

    steps: confidences are multiples of 1 / steps, so that many are equal and sums are exact; 0: any number. both: rules
    for inverses too.
    """
    rng = np.random.default_rng(seed)
    relations = [graph.vocabulary.relation_name(r) for r in range(2 * graph.n_relations)]
    entities = list(graph.vocabulary.entities)

    def one(names: list[str]) -> str:
        return names[int(rng.integers(len(names)))]

    def head() -> str:
        return one(relations if both else relations[: graph.n_relations])

    rules = {Rule(head(), tuple(one(relations) for _ in range(rng.integers(1, 6)))) for _ in range(chains)}
    for _ in range(60):
        rules.add(Rule(head(), (one(relations),), (one(entities), None if rng.random() < 0.3 else one(entities))))
    draw = [rng.integers(1, steps) / steps if steps else rng.random() for _ in rules]
    return RuleSet([(r, {"confidence": float(c)}) for r, c in zip(sorted(rules), draw, strict=True)])
