"""RLogic: its recursion and its loss against plain loops."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from stablerule import Dataset, households, load_model
from stablerule.errors import OptionError
from stablerule.learning.batches import Batch, SamplePool
from stablerule.samples import sample_rules
from stablerule_lab.methods.rlogic import ReadingTraining, RLogic, RLogicNetwork

R, D = 3, 5
STEPS = 30
SMALL: dict[str, Any] = {
    "walks": 20_000,
    "training": ReadingTraining(steps=STEPS, batch_size=200, size=8),
}
WORLD = households(families=4, seed=0).dataset


def losses_of(model: RLogic) -> list[float]:
    assert model.learned_.course is not None
    return [step["loss"] for step in model.learned_.course.steps]


def make(relations: int = R) -> RLogicNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return RLogicNetwork(relations, D).double()


class Plain:
    """One body at a time, one cell of the LSTM at a time."""

    def __init__(self, network: RLogicNetwork) -> None:
        self.n = network

    def cell(self, item: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        p = dict(self.n.lstm.named_parameters())
        gates = p["weight_ih_l0"] @ item + p["bias_ih_l0"] + p["weight_hh_l0"] @ h + p["bias_hh_l0"]
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def pair(self, one: Tensor, other: Tensor) -> Tensor:
        inner, _, outer = cast("Any", self.n.pair)
        hidden = (inner.weight @ torch.cat([one, other]) + inner.bias).clamp(min=0)
        return cast("Tensor", outer.weight @ hidden + outer.bias)

    def read(self, body: list[int]) -> tuple[Tensor, Tensor]:
        n, e = self.n, [self.n.relations[r] for r in body]
        h, c = self.cell(n.start[0], torch.zeros(D).double(), torch.zeros(D).double())
        log_p, states = torch.zeros(()).double(), []
        for relation, item in zip(body, e, strict=True):
            guess = (n.next_relation.weight @ h + n.next_relation.bias).log_softmax(0)
            log_p = log_p + guess[relation]
            h, c = self.cell(item, h, c)
            states.append(h)  # after reading this relation
        if len(body) == 1:
            return log_p, self.pair(n.start[0], e[0])
        p = self.pair(e[0], e[1])
        for i in range(2, len(body)):
            shares = p.softmax(0)
            soft = shares[-1] * states[i - 1]
            for relation in range(2 * R):
                soft = soft + shares[relation] * n.relations[relation]
            p = self.pair(soft, e[i])
        return log_p, p


BODIES = [[0, 1, 5], [2], [2, 4], [3, 3, 0, 1], [5, 0, 2], [1, 1]]


def padded(bodies: list[list[int]]) -> Tensor:
    longest = max(map(len, bodies))
    return torch.tensor([body + [-1] * (longest - len(body)) for body in bodies])


def test_the_recursion_is_the_plain_one() -> None:
    network = make()
    log_p, logits = network(padded(BODIES))
    expected = [Plain(network).read(body) for body in BODIES]
    torch.testing.assert_close(log_p, torch.stack([one for one, _ in expected]), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(logits, torch.stack([one for _, one in expected]), rtol=1e-10, atol=1e-12)


def test_the_loss_is_the_mean_over_samples_and_so_are_its_gradients() -> None:
    samples = sample_rules(WORLD.graph, 300, seed=0)
    batch = SamplePool(samples, (1, 2, 3)).draw(40, (0,))
    network = make(WORLD.graph.n_relations)
    loss = network.loss(batch)
    loss.backward()  # type: ignore[no-untyped-call]
    ours = {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}
    network.zero_grad()
    # Sample by sample, each with its own forward pass.
    total, count = torch.zeros(()).double(), 0
    for row, head, times in zip(batch.cell_rows, batch.cell_heads, batch.cell_counts.int(), strict=True):
        log_p, logits = network(batch.bodies[row][None])
        total = total - int(times) * (log_p[0] + logits[0].log_softmax(0)[head])
        count += int(times)
    (total / count).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(loss, total / count, rtol=1e-6, atol=1e-6)
    assert count == 40
    for name, p in network.named_parameters():
        assert p.grad is not None
        assert p.grad.isfinite().all()
        torch.testing.assert_close(ours[name], p.grad, rtol=1e-5, atol=1e-7, msg=name)


def test_scores_are_the_networks_and_it_learns() -> None:
    model = RLogic(**SMALL, aggregation="max_plus").fit(WORLD.graph)
    assert all(rule.score is not None and 0 <= rule.score <= 1 for rule in model.rules)
    losses = losses_of(model)
    assert len(losses) == STEPS
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    longer = RLogic(**SMALL, min_length=2, aggregation="max_plus").fit(WORLD.graph)
    assert {rule.rule.length for rule in longer.rules} == {2, 3}


def test_the_same_seed_gives_the_same_rules_and_a_kept_model_the_same_answers(tmp_path: Path) -> None:
    model = RLogic(**SMALL, aggregation="max_plus").fit(WORLD.graph)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    assert RLogic(**SMALL, aggregation="max_plus").fit(WORLD.graph).rules == model.rules
    assert torch.equal(torch.random.get_rng_state(), before)
    model.save(tmp_path / "m")
    query = [(WORLD.vocabulary.entity_name(0), WORLD.vocabulary.relation_name(0))]
    assert list(load_model(tmp_path / "m").answer(query, graph=WORLD.graph)) == list(model.answer(query))


def test_a_graph_without_walks_has_no_rules() -> None:
    loop = Dataset.from_names("loop", train=[("a", "r", "a")]).graph
    assert len(RLogic(**SMALL).fit(loop).rules) == 0
    assert RLogic(**SMALL).plan_lines(loop)


def test_ctrl_c_ends_with_what_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = RLogicNetwork.loss

    def loss(network: RLogicNetwork, batch: Batch) -> Tensor:
        loss.calls += 1  # type: ignore[attr-defined]
        if loss.calls == 3:  # type: ignore[attr-defined]
            signal.raise_signal(signal.SIGINT)
        return plain(network, batch)

    loss.calls = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(RLogicNetwork, "loss", loss)
    model = RLogic(**SMALL, aggregation="max_plus").fit(WORLD.graph)
    assert model.learned_.interrupted
    assert len(losses_of(model)) == 3
    assert len(model.rules)


def test_no_time_is_one_step() -> None:
    model = RLogic(**SMALL, aggregation="max_plus").fit(WORLD.graph, minutes=0.0)
    assert len(losses_of(model)) == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("training.size", 0),
        ("training.steps", 0),
        ("training.batch_size", 0),
        ("training.learning_rate", -1.0),
        ("min_length", 4),
    ],
)
def test_bad_options_are_named(option: str, value: Any) -> None:
    with pytest.raises(OptionError, match=option):
        RLogic.with_options(SMALL | {option: value}).fit(WORLD.graph)
