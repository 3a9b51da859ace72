"""Walks along bodies, entities repeated or not."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Graph, RuleSet
from stablerule.graph import Dataset
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules
from stablerule_lab.experiments.by_walks import ByWalks

RELATIONS = ("r0", "r1", "r2")


def graph_of(edges: list[tuple[int, int, int]]) -> Graph:
    facts = [(f"e{head}", RELATIONS[relation], f"e{tail}") for head, relation, tail in edges]
    named = [(f"e{i}", "other", f"e{i + 1}") for i in range(6)]  # so that all entities are there
    return Dataset.from_names(
        "walks", train=[*facts, *named, *((f"e{i}", r, "e0") for i, r in enumerate(RELATIONS))]
    ).graph


def rules_of(bodies: list[tuple[str, ...]], scores: list[float]) -> RuleSet:
    frame = pl.DataFrame({"head_relation": ["r0"] * len(bodies), "body": [list(b) for b in bodies], "score": scores})
    return RuleSet.from_frame(frame)


EDGE = st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 6))
UPWARDS = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 6)).map(
    lambda edge: (min(edge[0], edge[2] - 1), edge[1], edge[2])
)
BODY = st.lists(st.sampled_from([*RELATIONS, *(f"~{name}" for name in RELATIONS)]), min_size=1, max_size=3).map(tuple)


@settings(max_examples=40, deadline=None)
@given(edges=st.lists(EDGE, max_size=20), bodies=st.lists(BODY, min_size=1, max_size=5, unique=True))
def test_scores_are_products_of_matrices(edges: list[tuple[int, int, int]], bodies: list[tuple[str, ...]]) -> None:
    graph = graph_of(edges)
    scores = np.linspace(0.1, 0.9, len(bodies)).tolist()
    words, n = graph.vocabulary, graph.n_entities
    matrices = {}
    for relation in range(2 * graph.n_relations):
        dense = np.zeros((n, n))
        dense[graph.facts(relation)] = 1
        matrices[words.relation_name(relation)] = dense
    expected = np.zeros((n, n))
    for body, score in zip(bodies, scores, strict=True):
        expected += score * np.linalg.multi_dot([np.eye(n), *(matrices[name] for name in body), np.eye(n)])
    found = ByWalks(rules_of(bodies, scores), graph).score(np.arange(n), np.full(n, words.relation_id("r0")))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(edges=st.lists(UPWARDS, min_size=3, max_size=20))
def test_where_no_walk_can_return_ranks_are_those_of_paths_before_ties_are_ordered(
    edges: list[tuple[int, int, int]],
) -> None:
    """Edges go upwards only, and bodies along them, so no walk passes an entity twice.

    The package orders what rules leave equal by how frequent it is; walks leave it tied.
    """
    facts = [(f"e{head}", RELATIONS[relation], f"e{tail}") for head, relation, tail in edges]
    graph = Dataset.from_names("up", train=[*facts, ("e0", "r0", "e1"), ("e0", "r1", "e1"), ("e0", "r2", "e1")]).graph
    rules = rules_of([("r1",), ("r1", "r2"), ("r1", "r2", "r1"), ("r2", "r2")], [0.8, 0.5, 0.25, 0.125])
    facts_of_r0 = graph.triples.take(np.flatnonzero(graph.triples.relations == graph.vocabulary.relation_id("r0")))
    plain = RuleSearcher(encode_rules(rules, graph, "score"), Aggregation("count", by="score"))
    expected = plain.rank(facts_of_r0.heads, facts_of_r0.relations, facts_of_r0.tails, graph)
    found = ByWalks(rules, graph).rank(facts_of_r0, graph=graph, known=graph)
    assert (found.best <= expected.best).all()
    assert (expected.worst <= found.worst).all()
    np.testing.assert_array_equal(found.covered, expected.covered)
    scores = ByWalks(rules, graph).score(facts_of_r0.heads.astype(np.int64), facts_of_r0.relations.astype(np.int64))
    own = scores[np.arange(len(scores)), facts_of_r0.tails]
    tied = found.worst - found.best  # others with the very same score
    assert (tied <= (scores == own[:, None]).sum(1) - 1).all()


@settings(max_examples=25, deadline=None)
@given(edges=st.lists(UPWARDS, min_size=3, max_size=20))
def test_where_no_walk_can_return_ordered_ranks_are_those_of_paths(edges: list[tuple[int, int, int]]) -> None:
    facts = [(f"e{head}", RELATIONS[relation], f"e{tail}") for head, relation, tail in edges]
    seen = [*facts, ("e0", "r0", "e1"), ("e0", "r1", "e1"), ("e0", "r2", "e1")]
    words = {name for head, _, tail in seen for name in (head, tail)}
    asked = [(head, "r0", tail) for head in sorted(words) for tail in sorted(words) if (head, "r0", tail) not in seen]
    data = Dataset.from_names("up", train=seen, test=[fact for fact in asked if fact[0] != fact[2]])
    rules = rules_of([("r1",), ("r1", "r2"), ("r1", "r2", "r1"), ("r2", "r2")], [1.0, 0.5, 0.25, 0.125])
    test = data.test
    plain = RuleSearcher(encode_rules(rules, data.graph, "score"), Aggregation("count", by="score"))
    expected = plain.rank(test.heads, test.relations, test.tails, data.graph)
    found = ByWalks(rules, data.graph, ordered=True).rank(test, graph=data.graph, known=data.graph)
    np.testing.assert_array_equal(found.best, expected.best)
    np.testing.assert_array_equal(found.worst, expected.worst)
    np.testing.assert_array_equal(found.covered, expected.covered)
