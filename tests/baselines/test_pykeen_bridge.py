"""Models of PyKEEN through our verbs: their scores, their loops, our ends, and what is refused."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pykeen.models import model_resolver

from stablerule import Dataset, evaluate, households
from stablerule.baselines import MODELS, load_model
from stablerule.baselines.pykeen_bridge import KINDS, NEED_MORE, Pykeen
from stablerule.errors import InputError, MissingExtra, OptionError
from tests.worlds import random_graph

WORLD = households(families=4, seed=0).dataset
SMALL: dict[str, Any] = {"size": 8, "epochs": 1, "batch_size": 512}
GRAPH = random_graph(0, entities=12, relations=3, count=40)


def test_it_learns_what_popularity_does_not_know() -> None:
    model = Pykeen(size=16, epochs=8, learning_rate=0.02, negatives=8, check_every=4).fit(WORLD.graph, WORLD.valid)
    popular = evaluate(MODELS["popularity"]().fit(WORLD.graph), WORLD, resamples=2).mrr
    assert evaluate(model, WORLD, resamples=2).mrr > popular + 0.1
    assert [row["loss"] > 0 for row in model.learned_["epochs"]] == [True] * 8
    assert model.learned_["ended_by"] == "epochs"


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
def test_the_same_seed_gives_the_same_scores_and_a_kept_model_answers_the_same(loop: str, tmp_path: Path) -> None:
    model, again, other = (
        Pykeen(model="TransE", loop=loop, seed=seed, **SMALL).fit(GRAPH)  # type: ignore[arg-type]
        for seed in (0, 0, 1)
    )
    asked = [("e1", "r0", "e2"), ("e3", "~r1", "e4")]
    assert again.score(asked) == model.score(asked) != other.score(asked)
    model.save(tmp_path / "kept")
    assert not list((tmp_path / "kept").glob("*.pkl"))
    loaded = load_model(tmp_path / "kept")
    assert loaded.score(asked, graph=GRAPH) == model.score(asked)
    assert loaded.options == model.options


@pytest.mark.parametrize("name", ["CompGCN", "RGCN", "NodePiece", "ConvE"])
def test_models_that_pass_messages_or_normalise_are_kept_as_well(name: str, tmp_path: Path) -> None:
    model = Pykeen(model=name, **(SMALL | {"epochs": 2})).fit(GRAPH)
    model.save(tmp_path / "kept")
    queries = [("e1", "r0"), ("e2", "~r1"), ("e3", "r2")]
    assert list(load_model(tmp_path / "kept").answer(queries, graph=GRAPH)) == list(model.answer(queries))


def test_messages_do_not_come_from_facts_that_judge() -> None:
    model = Pykeen(model="RGCN", **SMALL).fit(GRAPH)
    heard = {tuple(row) for row in model.network_.facts.tolist()}
    assert heard < {tuple(row) for row in GRAPH.triples.rows.tolist()}
    assert len(heard) == GRAPH.n_facts - int(0.05 * GRAPH.n_facts)
    judged = GRAPH.triples.take(np.array([0, 1]))
    assert len(Pykeen(model="RGCN", **SMALL).fit(GRAPH, judged).network_.facts) == GRAPH.n_facts


def test_what_pykeen_remarks_is_kept_from_the_user(caplog: pytest.LogCaptureFixture) -> None:
    Pykeen(model="RGCN", **SMALL).fit(GRAPH)
    assert not [record for record in caplog.records if record.name.startswith("pykeen")]


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
@pytest.mark.parametrize("step", [1, 100])
def test_heads_are_asked_for_by_pykeens_head_prediction(loop: str, step: int) -> None:
    model = Pykeen(model="DistMult", loop=loop, **SMALL).fit(GRAPH)  # type: ignore[arg-type]
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
    model = Pykeen(model="TransE", model_options={"scoring_fct_norm": 2, "loss": "nssa"}, **SMALL).fit(GRAPH)
    inner: Any = model.network_.model
    assert inner.interaction.p == 2
    assert type(inner.loss).__name__ == "NSSALoss"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "TransEE"}, r"must be a model of PyKEEN, got 'TransEE'\. Closest: 'TransE'"),
        ({"model": "zzz"}, "They are: 'AutoSF', 'BoxE'"),
        ({"model": "complexliteral"}, "made for numbers about entities"),
        ({"loop": "owa"}, "Argument 'loop' of Pykeen must be 'slcwa' or 'lcwa'"),
        ({"negatives": 0}, "Argument 'negatives'"),
        ({"size": 0}, "Argument 'size'"),
        ({"learning_rate": 0.0}, "Argument 'learning_rate'"),
        ({"model_options": [1]}, "Argument 'model_options' of Pykeen must be a dict of values by name or None"),
        ({"model_options": {"loss": object()}}, "Argument 'model_options' of Pykeen must hold plain values"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Pykeen(**options).check_options()


def test_arguments_that_the_model_does_not_have_are_named() -> None:
    with pytest.raises(OptionError, match="PyKEEN can't make TransE of .*'colour': 'red'.*unexpected keyword argument"):
        Pykeen(model="TransE", model_options={"colour": "red"}, **SMALL).fit(GRAPH)


def test_names_may_be_spelled_anyhow() -> None:
    assert Pykeen(model="rotate")._kind().__name__ == "RotatE"


def test_it_ends_in_time_and_by_patience() -> None:
    hurried = Pykeen(model="TransE", minutes=0.0, **(SMALL | {"epochs": 50})).fit(WORLD.graph, WORLD.valid)
    assert hurried.learned_["ended_by"] == "minutes"
    assert len(hurried.learned_["epochs"]) == 1
    slow = {"epochs": 50, "learning_rate": 1e-9, "patience": 2, "check_every": 1}
    patient = Pykeen(model="TransE", **(SMALL | slow)).fit(GRAPH, GRAPH.triples)
    assert patient.learned_["ended_by"] == "patience"
    assert len(patient.learned_["epochs"]) == 3
    assert patient.learned_["best_epoch"] == 1


def test_random_numbers_of_others_stay_as_they_were() -> None:
    before = torch.random.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    Pykeen(model="TransE", **SMALL).fit(GRAPH)
    after = torch.random.get_rng_state(), random.getstate(), np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
    assert torch.equal(before[0], after[0])
    assert before[1] == after[1]
    assert (before[2] == after[2]).all()


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
def test_it_survives_small_worlds(loop: str) -> None:
    for facts in ([("a", "r", "b")], [("a", "r", "a"), ("a", "r", "b")]):
        dataset = Dataset.from_names("small", train=facts, test=[("a", "r", "isolated")])
        model = Pykeen(loop=loop, batch_size=1, size=4, epochs=1).fit(dataset.graph)  # type: ignore[arg-type]
        assert evaluate(model, dataset, resamples=2).n == 2


def test_what_pykeen_refuses_is_said() -> None:
    graph = Dataset.from_names("small", train=[("a", "r", "b")]).graph
    with pytest.raises(InputError, match="PyKEEN can't train ConvE with these options: .*BatchNorm"):
        Pykeen(model="ConvE", **SMALL).fit(graph)


def test_entities_that_it_has_not_seen_are_refused() -> None:
    model = Pykeen(model="TransE", **SMALL).fit(GRAPH)
    with pytest.raises(InputError, match="pykeen can't answer about entities that it has not seen"):
        next(model.answer([("x", "r0")], graph=Dataset.from_names("new", train=[("x", "r0", "y")]).graph))


def test_a_plan_comes_first() -> None:
    first, second = Pykeen(model="TransE", minutes=3, **SMALL).plan_lines(GRAPH)
    assert first == f"TransE of PyKEEN, {8 * (12 + 3)} parameters"
    assert second.startswith("up to 1 epochs of 1 batches, about ")
    assert second.endswith("3 minutes at most")


def test_without_pykeen_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pykeen"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "stablerule.baselines.pykeen_bridge")
    with pytest.raises(MissingExtra, match=r"needs the package 'pykeen'.*stablerule\[pykeen\]"):
        MODELS["pykeen"]
