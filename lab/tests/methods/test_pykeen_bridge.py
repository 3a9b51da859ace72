"""Models of PyKEEN through our verbs: their scores, their loops, our ends, and what is refused."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from pykeen.models import model_resolver

from stablerule import Dataset, evaluate, households
from stablerule.errors import InputError, MissingExtra, OptionError
from stablerule.reasoning.learned import Course
from stablerule.registry import MODELS, load_model
from stablerule_lab.methods.pykeen import KINDS, NEED_MORE, TRAINING, Pykeen
from tests.worlds import random_graph

WORLD = households(families=4, seed=0).dataset
SMALL: dict[str, Any] = {"size": 8, "training.epochs": 1, "training.batch_size": 512}
GRAPH = random_graph(0, entities=12, relations=3, count=40)


def small(changes: Mapping[str, Any] = MappingProxyType({}), **options: Any) -> Pykeen:
    """A small model; dotted names in `changes`."""
    return Pykeen.with_options(SMALL | {**changes} | options)


def course_of(model: Pykeen) -> Course:
    assert model.learned_.course is not None
    return model.learned_.course


def test_it_learns_what_popularity_does_not_know() -> None:
    training = replace(TRAINING, epochs=8, learning_rate=0.02, check_every=4)
    model = Pykeen(size=16, negatives=8, training=training).fit(WORLD.graph, WORLD.valid)
    popular = evaluate(MODELS["popularity"]().fit(WORLD.graph), WORLD, resamples=2).mrr
    assert evaluate(model, WORLD, resamples=2).mrr > popular + 0.1
    assert [row["loss"] > 0 for row in course_of(model).epochs] == [True] * 8
    assert model.learned_.ended_by == "epochs"


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
def test_the_same_seed_gives_the_same_scores_and_a_kept_model_answers_the_same(loop: str, tmp_path: Path) -> None:
    model, again, other = (small(model="TransE", loop=loop, seed=seed).fit(GRAPH) for seed in (0, 0, 1))
    asked = [("e1", "r0", "e2"), ("e3", "~r1", "e4")]
    assert again.score(asked) == model.score(asked) != other.score(asked)
    model.save(tmp_path / "kept")
    assert not list((tmp_path / "kept").glob("*.pkl"))
    loaded = load_model(tmp_path / "kept")
    assert loaded.score(asked, graph=GRAPH) == model.score(asked)
    assert loaded.options == model.options


@pytest.mark.parametrize("name", ["CompGCN", "RGCN", "NodePiece", "ConvE"])
def test_models_that_pass_messages_or_normalise_are_kept_as_well(name: str, tmp_path: Path) -> None:
    model = small({"training.epochs": 2}, model=name).fit(GRAPH)
    model.save(tmp_path / "kept")
    queries = [("e1", "r0"), ("e2", "~r1"), ("e3", "r2")]
    assert list(load_model(tmp_path / "kept").answer(queries, graph=GRAPH)) == list(model.answer(queries))


def test_messages_do_not_come_from_facts_that_judge() -> None:
    model = small(model="RGCN").fit(GRAPH)
    heard = {tuple(row) for row in model.network_.facts.tolist()}
    assert heard < {tuple(row) for row in GRAPH.triples.rows.tolist()}
    assert len(heard) == GRAPH.n_facts - int(0.05 * GRAPH.n_facts)
    judged = GRAPH.triples.take(np.array([0, 1]))
    assert len(small(model="RGCN").fit(GRAPH, judged).network_.facts) == GRAPH.n_facts


def test_what_pykeen_remarks_is_kept_from_the_user(caplog: pytest.LogCaptureFixture) -> None:
    small(model="RGCN").fit(GRAPH)
    assert not [record for record in caplog.records if record.name.startswith("pykeen")]


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
@pytest.mark.parametrize("step", [1, 100])
def test_heads_are_asked_for_by_pykeens_head_prediction(loop: str, step: int) -> None:
    model = small(model="DistMult", loop=loop).fit(GRAPH)
    network = model.network_
    network.step = step
    heads, relations = np.array([3, 3, 5, 0]), np.array([1, 4, 2, 5])
    found = model._score_on(GRAPH)(heads, relations)
    with torch.no_grad():
        for row, (head, relation) in enumerate(zip(heads.tolist(), relations.tolist(), strict=True)):
            if relation < 3:
                expected = network.model.predict_t(torch.tensor([[head, relation]]))
            else:
                expected = network.model.predict_h(torch.tensor([[relation - 3, head]]))
            np.testing.assert_allclose(found[row], expected[0].numpy(), rtol=1e-5)


def test_every_model_is_offered_or_left_out_for_a_reason() -> None:
    assert set(KINDS) | set(NEED_MORE) == {kind.__name__ for kind in model_resolver.lookup_dict.values()}


def test_more_arguments_reach_the_model() -> None:
    model = small(model="TransE", model_options={"scoring_fct_norm": 2, "loss": "nssa"}).fit(GRAPH)
    inner: Any = model.network_.model
    assert inner.interaction.p == 2
    assert type(inner.loss).__name__ == "NSSALoss"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "TransEE"}, r"must be a model of PyKEEN, got 'TransEE'\. Closest: 'TransE'"),
        ({"model": "zzz"}, "They are: 'AutoSF', 'BoxE'"),
        ({"model": "complexliteral"}, "needs numbers about entities"),
        ({"loop": "owa"}, "Argument 'loop' of Pykeen must be 'slcwa' or 'lcwa'"),
        ({"negatives": 0}, "Argument 'negatives'"),
        ({"size": 0}, "Argument 'size'"),
        ({"training.learning_rate": 0.0}, "Argument 'training.learning_rate'"),
        ({"model_options": [1]}, "Argument 'model_options' of Pykeen must be a dict of values by name or None"),
        (
            {"model_options": {"loss": object()}},
            "'model_options' of Pykeen must have values that fit into JSON",
        ),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Pykeen.with_options(options).check_options()


def test_arguments_that_the_model_does_not_have_are_named() -> None:
    with pytest.raises(OptionError, match="PyKEEN can't make TransE of .*'colour': 'red'.*unexpected keyword argument"):
        small(model="TransE", model_options={"colour": "red"}).fit(GRAPH)


def test_names_may_be_spelled_anyhow() -> None:
    assert Pykeen(model="rotate")._kind().__name__ == "RotatE"


def test_it_ends_in_time_and_by_patience() -> None:
    hurried = small({"training.epochs": 50}, model="TransE").fit(WORLD.graph, WORLD.valid, minutes=0.0)
    assert hurried.learned_.ended_by == "minutes"
    assert len(course_of(hurried).epochs) == 1
    slow = replace(TRAINING, epochs=50, batch_size=512, learning_rate=1e-9, patience=2, check_every=1)
    patient = Pykeen(model="TransE", size=8, training=slow).fit(GRAPH, GRAPH.triples)
    assert patient.learned_.ended_by == "patience"
    assert len(course_of(patient).epochs) == 3
    assert course_of(patient).best_epoch == 1


def test_random_numbers_of_others_stay_as_they_were() -> None:
    before = torch.random.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    small(model="TransE").fit(GRAPH)
    after = torch.random.get_rng_state(), random.getstate(), np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
    assert torch.equal(before[0], after[0])
    assert before[1] == after[1]
    assert (before[2] == after[2]).all()


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
def test_it_survives_small_worlds(loop: str) -> None:
    for facts in ([("a", "r", "b")], [("a", "r", "a"), ("a", "r", "b")]):
        dataset = Dataset.from_names("small", train=facts, test=[("a", "r", "isolated")])
        model = small({"training.batch_size": 1}, loop=loop, size=4).fit(dataset.graph)
        assert evaluate(model, dataset, resamples=2).n == 2


def test_what_pykeen_refuses_is_said() -> None:
    graph = Dataset.from_names("small", train=[("a", "r", "b")]).graph
    with pytest.raises(InputError, match="PyKEEN can't train ConvE with these options: .*BatchNorm"):
        small(model="ConvE").fit(graph)


def test_entities_that_it_has_not_seen_are_refused() -> None:
    model = small(model="TransE").fit(GRAPH)
    with pytest.raises(InputError, match="pykeen can't answer about unseen entities"):
        next(model.answer([("x", "r0")], graph=Dataset.from_names("new", train=[("x", "r0", "y")]).graph))


def test_a_plan_comes_first() -> None:
    first, second = small(model="TransE").plan_lines(GRAPH, minutes=3)
    assert first == f"TransE of PyKEEN, {8 * (12 + 3)} parameters"
    assert second.startswith("up to 1 epochs of 1 batches, about ")
    assert second.endswith("at most 3 minutes")


def test_without_pykeen_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pykeen"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "stablerule_lab.methods.pykeen")
    with pytest.raises(MissingExtra, match=r"needs the package 'pykeen'.*\./lab\[pykeen\]"):
        MODELS["pykeen"]
