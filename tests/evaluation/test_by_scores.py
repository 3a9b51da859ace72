"""Models that only score, ranked as the protocol says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stablerule.errors import InputError, OptionError
from stablerule.evaluation import ByScores, Ranker, Ranks
from stablerule.evaluation.evaluation import _ask_both_directions
from stablerule.graph import Dataset, Graph, Triples
from tests.evaluation.plain import plain_band, plain_known
from tests.evaluation.worlds import dataset_of, table_model, worlds


def rank(model: ByScores, dataset: Dataset, queries: Triples | None = None) -> Ranks:
    known = Graph.build(dataset.everything, dataset.vocabulary)
    queries = queries if queries is not None else _ask_both_directions(dataset.test, dataset)
    return model.rank(queries, graph=dataset.graph, known=known)


@given(worlds(), st.sampled_from([None, 1, 2, 7]), st.sampled_from([None, 0.0, -2.0, float("-inf"), 1]))
def test_every_column_is_what_a_plain_loop_gives(
    world: tuple[Dataset, NDArray[Any]], batch_size: int | None, floor: float | None
) -> None:
    dataset, scores = world
    queries = _ask_both_directions(dataset.test, dataset)
    found = rank(table_model(scores, floor, batch_size), dataset, queries)
    facts = [tuple(row) for row in dataset.everything.rows.tolist()]
    relations = len(dataset.vocabulary.relations)
    for i, (head, relation, answer) in enumerate(queries.rows.tolist()):
        row = scores[head, relation].tolist()
        known = plain_known(facts, head, relation, relations)
        above = {e for e, s in enumerate(row) if floor is None or s > floor} - (known - {answer})
        assert (found.best[i], found.worst[i]) == plain_band(row, answer, known)
        assert found.covered[i] == (answer in above)
        assert found.candidates[i] == len(above)


@given(worlds(), st.integers(0, 1000))
def test_the_order_of_queries_and_the_names_of_entities_do_not_matter(
    world: tuple[Dataset, NDArray[Any]], seed: int
) -> None:
    dataset, scores = world
    rng = np.random.default_rng(seed)
    place = rng.permutation(len(dataset.vocabulary.entities))
    moved = np.empty_like(scores)
    moved[place[:, None, None], np.arange(scores.shape[1])[:, None], place] = scores
    renamed = {
        name: np.array([[place[h], r, place[t]] for h, r, t in part.rows]) for name, part in dataset.splits.items()
    }
    other = dataset_of(len(place), len(dataset.vocabulary.relations), **renamed)
    before, after = rank(table_model(scores, 0.0), dataset), rank(table_model(moved, 0.0), other)
    for name in ("best", "worst", "covered", "candidates"):
        assert getattr(before, name).tolist() == getattr(after, name).tolist()
    order = rng.permutation(len(before))
    shuffled = rank(table_model(scores, 0.0), dataset, _ask_both_directions(dataset.test, dataset).take(order))
    assert shuffled.worst.tolist() == before.worst[order].tolist()


def test_filtering_only_helps() -> None:
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(n, size=60) for n in (8, 2, 8)], 1)
    dataset = dataset_of(8, 2, train=rows[:40], test=rows[40:])
    model = table_model(rng.integers(3, size=(8, 4, 8)))
    queries = _ask_both_directions(dataset.test, dataset)
    nothing = Graph.build(Triples.empty(), dataset.vocabulary)
    filtered, raw = rank(model, dataset), model.rank(queries, graph=dataset.graph, known=nothing)
    assert (filtered.best <= raw.best).all()
    assert (filtered.worst <= raw.worst).all()
    assert (filtered.worst < raw.worst).any()


def test_each_pair_is_scored_once_and_batches_are_bounded() -> None:
    seen: list[tuple[int, int]] = []

    def score(heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float32]:
        assert len(heads) <= 2
        assert heads.dtype == relations.dtype == np.int64
        heads += 0  # a model may do with its arguments as it likes
        seen.extend(zip(heads.tolist(), relations.tolist(), strict=True))
        return np.zeros((len(heads), 4), np.float32)

    dataset = dataset_of(4, 1, train=[[0, 0, 1]], test=[[0, 0, 2], [0, 0, 3], [1, 0, 3], [2, 0, 3]])
    ranks = rank(ByScores(score, batch_size=2), dataset)
    assert len(seen) == len(set(seen)) == 5
    # (0, r, ?) has the answers 1, 2 and 3: only 0 itself is a rival.
    assert ranks.worst.tolist() == [2, 2, 4, 4, 4, 2, 2, 2]


def test_it_says_its_name_and_is_a_ranker() -> None:
    def my_model(heads: NDArray[np.int64], relations: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.zeros((len(heads), len(relations)))

    assert repr(ByScores(my_model)) == "ByScores('my_model')"
    assert isinstance(ByScores(my_model), Ranker)
    assert ByScores(my_model, name="other").method == "other"


TINY = dataset_of(3, 1, train=[[0, 0, 1]], test=[[1, 0, 2]])


def broken(value: Any) -> ByScores:
    return ByScores(lambda heads, relations: value, name="odd")


def test_nan_names_the_query_and_the_entity() -> None:
    scores = np.zeros((3, 2, 3))
    scores[2, 1, 0] = np.nan
    with pytest.raises(InputError, match=r"'table' gave NaN to entity 'e0000' for the query \('e0002', '~r0000', \?\)"):
        rank(table_model(scores), TINY)


def test_tensors_are_arrays_unless_numpy_can_not_have_them() -> None:
    torch = pytest.importorskip("torch")
    assert rank(broken(torch.zeros(2, 3)), TINY).worst.tolist() == [3, 3]
    for tensor in (torch.zeros(2, 3, requires_grad=True), torch.zeros(2, 3, dtype=torch.bfloat16)):
        with pytest.raises(InputError, match=r"got Tensor \(.*\). Return tensor.detach\(\).cpu\(\), and"):
            rank(broken(tensor), TINY)
        assert rank(broken(tensor.detach().cpu().float()), TINY).worst.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.zeros((1, 3)), r"scores of 'odd' must be of shape \(2, 3\).*got \(1, 3\)"),
        (np.zeros((2, 4)), r"a column for each of 3 entities; got \(2, 4\)"),
        (np.zeros(3), "must be of shape"),
        (None, "must be an array of numbers, got object"),
        (np.array([["a", "b", "c"]] * 2), "must be an array of numbers"),
        ([[1, 2, 3], [1, 2]], "must be an array of numbers, got list"),
    ],
)
def test_scores_of_another_kind_or_shape_are_refused(value: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rank(broken(value), TINY)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"floor": float("nan")}, "'floor' of ByScores must be a number or None"),
        ({"floor": "low"}, "'floor' of ByScores must be a number or None, got 'low'"),
        ({"batch_size": 0}, "'batch_size' of ByScores must be at least 1 or None, got 0"),
        ({"batch_size": 1.5}, "'batch_size' of ByScores"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        rank(ByScores(lambda heads, relations: np.zeros((2, 3)), **options), TINY)
    with pytest.raises(OptionError, match="'score' of ByScores must be a function, got 3"):
        rank(ByScores(3), TINY)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [[3, 0, 0], [0, 2, 0], [0, 0, 3], [-1, 0, 0], [0, -1, 0]])
def test_ids_that_the_graph_does_not_have_are_refused(row: list[int]) -> None:
    with pytest.raises(InputError, match="id must be in"):
        rank(broken(np.zeros((1, 3))), TINY, Triples(np.array([row])))


def test_no_queries_no_ranks() -> None:
    assert len(rank(broken(None), TINY, Triples.empty())) == 0
