"""Samples from some facts as examples, against the same walks taken one by one in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Graph, Triples
from stablerule.paths.withheld import ExampleFacts
from stablerule.samples import RuleSamples, sample_rules
from tests.paths.plain import Cell, edges
from tests.paths.withholding import some_facts, withheld_of
from tests.worlds import random_graph

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(state: int) -> int:
    z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


class Stream:
    """The random numbers of one walk."""

    def __init__(self, seed: int, walk: int) -> None:
        self.state = mix((seed * GOLDEN + walk + 1) % WORD)

    def below(self, size: int) -> int:
        self.state = (self.state + GOLDEN) % WORD
        return ((mix(self.state) >> 32) * size) >> 32


def plain_walks(
    graph: Graph,
    walks: int,
    examples: Triples,
    *,
    max_length: int = 3,
    min_length: int = 1,
    backtracking: bool = True,
    negatives: str = "open",
    seed: int = 0,
) -> Counter[Cell]:
    withheld, negative = withheld_of(graph, examples), 2 * graph.n_relations
    rows = sorted({(r, h, t) for h, r, t in examples.rows.tolist()})
    starts: dict[int, list[int]] = {}
    for relation, head, tail in rows:
        starts.setdefault(relation, []).append(head)
        starts.setdefault(relation + graph.n_relations, []).append(tail)
    anchors, found = sorted(starts), Counter[Cell]()
    for walk in range(walks):
        random, anchor = Stream(seed, walk), anchors[walk % len(anchors)]
        path = [starts[anchor][random.below(len(starts[anchor]))]]
        body: tuple[int, ...] = ()
        turn = (walk // len(anchors)) % (max_length - min_length + 1)
        target = max_length if backtracking else min_length + turn
        ever_closed = False
        for length in range(1, target + 1):
            steps = edges(graph, path[-1])
            step, here = steps[random.below(len(steps))]
            if here in path:
                break
            path.append(here)
            body = (*body, step)
            if length < min_length or (not backtracking and length < target):
                continue
            closing = set(graph.relations_between(path[0], here).tolist()) - ({step} if length == 1 else set())
            found.update((body, head) for head in closing if (path[0], head, here) not in withheld)
            ever_closed |= bool(closing)
            last = length == target and not ever_closed
            if not closing and (negatives == "open" or (negatives == "paper" and last)):
                found[body, negative] += 1
    return found


def cells(samples: RuleSamples) -> dict[Cell, int]:
    bodies = [tuple(r for r in body if r >= 0) for body in samples.bodies.tolist()]
    columns = samples.cell_bodies.tolist(), samples.cell_heads.tolist(), samples.cell_counts.tolist()
    return {(bodies[body], head): count for body, head, count in zip(*columns, strict=True)}


options = st.fixed_dictionaries(
    {
        "max_length": st.integers(2, 4),
        "min_length": st.integers(1, 2),
        "backtracking": st.booleans(),
        "negatives": st.sampled_from(["open", "paper", "none"]),
        "seed": st.integers(0, 2**40),
    }
)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 0.9, 1.0]), options)
def test_the_same_walks_one_by_one(seed: int, share: float, options: dict[str, Any]) -> None:
    graph = random_graph(seed, entities=8, relations=2, count=20)
    some = some_facts(graph, seed, share)
    found = sample_rules(graph, 400, examples=ExampleFacts.of(graph, some), **options)
    assert cells(found) == plain_walks(graph, 400, some, **options)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(["open", "paper", "none"]))
def test_from_the_same_anchors_only_withheld_closings_are_missing(seed: int, negatives: Any) -> None:
    graph = random_graph(seed, entities=8, relations=3, count=26)
    relation = int(graph.triples.relations[0])
    others = graph.triples.take(graph.triples.relations != relation)
    limited = ExampleFacts.of(graph, others)
    samples = [
        sample_rules(graph, 3000, examples=ExampleFacts(graph, withheld), negatives=negatives)
        for withheld in (np.zeros(0, np.bool_), limited.withheld)
    ]
    whole, fewer = map(cells, samples)
    pair = relation, relation + graph.n_relations
    # A path that only the withheld relation closes is not open: the count of NEG stays what it was.
    assert fewer == {cell: count for cell, count in whole.items() if cell[1] not in pair}


@pytest.mark.parametrize("threads", [1, 3])
def test_withholding_nothing_changes_no_sample(threads: int) -> None:
    graph = random_graph(5, entities=40, relations=4, count=150)
    nothing = ExampleFacts(graph, np.zeros(2 * graph.n_facts, np.bool_))
    plain, same = (sample_rules(graph, 50_000, examples=e, threads=threads) for e in (None, nothing))
    assert cells(plain) == cells(same)


def test_walks_begin_from_examples_of_every_relation_alike() -> None:
    graph = random_graph(1, entities=30, relations=3, count=150)
    facts = graph.triples
    some = facts.take(np.flatnonzero(facts.relations != 1)[::4])
    samples = sample_rules(graph, 20_000, max_length=1, examples=ExampleFacts.of(graph, some))
    begins = {head for head, relation, _ in some.rows.tolist()} | {tail for *_, tail in some.rows.tolist()}
    possible = {relation for entity in begins for relation, _ in edges(graph, entity)}
    assert set(samples.bodies[:, 0].tolist()) <= possible
    assert set(samples.cell_heads.tolist()) <= {0, 2, 3, 5, samples.negative}
