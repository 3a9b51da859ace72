"""The training loop: it learns, it stops, it resumes to the same end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from stablerule import households
from stablerule.errors import InputError, ReadError
from stablerule.learning import training
from stablerule.learning.batches import SamplePool
from stablerule.learning.checkpoints import Checkpoints, Progress
from stablerule.learning.network import RuleNetwork
from stablerule.learning.options import Decorrelation, Training
from stablerule.learning.training import compute_training_loss, train_network
from stablerule.reasoning.budget import Budget
from stablerule.samples import RuleSamples, sample_rules

GRAPH = households(families=6, seed=0).dataset.graph
SAMPLES = sample_rules(GRAPH, 20_000)
WEIGHTS = Decorrelation()
OPTIONS = Training(steps=30, batch_size=300, learning_rate=0.01, warm_up=5, check_every=10)


def network(seed: int = 0, size: int = 8) -> RuleNetwork:
    return RuleNetwork(GRAPH.n_relations, size, generator=torch.Generator().manual_seed(seed))


def values(net: RuleNetwork) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def test_a_batch_is_drawn_from_the_multiset() -> None:
    pool = SamplePool(SAMPLES, (1, 2, 3))
    batch = pool.draw(200_000, (1, 2))
    assert batch.counts.sum() == batch.cell_counts.sum() == 200_000
    assert len(set(batch.ids.tolist())) == len(batch.ids)
    assert torch.equal(batch.bodies, torch.from_numpy(SAMPLES.bodies[batch.ids.numpy()].astype(np.int64)))
    share = SAMPLES.totals[batch.ids.numpy()] / SAMPLES.n_samples
    assert np.abs(batch.counts.numpy() / 200_000 - share).max() < 0.005
    again = pool.draw(200_000, (1, 2))
    assert all(torch.equal(a, b) for a, b in zip(batch, again, strict=True))
    assert pool.draw(10, (1, 3)).ids.tolist() != pool.draw(10, (1, 2)).ids.tolist()


def test_a_pool_of_one_length_holds_that_length_only() -> None:
    batch = SamplePool(SAMPLES, (2,)).all()
    assert batch.bodies.shape[1] == 2
    assert (batch.bodies >= 0).all()
    assert int(batch.cell_counts.sum()) == SAMPLES.cell_counts[SAMPLES.of_length(2)].sum()


def test_an_empty_pool_says_so() -> None:
    none = RuleSamples(1, np.empty((0, 2), np.int32), *(np.empty(0, t) for t in (np.int32, np.int32, np.int64)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no samples"):
        SamplePool(none, (1,)).draw(5, (0,))


def test_the_loss_is_the_weighted_mean_over_single_samples() -> None:
    batch = SamplePool(SAMPLES, (1, 2, 3)).draw(500, (0,))
    logits = torch.randn(len(batch.ids), 2 * GRAPH.n_relations + 1, dtype=torch.float64)
    w = torch.rand(len(batch.ids), dtype=torch.float64)
    total = torch.zeros((), dtype=torch.float64)
    for row, head, count in zip(batch.cell_rows, batch.cell_heads, batch.cell_counts, strict=True):
        for _ in range(int(count)):
            total += w[row] * torch.nn.functional.cross_entropy(logits[row], head)
    assert float(compute_training_loss(logits, batch, w)) == pytest.approx(float(total / 500), rel=1e-6)


@pytest.mark.parametrize("order", ["mixed", "lengths"])
def test_held_out_loss_falls_and_history_is_kept(order: str) -> None:
    net = network()
    at = train_network(net, SAMPLES, replace(OPTIONS, order=order), WEIGHTS)  # type: ignore[arg-type]
    stages = 3 if order == "lengths" else 1
    assert len(at.steps) == 30 * stages
    last = at.checks[-1]["loss"]
    first = next(c for c in at.checks if c["stage"] == at.checks[-1]["stage"])["loss"]
    assert last < first
    assert "dependence" not in at.steps[0]
    assert 0 < at.steps[-1]["dependence"] < 1
    assert at.steps[-1]["share"] >= 0.5 - 1e-9


def test_without_weights_nothing_is_weighed_and_random_weights_have_the_same_share() -> None:
    plain = train_network(network(), SAMPLES, OPTIONS, None)
    assert all(set(step) == {"loss"} for step in plain.steps)
    learned, control = network(), network()
    one = train_network(learned, SAMPLES, OPTIONS, WEIGHTS)
    two = train_network(control, SAMPLES, OPTIONS, Decorrelation(random=True))
    assert one.steps[6]["share"] == pytest.approx(two.steps[6]["share"], abs=0.02)
    assert not torch.equal(values(learned), values(control))


def test_training_ends_when_nothing_is_gained_and_keeps_the_best() -> None:
    net = network()
    at = train_network(net, SAMPLES, replace(OPTIONS, steps=400, learning_rate=0.3, check_every=5, patience=2), WEIGHTS)
    assert len(at.steps) < 400
    judged = SamplePool(SAMPLES.split(0.05, 0)[1], (1, 2, 3)).draw(training.HELD_OUT_SAMPLES, (0, 1, 0))
    with torch.no_grad():
        loss = compute_training_loss(net.forward_mixed(judged.bodies)[1], judged, torch.ones(len(judged.ids)))
    assert float(loss) == pytest.approx(min(c["loss"] for c in at.checks), abs=2e-4)


def test_same_seed_same_network() -> None:
    one, two, other = network(), network(), network()
    train_network(one, SAMPLES, OPTIONS, WEIGHTS)
    train_network(two, SAMPLES, OPTIONS, WEIGHTS)
    train_network(other, SAMPLES, OPTIONS, WEIGHTS, seed=1)
    assert torch.equal(values(one), values(two))
    assert not torch.equal(values(one), values(other))


class Killed(Exception):
    pass


class DyingCheckpoints(Checkpoints):
    """Keeps every checkpoint, and dies after some."""

    lives = 1

    def is_due(self) -> bool:
        return True

    def keep(self, *state: object) -> None:
        super().keep(*state)  # type: ignore[arg-type]
        self.lives -= 1
        if not self.lives:
            raise Killed


@pytest.mark.parametrize("order", ["mixed", "lengths"])
@pytest.mark.parametrize("features", ["moments", "rff"])
def test_a_killed_run_resumes_to_the_same_end(tmp_path: Path, order: str, features: str) -> None:
    options, weights = replace(OPTIONS, order=order), Decorrelation(features=features)  # type: ignore[arg-type]
    whole = network()
    expected = train_network(whole, SAMPLES, options, weights)
    folder = tmp_path / "run"
    for start, lives in ((0, 13), (99, 9)):  # the second begins with another network, which the checkpoint replaces
        dying = DyingCheckpoints(folder, {"seed": 0}, resume=True)
        dying.lives = lives
        with pytest.raises(Killed):
            train_network(network(seed=start), SAMPLES, options, weights, checkpoints=dying)
    resumed = network(seed=98)
    at = train_network(resumed, SAMPLES, options, weights, checkpoints=Checkpoints(folder, {"seed": 0}, resume=True))
    assert torch.allclose(values(resumed), values(whole), atol=1e-6, rtol=0)
    assert at.steps == expected.steps
    assert at.checks == expected.checks


class Steps(Budget):
    """Time for so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__(None)
        self.steps = steps

    @property
    def passed(self) -> bool:
        self.steps -= 1
        return self.steps < 0

    def take_part(self, share: float) -> Budget:
        return self


