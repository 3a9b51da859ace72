"""Path signatures, and what is left of them after they are made shorter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from stablerule import Dataset
from stablerule.shifts import make_path_signatures
from stablerule.shifts import signatures as signatures_module
from stablerule.shifts.signatures import reduce_signatures
from tests.worlds import Fact, fact_lists

FAMILY = [
    ("ann", "parent_of", "bob"),
    ("ann", "parent_of", "bea"),
    ("bob", "parent_of", "cid"),
    ("bea", "parent_of", "cid"),
    ("ann", "grandparent_of", "cid"),
]


def test_counts_by_body_name() -> None:
    graph = Dataset.from_names("family", train=FAMILY).graph
    found = make_path_signatures(graph.triples, graph)
    assert repr(found) == f"Signatures(5 facts, {len(found.bodies)} bodies)"
    row = graph.vocabulary.decode(graph.triples)["relation"].to_list().index("grandparent_of")
    named = {found.body_name(column): int(found.counts[row, column]) for column in range(len(found.bodies))}
    assert {body: n for body, n in named.items() if n} == {"parent_of, parent_of": 2}
    assert found.linked[row].sum() == 1
    assert found.features[row].sum() == pytest.approx(np.log(3))
    assert found.density[row] == pytest.approx(np.log(3) / len(found.bodies))
    some = found.take(np.array([row, row]))
    assert len(some) == 2
    assert some.counts.toarray().tolist() == found.counts[[row, row]].toarray().tolist()


def test_facts_that_the_graph_does_not_have_and_shorter_paths() -> None:
    dataset = Dataset.from_names("family", train=FAMILY[:4], test=[FAMILY[4], ("cid", "likes", "dan")])
    found = make_path_signatures(dataset.test, dataset.graph)
    assert found.counts.sum(1).ravel().tolist() == [[2, 0]]
    assert len(make_path_signatures(dataset.test, dataset.graph, max_length=1).bodies) == 0


def test_no_path_at_all() -> None:
    dataset = Dataset.from_names("apart", train=[("a", "r", "b")], test=[("c", "r", "d"), ("d", "r", "c")])
    found = make_path_signatures(dataset.test, dataset.graph)
    assert found.counts.shape == (2, 0)
    assert found.density.tolist() == [0, 0]
    assert reduce_signatures(found.features).tolist() == [[0], [0]]


@settings(max_examples=30)
@given(fact_lists)
def test_the_other_way_round_has_the_same_paths_turned(facts: list[Fact]) -> None:
    graph = Dataset.from_names("any", train=facts).graph
    forth = make_path_signatures(graph.triples, graph)
    rows = graph.triples.rows[:, ::-1].copy()
    rows[:, 1] += graph.n_relations
    back = make_path_signatures(type(graph.triples)(rows), graph)
    assert forth.counts.sum(1).tolist() == back.counts.sum(1).tolist()
    np.testing.assert_allclose(forth.density, back.density)


def products(points: Any) -> Any:
    points = points.toarray() if sparse.issparse(points) else points
    return points @ points.T


@pytest.mark.parametrize(("rows", "columns"), [(6, 40), (20, 5), (60, 200)])
def test_reduced_signatures_keep_products_where_all_directions_are_kept(rows: int, columns: int) -> None:
    features = sparse.random(rows, columns, 0.2, random_state=np.random.default_rng(0), format="csr")
    reduced = reduce_signatures(features, size=64)
    assert reduced.shape[1] <= min(rows, columns)
    np.testing.assert_allclose(products(reduced), products(features), atol=1e-9)


def test_a_truncated_one_is_the_best_of_its_size() -> None:
    features = sparse.random(200, 300, 0.1, random_state=np.random.default_rng(1), format="csr")
    reduced = reduce_signatures(features, size=4)
    strengths = np.linalg.svd(features.toarray(), compute_uv=False)
    assert reduced.shape == (200, 4)
    np.testing.assert_allclose(np.sort(np.linalg.norm(reduced, axis=0))[::-1], strengths[:4])


def test_the_same_seed_gives_the_same_and_so_do_some_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    base = sparse.random(3, 50, 0.5, random_state=np.random.default_rng(2), format="csr")
    features = sparse.vstack([base] * 70).tocsr()  # three kinds of rows
    np.testing.assert_array_equal(reduce_signatures(features, 8, seed=5), reduce_signatures(features, 8, seed=5))
    monkeypatch.setattr(signatures_module, "MOST_DECOMPOSED", 50)
    np.testing.assert_allclose(products(reduce_signatures(features, 8)), products(features), atol=1e-9)


@pytest.mark.parametrize("columns", [0, 7])
@pytest.mark.parametrize("rows", [3, 200])
def test_rows_without_any_path_are_all_alike(rows: int, columns: int) -> None:
    assert reduce_signatures(sparse.csr_matrix((rows, columns))).tolist() == [[0]] * rows
