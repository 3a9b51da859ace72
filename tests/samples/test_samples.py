"""Samples against an exact enumeration of all walks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, Graph
from stablerule.errors import InputError, OptionError
from stablerule.paths.walks import SMALLEST, pack_body_key, unpack_body_keys
from stablerule.samples import RuleSamples, sample_rules
from tests.paths.plain import expected_samples
from tests.worlds import random_graph

WALKS = 200_000


def cells(samples: RuleSamples) -> dict[tuple[tuple[int, ...], int], int]:
    bodies = [tuple(r for r in body if r >= 0) for body in samples.bodies.tolist()]
    return {
        (bodies[b], h): c
        for b, h, c in zip(
            samples.cell_bodies.tolist(), samples.cell_heads.tolist(), samples.cell_counts.tolist(), strict=True
        )
    }


@pytest.mark.parametrize(("seed", "max_length", "min_length"), [(0, 3, 1), (1, 3, 2), (2, 4, 1), (3, 2, 1)])
def test_counts_are_what_chance_gives(seed: int, max_length: int, min_length: int) -> None:
    graph = random_graph(seed, entities=7, relations=2, count=9)
    found = cells(sample_rules(graph, WALKS, max_length=max_length, min_length=min_length, seed=seed))
    expected = expected_samples(graph, max_length, min_length)
    assert set(found) <= set(expected)
    for cell, chance in expected.items():
        mean = float(chance) * WALKS
        # Nothing that is likely enough may be missing or far off; six deviations leave luck no room.
        assert abs(found.get(cell, 0) - mean) <= 6 * np.sqrt(mean) + 1e-9 * mean + 3, cell


def test_nothing_explains_itself() -> None:
    graph = Dataset.from_names("pair", train=[("a", "r", "b"), ("b", "s", "a"), ("b", "r", "a")]).graph
    found = cells(sample_rules(graph, 1000))
    # r(a, b) is closed by ~r (from r(b, a)) and by ~s, never by itself; and no walk comes back over itself.
    assert {len(body) for body, _ in found} == {1}
    assert all(body[0] != head for body, head in found)


def test_same_seed_same_samples_whatever_the_threads() -> None:
    graph = random_graph(5, entities=40, relations=4, count=150)
    one, two, three = (sample_rules(graph, 100_000, seed=3, threads=n) for n in (1, 2, 5))
    for other in (two, three):
        assert np.array_equal(one.bodies, other.bodies)
        assert np.array_equal(one.cell_counts, other.cell_counts)
    assert not np.array_equal(one.cell_counts, sample_rules(graph, 100_000, seed=4).cell_counts)


def test_more_walks_are_the_same_walks_and_more() -> None:
    graph = random_graph(6)
    few, many = cells(sample_rules(graph, 5_000)), cells(sample_rules(graph, 20_000))
    assert all(many[cell] >= count for cell, count in few.items())


def test_the_table_of_counts_grows() -> None:
    graph = random_graph(7, entities=60, relations=12, count=400)
    samples = sample_rules(graph, 300_000)
    assert len(samples.cell_counts) > SMALLEST
    assert samples.n_samples == samples.totals.sum()


def test_without_backtracking_every_walk_gives_its_last_step_only() -> None:
    graph = random_graph(8, entities=30, relations=3, count=200)
    samples = sample_rules(graph, 30_000, backtracking=False)
    by_length = [int(samples.cell_counts[samples.of_length(n)].sum()) for n in (1, 2, 3)]
    closed = samples.cell_heads != samples.negative
    # Walks of each length in turn: none can give more than one NEG or one set of closing relations.
    assert samples.cell_counts[~closed].sum() + samples.cell_counts[closed].sum() == sum(by_length)
    assert samples.cell_counts[~closed & samples.of_length(1)].sum() <= 10_000
    assert all(by_length)


def test_negatives() -> None:
    graph = random_graph(9, entities=30, relations=3, count=60)
    by_kind = {kind: sample_rules(graph, 50_000, negatives=kind) for kind in ("open", "paper", "none")}
    negative = by_kind["open"].negative
    assert not (by_kind["none"].cell_heads == negative).any()
    paper = by_kind["paper"]
    neg = paper.cell_heads == negative
    assert set(paper.lengths[paper.cell_bodies[neg]]) == {3}
    assert paper.cell_counts[neg].sum() < by_kind["open"].cell_counts[by_kind["open"].cell_heads == negative].sum()
    positives = [s.cell_counts[s.cell_heads != negative].sum() for s in by_kind.values()]
    assert len(set(positives)) == 1


def test_a_split_deals_out_every_sample() -> None:
    samples = sample_rules(random_graph(10), 20_000)
    kept, held = samples.split(0.2, seed=1)
    assert np.array_equal(kept.cell_counts + held.cell_counts, samples.cell_counts)
    assert 0.18 < held.n_samples / samples.n_samples < 0.22
    assert np.array_equal(samples.split(0.2, seed=1)[1].cell_counts, held.cell_counts)


@settings(max_examples=200)
@given(st.integers(1, 40), st.data())
def test_bodies_and_keys_are_the_same_thing(relations: int, data: st.DataObject) -> None:
    body = st.lists(st.integers(0, 2 * relations - 1), min_size=1, max_size=5).map(tuple)
    bodies = data.draw(st.lists(body, min_size=1, max_size=20))
    keys = np.array([pack_body_key(b, relations) for b in bodies], np.uint64)
    back = [tuple(r for r in row if r >= 0) for row in unpack_body_keys(keys, relations, 5).tolist()]
    assert back == bodies
    by_key = [b for _, b in sorted(zip(keys.tolist(), bodies, strict=True))]
    assert by_key == sorted(bodies, key=lambda b: (len(b), b))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"walks": 0}, "'walks' must be at least 1, got 0"),
        ({"max_length": 6}, r"must be in 1\.\.5 and in order, got 1 and 6"),
        ({"min_length": 0}, r"must be in 1\.\.5"),
        ({"min_length": 3, "max_length": 2}, "in order, got 3 and 2"),
        ({"negatives": "some"}, "'negatives' must be one of open, paper, none, got 'some'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, int], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        sample_rules(random_graph(0), **{"walks": 10, **options})  # type: ignore[arg-type]


def test_too_many_relations_for_a_length() -> None:
    facts = [("a", f"r{i}", "b") for i in range(4000)]
    graph = Dataset.from_names("many", train=facts).graph
    with pytest.raises(OptionError, match="'max_length' must be at most 4 for 4,000 relations, got 5"):
        sample_rules(graph, 10, max_length=5)
    assert sample_rules(graph, 100, max_length=4).n_bodies > 0


def test_a_graph_without_facts() -> None:
    words = Dataset.from_names("x", train=[("a", "r", "b")])
    empty = Graph.build(words.test, words.vocabulary)
    with pytest.raises(InputError, match="no facts to sample from"):
        sample_rules(empty, 10)
