"""TransE, DistMult, ComplEx and RotatE: scores against loops and against PyKEEN, losses, gradients, options."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from pykeen.models import ComplEx as TheirComplEx
from pykeen.models import DistMult as TheirDistMult
from pykeen.models import RotatE as TheirRotatE
from pykeen.models import TransE as TheirTransE
from pykeen.triples import CoreTriplesFactory

from stablerule import Dataset, households
from stablerule.errors import OptionError
from stablerule.registry import MODELS
from stablerule_lab.methods.complex import ComplEx, ComplExNetwork
from stablerule_lab.methods.distmult import TRAINING, DistMult
from stablerule_lab.methods.rotate import RotatE, RotatENetwork
from stablerule_lab.methods.shared import embedding
from stablerule_lab.methods.shared.edges import Edges
from stablerule_lab.methods.shared.embedding import Embeddings, Objective, margin_loss, softmax_loss, sums_of_moduli
from stablerule_lab.methods.transe import TransE

ENTITIES, RELATIONS, SIZE = 40, 3, 6
LEARNERS: dict[str, Any] = {
    "transe-1": TransE(size=SIZE, norm=1, deviation=1.0),
    "transe-2": TransE(size=SIZE, norm=2, deviation=1.0),
    "distmult": DistMult(size=SIZE, deviation=1.0),
    "complex": ComplEx(size=SIZE, deviation=1.0),
    "rotate-1": RotatE(size=SIZE, norm=1, deviation=1.0),
    "rotate-2": RotatE(size=SIZE, norm=2, deviation=1.0),
}
every_score = pytest.mark.parametrize("name", LEARNERS)
EDGES = Edges.of(Dataset.from_names("none", train=[("a", "r", "b")]).graph)  # they don't look at it


def network(name: str, **changes: Any) -> Embeddings:
    learner = LEARNERS[name].with_options(LEARNERS[name].options | changes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        built: Embeddings = learner.build(ENTITIES, RELATIONS)
    return built


def as_complex(rows: torch.Tensor) -> torch.Tensor:
    return torch.complex(*rows.chunk(2, dim=-1))


def all_queries() -> tuple[torch.Tensor, torch.Tensor]:
    heads, relations = np.meshgrid(np.arange(ENTITIES), np.arange(2 * RELATIONS), indexing="ij")
    return torch.from_numpy(heads.ravel()), torch.from_numpy(relations.ravel())


def one_score(name: str, h: torch.Tensor, r: torch.Tensor, t: torch.Tensor) -> float:
    """The formula of the paper for one triple, number by number."""
    kind, _, norm = name.partition("-")
    if kind == "distmult":
        return sum(float(a * b * c) for a, b, c in zip(h, r, t, strict=True))
    if kind == "transe":
        gaps = [abs(float(a + b - c)) for a, b, c in zip(h, r, t, strict=True)]
    else:
        heads, tails = as_complex(h).tolist(), as_complex(t).tolist()
        if kind == "complex":
            rows = zip(heads, as_complex(r).tolist(), tails, strict=True)
            return float(sum((a * b * c.conjugate()).real for a, b, c in rows))
        turns = [complex(math.cos(angle), math.sin(angle)) for angle in r.tolist()]
        gaps = [abs(a * b - c) for a, b, c in zip(heads, turns, tails, strict=True)]
    return -sum(gaps) if norm == "1" else -math.sqrt(sum(gap**2 for gap in gaps))


@every_score
def test_scores_are_those_of_the_formula(name: str) -> None:
    built = network(name).double()
    heads, relations = all_queries()
    found = built.scores(heads, relations, EDGES)
    assert found.shape == (len(heads), ENTITIES)
    for row in range(0, len(heads), 37):
        h, r = built.entities[heads[row]].detach(), built.relations[relations[row]].detach()
        expected = [one_score(name, h, r, t) for t in built.entities.detach()]
        assert found[row].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "rotate-1"])  # theirs has no norm 1
def test_scores_are_those_of_pykeen(name: str) -> None:
    ours = network(name)
    facts = torch.tensor([[0, 0, 1]])
    factory = CoreTriplesFactory(mapped_triples=facts, num_entities=ENTITIES, num_relations=2 * RELATIONS)
    kind, _, norm = name.partition("-")
    theirs_of: dict[str, Any] = {
        "transe": TheirTransE,
        "distmult": TheirDistMult,
        "complex": TheirComplEx,
        "rotate": TheirRotatE,
    }
    more = {"scoring_fct_norm": int(norm)} if kind == "transe" else {}
    with torch.random.fork_rng(devices=[]):
        theirs: Any = theirs_of[kind](triples_factory=factory, embedding_dim=SIZE, random_seed=0, **more)
    entities, relations = ours.entities.detach(), ours.relations.detach()
    if kind == "rotate":
        relations = torch.polar(torch.ones_like(relations), relations)
    elif kind == "complex":
        relations = as_complex(relations)
    for place, rows in (
        (theirs.entity_representations[0], as_complex(entities) if kind in ("complex", "rotate") else entities),
        (theirs.relation_representations[0], relations),
    ):
        flat = torch.view_as_real(rows) if rows.is_complex() else rows
        place._embeddings.weight.data = flat.reshape(place._embeddings.weight.shape).clone()
    heads, asked = all_queries()
    with torch.no_grad():
        found, expected = ours.scores(heads, asked, EDGES), theirs.score_t(torch.stack([heads, asked], dim=1))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@every_score
@pytest.mark.parametrize("negatives", [None, 7])
def test_gradients_are_finite_even_where_nothing_differs(name: str, negatives: int | None) -> None:
    built = network(name, negatives=negatives, deviation=0.0)
    if "rotate" in name:
        built.relations.data.zero_()
    queries = torch.tensor([[0, 0, 0], [0, 1, 1], [2, 5, 3]])
    for kind in ("softmax", "margin"):
        built.objective = Objective(negatives, kind, margin=2.0, n3=0.1, dropout=0.2)
        loss = built.loss(queries, EDGES)
        loss.backward()  # type: ignore[no-untyped-call]
        assert torch.isfinite(loss)
        for table in (built.entities, built.relations):
            assert table.grad is not None
            assert torch.isfinite(table.grad).all()


@every_score
def test_the_gradient_is_that_of_small_steps(name: str) -> None:
    built = network(name).double()
    queries = torch.tensor([[0, 0, 4], [3, 5, 1]])
    built.loss(queries, EDGES).backward()  # type: ignore[no-untyped-call]
    for table, row in ((built.entities, 0), (built.entities, 4), (built.relations, 5)):
        step, values = 1e-5, []
        for sign in (1, -1):
            table.data[row, 2] += sign * step
            values.append(float(built.loss(queries, EDGES).detach()))
            table.data[row, 2] -= sign * step
        assert table.grad is not None
        assert float(table.grad[row, 2]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("tails", [1, 5, 23])
def test_blocks_change_nothing(tails: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    places = torch.randn(4, 10, generator=generator, dtype=torch.float64, requires_grad=True)
    entities = torch.randn(tails, 10, generator=generator, dtype=torch.float64, requires_grad=True)
    whole = sums_of_moduli(places, entities)
    gradients = torch.autograd.grad(whole.square().sum(), [places, entities])
    monkeypatch.setattr(embedding, "NUMBERS_AT_ONCE", 120)  # three tails at once
    parts = sums_of_moduli(places, entities)
    again = torch.autograd.grad(parts.square().sum(), [places, entities])
    torch.testing.assert_close(parts, whole)
    torch.testing.assert_close(again, gradients)


def test_a_softmax_over_drawn_rivals_is_that_over_all_where_all_are_drawn() -> None:
    built = network("complex").eval()
    queries = torch.tensor([[0, 0, 4], [3, 5, 1], [7, 2, 2]])
    built.objective = Objective()
    expected = built.loss(queries, EDGES)
    scores = built.scores(queries[:, 0], queries[:, 1], EDGES)
    right = scores.gather(1, queries[:, 2:]).flatten()
    wrong = scores.scatter(1, queries[:, 2:], -math.inf)
    torch.testing.assert_close(softmax_loss(right, wrong), expected)


def test_the_margin_loss_is_that_of_its_formula() -> None:
    right, wrong = torch.tensor([-1.0, -4.0]), torch.tensor([[-3.0, -math.inf, -2.0], [-6.0, -5.0, -9.0]])
    told = Objective(kind="margin", margin=2.5, temperature=0.7)
    total = 0.0
    for r, row in zip(right.tolist(), wrong.tolist(), strict=True):
        rivals = [w for w in row if w > -math.inf]
        sizes = [math.exp(0.7 * w) for w in rivals]
        hard = sum(s / sum(sizes) * math.log(1 / (1 + math.exp(2.5 + w))) for s, w in zip(sizes, rivals, strict=True))
        total -= (math.log(1 / (1 + math.exp(-2.5 - r))) + hard) / 2
    assert float(margin_loss(right, wrong, told)) == pytest.approx(total / 2, rel=1e-5)


def test_an_answer_is_no_rival_of_itself() -> None:
    built = network("transe-1", negatives=30)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        scores = built._rival_scores(built.entities[:2], torch.tensor([5, 9]))
        torch.manual_seed(0)
        drawn = torch.randint(ENTITIES, (30,))
    assert ((scores == -math.inf) == (drawn == torch.tensor([[5], [9]]))).all()


def test_cubes_are_of_moduli() -> None:
    built = network("complex", n3=0.5).eval()
    queries = torch.tensor([[0, 0, 4], [3, 5, 1]])
    with_cubes = float(built.loss(queries, EDGES).detach())
    built.objective = Objective()
    cubes = sum(
        float(as_complex(rows).abs().pow(3).sum())
        for rows in (built.entities.data[[0, 3]], built.relations.data[[0, 5]], built.entities.data[[4, 1]])
    )
    assert with_cubes - float(built.loss(queries, EDGES).detach()) == pytest.approx(0.5 * cubes / 2, rel=1e-4)


def test_complex_numbers_tell_directions_apart() -> None:
    entities = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # 1 and i
    built = ComplExNetwork(entities, torch.tensor([[0.0, 1.0]]), Objective())  # the relation is i
    scores = built.scores(torch.tensor([0, 1]), torch.tensor([0, 0]), EDGES)
    assert scores.tolist() == [[0.0, 1.0], [-1.0, 0.0]]


def test_a_turn_and_its_inverse_lead_back() -> None:
    generator = torch.Generator().manual_seed(0)
    entities, angle = torch.randn(5, 6, generator=generator), torch.randn(1, 3, generator=generator)
    built = RotatENetwork(entities, torch.cat([angle, -angle]), Objective(), norm=2)
    there = built.place(entities, angle.expand(5, 3))
    torch.testing.assert_close(built.place(there, -angle.expand(5, 3)), entities)
    torch.testing.assert_close(built.moduli(there), built.moduli(entities))


@pytest.mark.parametrize("method", ["transe", "rotate"])
def test_the_papers_loss_learns(method: str) -> None:
    world = households(families=4, seed=0).dataset
    options = {"loss": "margin", "margin": 3.0, "norm": 1, "negatives": 64, "size": 16}
    options |= {"training.epochs": 6, "training.batch_size": 128, "training.learning_rate": 0.02}
    model = MODELS[method].with_options(options).fit(world.graph, world.valid)
    course = model.learned_.course
    assert course is not None
    assert course.best_mrr is not None
    assert course.best_mrr > 0.4


@pytest.mark.parametrize(
    ("method", "options", "named"),
    [
        ("transe", {"norm": 3}, "norm"),
        ("transe", {"negatives": 0}, "negatives"),
        ("rotate", {"margin": -1.0}, "margin"),
        ("rotate", {"temperature": -0.5}, "temperature"),
        ("rotate", {"loss": "hinge"}, "loss"),
        ("distmult", {"dropout": 1.0}, "dropout"),
        ("complex", {"dropout": -0.1}, "dropout"),
        ("complex", {"n3": -1.0}, "n3"),
        ("complex", {"deviation": -1.0}, "deviation"),
        ("complex", {"training.optimizer": "sgd"}, "training.optimizer"),
        ("complex", {"size": 0}, "size"),
    ],
)
def test_bad_options_are_named(method: str, options: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=f"Argument '{named}'"):
        MODELS[method].with_options(options).check_options()


def test_learning_leaves_the_callers_random_numbers_alone() -> None:
    graph = Dataset.from_names("pair", train=[("a", "likes", "b"), ("b", "likes", "c")]).graph
    before = torch.random.get_rng_state()
    DistMult(size=4, training=replace(TRAINING, epochs=2), negatives=3).fit(graph)
    assert torch.equal(torch.random.get_rng_state(), before)
