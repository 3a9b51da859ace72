"""A whole evaluation, held against one that is read plainly from the protocol."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from stablerule import Tabular
from stablerule.datasets import newsroom
from stablerule.errors import InputError, OptionError
from stablerule.evaluation import Evaluation, Ranks, evaluate
from stablerule.evaluation.metrics import METRICS
from stablerule.graph import Dataset, Graph, Triples
from stablerule.reasoning.ranks import FORMS
from stablerule.reasoning.scoring.score import Aggregation
from tests.evaluation.plain import Row, plain_evaluation, plain_metrics, plain_queries
from tests.evaluation.worlds import dataset_of, table_model, worlds

EVALUATE = import_module("stablerule.evaluation.evaluation")  # the package's name is the function


def rows_of(triples: Triples) -> list[Row]:
    return [(h, r, t) for h, r, t in triples.rows.tolist()]


@given(worlds())
def test_all_figures_are_those_of_the_plain_evaluator(world: tuple[Dataset, NDArray[Any]]) -> None:
    dataset, scores = world
    relations = len(dataset.vocabulary.relations)
    test, facts = rows_of(dataset.test), rows_of(dataset.everything)
    bands = plain_evaluation(lambda head, relation: scores[head, relation].tolist(), test, facts, relations)
    queries = plain_queries(test, relations)
    found = evaluate(table_model(scores, floor=0.0), dataset, resamples=2)
    assert found.queries.rows.tolist() == [list(query) for query in queries]
    assert found.n == len(bands)
    half = len(bands) // 2
    degree = {e: sum((h == e) + (t == e) for h, _, t in set(rows_of(dataset.train))) for e in range(len(scores))}
    for form in FORMS:
        assert found.figures(form).metrics == pytest.approx(plain_metrics(bands, form))
        directions = found.by_direction(form)
        assert directions["tail"].metrics == pytest.approx(plain_metrics(bands[:half], form))
        assert directions["head"].metrics == pytest.approx(plain_metrics(bands[half:], form))
        for name, figures in found.by_relation(form).items():
            relation = dataset.vocabulary.relation_id(name)
            some = [band for band, (_, r, _) in zip(bands, queries, strict=True) if r % relations == relation]
            assert figures.n == len(some)
            assert figures.metrics == pytest.approx(plain_metrics(some, form))
        for name, low, high in (("0", 0, 0), ("1-3", 1, 3), ("4-10", 4, 10), ("11-30", 11, 30)):
            some = [band for band, (h, _, _) in zip(bands, queries, strict=True) if low <= degree[h] <= high]
            assert (name in found.by_degree(form)) == bool(some)
            if some:
                assert found.by_degree(form)[name].metrics == pytest.approx(plain_metrics(some, form))
    assert sum(figures.n for figures in found.by_relation().values()) == found.n
    assert sum(figures.n for figures in found.by_degree().values()) == found.n


class Remembers:
    """Gives every answer the first rank, and keeps what it was asked."""

    def __init__(self) -> None:
        self.parts: list[Triples] = []
        self.graphs: set[int] = set()

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        self.parts.append(queries)
        self.graphs.add(graph.n_facts)
        self.known = known
        ones = np.ones(len(queries), np.int64)
        # The rank tells which query it belongs to, so that a mix-up shows.
        return Ranks(ones + queries.heads, ones + queries.heads + queries.tails, ones > 0, ones)


DATASET = dataset_of(
    6,
    2,
    train=[[0, 0, 1], [1, 0, 2], [0, 1, 2]],
    valid=[[2, 1, 3]],
    test=[[3, 1, 4], [0, 0, 2], [3, 1, 4], [5, 0, 0]],
)


def test_a_model_gets_the_graph_that_was_asked_for_and_all_facts_as_known() -> None:
    model = Remembers()
    evaluate(model, DATASET)
    assert model.graphs == {3}
    assert model.known.n_facts == 7
    evaluate(model, DATASET, graph="train+valid")
    assert model.graphs == {3, 4}


def test_parts_are_put_together_in_the_order_of_the_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EVALUATE, "SMALLEST_PART", 1)
    monkeypatch.setattr(EVALUATE, "PARTS", 4)
    model = Remembers()
    found = evaluate(model, DATASET)
    assert [len(part) for part in model.parts] == [2, 2, 2]
    assert found.ranks.best.tolist() == (1 + found.queries.heads).tolist()
    asked = Triples.concat(*model.parts)
    keys = list(zip(asked.relations.tolist(), asked.heads.tolist(), strict=True))
    assert keys == sorted(keys)


def test_a_repeated_fact_counts_once_and_unseen_entities_count() -> None:
    found = evaluate(Remembers(), DATASET)
    assert found.n == 6
    assert found.queries.rows[:3].tolist() == [[3, 1, 4], [0, 0, 2], [5, 0, 0]]
    assert found.queries.rows[3:].tolist() == [[4, 3, 3], [2, 2, 0], [0, 2, 5]]
    assert found.by_degree()["0"].n == 3  # 3, 4 and 5 are not in train
    assert found.by_degree()["1-3"].n == 3
    assert evaluate(Remembers(), DATASET, graph="train+valid").by_degree()["0"].n == 2


def test_other_splits_and_facts_that_the_graph_has() -> None:
    assert evaluate(Remembers(), DATASET).in_graph == 0
    assert evaluate(Remembers(), DATASET, split="valid").n == 2
    assert evaluate(Remembers(), DATASET, split="train").in_graph == 3
    assert evaluate(Remembers(), DATASET, split="valid", graph="train+valid").in_graph == 1


def test_degree_buckets() -> None:
    star = [[0, 0, tail] for tail in range(1, 102)]
    for facts, name in ((1, "1-3"), (3, "1-3"), (4, "4-10"), (10, "4-10"), (11, "11-30"), (30, "11-30"), (31, "31-100"),
                        (100, "31-100"), (101, ">100")):  # fmt: skip
        dataset = dataset_of(103, 1, train=star[:facts], test=[[0, 0, 102]])
        assert list(evaluate(Remembers(), dataset).by_degree()) == ["0", name]


class Chosen:
    """Gives both queries about the fact (i, r, i + 10) the i-th of these ranks."""

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        ranks = np.array([1, 2, 4, 4])[np.minimum(queries.heads, queries.tails)]
        return Ranks(ranks, ranks, ranks > 0, ranks)


def grouped() -> Evaluation:
    dataset = dataset_of(40, 1, train=[[39, 0, 38]], test=[[i, 0, i + 10] for i in range(4)])
    return evaluate(Chosen(), dataset, groups=["near", "near", "far", "far"])


def test_groups_have_a_mean_a_spread_and_a_worst_one() -> None:
    groups = grouped().by_group()
    assert groups is not None
    assert {name: (f.n, f.mrr, f["hits@1"]) for name, f in groups.groups.items()} == {
        "far": (4, 0.25, 0.0),
        "near": (4, 0.75, 0.5),
    }
    assert groups.mean == {"mrr": 0.5, "hits@1": 0.25, "hits@3": 0.5, "hits@10": 1.0}
    assert groups.std == {"mrr": 0.25, "hits@1": 0.25, "hits@3": 0.5, "hits@10": 0.0}
    assert groups.worst["mrr"] == ("far", 0.25)
    assert groups.worst["hits@10"] == ("far", 1.0)
    assert evaluate(Remembers(), DATASET).by_group() is None


def test_groups_of_a_made_up_world() -> None:
    world = newsroom(people=60, seed=0)
    found = evaluate(Remembers(), world.dataset, groups=world.groups)
    groups = found.by_group()
    assert groups is not None
    assert sum(f.n for f in groups.groups.values()) == found.n
    assert set(groups.groups) == set(world.groups)


def test_json_has_everything() -> None:
    found = grouped()
    made = found.to_json()
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert list(made)[:4] == list(METRICS)
    assert made["mrr"] == found.mrr == made["forms"]["realistic"]["mrr"]
    assert set(made["forms"]) == set(FORMS)
    assert set(made["directions"]) == {"tail", "head"}
    assert made["relations"]["r0000"]["n"] == made["n"] == 8
    assert made["degrees"]["0"]["n"] == 8
    assert made["groups"]["worst"]["mrr"] == {"group": "far", "value": 0.25}
    assert made["coverage"] == 1.0
    assert made["no_candidate"] == 0.0
    low, high = made["intervals"]["mrr"]
    assert low < made["mrr"] < high
    assert made["options"] == {
        "split": "test", "graph": "train", "filter": "train+valid+test", "ties": "realistic",
        "seed": 0, "resamples": 1000, "confidence": 0.95,
    }  # fmt: skip
    assert made["data"]["name"] == "made"
    assert len(made["data"]["sha256"]) == 64
    assert made["model"] == {"method": "Chosen"}
    assert made["seconds"] >= 0
    named = evaluate(table_model(np.zeros((6, 4, 6))), DATASET)
    assert named.to_json()["model"] == {"method": "table"}
    assert named.to_json()["groups"] is None


def test_the_form_asked_for_is_used_everywhere() -> None:
    dataset = dataset_of(4, 1, train=[[0, 0, 1]], test=[[2, 0, 3]])
    found = evaluate(table_model(np.zeros((4, 2, 4))), dataset)
    for form, mrr in (("optimistic", 1.0), ("realistic", 0.4), ("pessimistic", 0.25)):
        made = found.to_json(form)  # type: ignore[arg-type]
        assert made["mrr"] == mrr
        assert made["relations"]["r0000"]["mrr"] == mrr
        assert made["intervals"]["mrr"] == [mrr, mrr]
        assert made["options"]["ties"] == form
    assert repr(found) == ("Evaluation('made', test, 2 queries, mrr 0.400, hits@1 0.000, hits@3 1.000, hits@10 1.000)")


def test_coverage_and_queries_without_a_candidate() -> None:
    dataset = dataset_of(4, 1, train=[[0, 0, 1]], test=[[2, 0, 3], [0, 0, 2]])
    scores = np.zeros((4, 2, 4))
    scores[2, 0, 1] = 1.0  # the wrong one
    scores[3, 1, 2] = 1.0  # the right one
    scores[0, 0, 1] = 1.0  # one that is known, and no candidate for that reason
    found = evaluate(table_model(scores, floor=0.0), dataset)
    assert found.ranks.covered.tolist() == [False, False, True, False]
    assert found.ranks.candidates.tolist() == [1, 0, 1, 0]
    assert found.coverage == 0.25
    assert found.no_candidate == 0.5
    assert found.by_direction()["head"].coverage == 0.5


class Silent:
    """Not a model."""


class Wrong:
    def __init__(self, returned: Any) -> None:
        self.returned = returned

    def rank(self, queries: Triples, *, graph: Graph, known: Graph) -> Ranks:
        return self.returned  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"model": Silent()}, InputError, "Silent can't be evaluated.*ByScores"),
        ({"model": Wrong(None)}, InputError, r"rank\(\) of Wrong must return Ranks with a row for each of 6.*NoneType"),
        ({"model": Wrong(Ranks.empty())}, InputError, "for each of 6 queries, got 0 rows"),
        ({"split": "tset"}, OptionError, "'split' must be one of train, valid, test, got 'tset'"),
        ({"graph": "valid"}, OptionError, r"'graph' must be one of train, train\+valid, got 'valid'"),
        ({"groups": ["a"]}, InputError, "a name for each of the 4 facts of the split, got 1"),
        ({"groups": "abcd"}, InputError, "'groups' must have a name for each"),
        ({"groups": ["a", "b", 3, "c"]}, InputError, "'groups' must be names, got 3 for fact 2"),
        ({"groups": ["a", "b", "c", "c"]}, InputError, "facts 0 and 2 of the split are equal.*'a' and 'c'"),
        ({"seed": -1}, OptionError, "'seed' must be a whole number of at least 0, got -1"),
        ({"seed": None}, OptionError, "'seed'"),
        ({"resamples": 1}, OptionError, "'resamples' must be a whole number of at least 2, got 1"),
        ({"resamples": True}, OptionError, "'resamples'"),
        ({"confidence": 95}, OptionError, "'confidence' must be between 0 and 1, got 95"),
        ({"confidence": "high"}, OptionError, "'confidence'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], kind: type[Exception], said: str) -> None:
    model = arguments.pop("model", Remembers())
    with pytest.raises(kind, match=said):
        evaluate(model, DATASET, **arguments)
    assert not getattr(model, "parts", None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (DATASET.graph, "got a Graph, which has no test facts. Pass its dataset"),
        ("geography", r"got 'geography'. Pass load\(name\).*or read_dataset\(path\)"),
        (None, "must be a Dataset, got None"),
    ],
)
def test_only_a_dataset_can_be_evaluated_on(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluate(Remembers(), given)


def test_an_empty_split_is_refused() -> None:
    dataset = dataset_of(3, 1, train=[[0, 0, 1]], test=[[1, 0, 2]])
    with pytest.raises(InputError, match="'made' has no facts in valid to evaluate on"):
        evaluate(Remembers(), dataset, split="valid")


def test_a_learner_says_its_options_and_where_it_learned() -> None:
    graph = newsroom(people=60, seed=0).dataset.graph
    model = Tabular(walks=1000, seed=4).fit(graph)
    model = model.with_learned(model.learned_.with_aggregation(Aggregation("noisy_or")))
    about = EVALUATE._describe_evaluated_model(model)
    assert about["method"] == "tabular"
    assert about["options"]["seed"] == 4
    assert about["learned_from"] == graph.sha256
    assert about["aggregation"]["name"] == "noisy_or"