@pytest.mark.parametrize("order", ["mixed", "lengths"])
def test_a_run_that_ran_out_of_time_resumes_to_the_same_end(tmp_path: Path, order: str) -> None:
    options = replace(OPTIONS, order=order)  # type: ignore[arg-type]
    whole = network()
    expected = train_network(whole, SAMPLES, options, WEIGHTS)
    assert expected.ended_by == "itself"
    for steps in (0, 13, 9):
        kept = Checkpoints(tmp_path / "run", {"seed": 0}, resume=True)
        at = train_network(network(), SAMPLES, options, WEIGHTS, checkpoints=kept, budget=Steps(steps))
        assert at.ended_by == "minutes"
    assert len(at.steps) == 22
    resumed = network()
    kept = Checkpoints(tmp_path / "run", {"seed": 0}, resume=True)
    at = train_network(resumed, SAMPLES, options, WEIGHTS, checkpoints=kept)
    assert at.ended_by == "itself"
    assert torch.allclose(values(resumed), values(whole), atol=1e-6, rtol=0)
    assert at.steps == expected.steps
    assert at.checks == expected.checks


def test_ctrl_c_ends_with_what_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(1000))

    def interrupted(*arguments: object) -> torch.Tensor:
        if next(calls) == 12:
            raise KeyboardInterrupt
        return compute_training_loss(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "compute_training_loss", interrupted)
    net = network()
    before = values(net)
    at = train_network(net, SAMPLES, OPTIONS, WEIGHTS)
    assert at.ended_by == "interrupt"
    assert 0 < len(at.steps) < 13
    assert not torch.equal(values(net), before)


def test_checkpoints_of_other_runs_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    dying = DyingCheckpoints(folder, {"seed": 0, "graph": "x"})
    with pytest.raises(Killed):
        train_network(network(), SAMPLES, OPTIONS, WEIGHTS, checkpoints=dying)
    with pytest.raises(ReadError, match="from another run: graph differ"):
        train_network(
            network(),
            SAMPLES,
            OPTIONS,
            WEIGHTS,
            checkpoints=Checkpoints(folder, {"seed": 0, "graph": "y"}, resume=True),
        )
    state = folder / "state.safetensors"
    state.write_bytes(state.read_bytes()[:100])
    with pytest.raises(ReadError, match=r"state.safetensors: damaged \(its checksum is wrong"):
        train_network(
            network(),
            SAMPLES,
            OPTIONS,
            WEIGHTS,
            checkpoints=Checkpoints(folder, {"seed": 0, "graph": "x"}, resume=True),
        )


def test_without_resume_a_checkpoint_is_not_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "progress.json").write_text("nonsense")
    at = Progress()
    net = network()
    Checkpoints(folder, {}).restore(at, net, torch.optim.Adam(net.parameters()), None, {})  # type: ignore[arg-type]
    assert at == Progress()
