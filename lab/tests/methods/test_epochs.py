"""The training loop: what it keeps back of its time."""

from __future__ import annotations

import pytest
import torch

from stablerule.reasoning.budget import Budget
from stablerule.reasoning.learned import Course
from stablerule_lab.methods.shared.epochs import Epochs, run_epochs

LOOK, BATCH = 7.0, 2.0  # seconds


class Clock:
    """Time that passes only when somebody works."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("stablerule_lab.methods.shared.epochs.time.perf_counter", made)
    monkeypatch.setattr("stablerule.reasoning.budget.time.monotonic", made)
    return made


def learn(clock: Clock, minutes: float | None, looks: list[float], n_epochs: int = 10) -> Course:
    network = torch.nn.Linear(1, 1)

    def loss_of(rows: torch.Tensor) -> torch.Tensor:
        clock.now += BATCH
        assert network.training
        return network(rows.float()[:, :1]).square().mean()  # type: ignore[no-any-return]

    def evaluate() -> float:
        clock.now += LOOK
        assert not network.training
        looks.append(clock.now)
        return 0.1 * len(looks)

    return run_epochs(
        network,
        torch.ones(4, 3, dtype=torch.int64),
        loss_of,
        evaluate,
        Epochs(n_epochs, batch_size=1, learning_rate=0.1, check_every=5, patience=None),
        seed=0,
        device="cpu",
        budget=Budget(minutes),
    )


def test_the_last_look_is_over_when_the_time_is(clock: Clock) -> None:
    began, looks = clock.now, list[float]()
    course = learn(clock, 40 / 60, looks)
    assert course.ended_by == "minutes"
    assert len(looks) == 2  # one to know what it takes, one at the end
    assert clock.now - began <= 40 + BATCH
    assert sum("valid_mrr" in row for row in course.epochs) == 1


def test_without_a_budget_nobody_looks_before_the_first_epoch(clock: Clock) -> None:
    looks = list[float]()
    course = learn(clock, None, looks, n_epochs=5)
    assert (course.ended_by, len(looks), course.best_epoch) == ("epochs", 1, 5)


def test_with_no_time_at_all_there_is_one_batch_and_one_look(clock: Clock) -> None:
    looks = list[float]()
    course = learn(clock, 0.0, looks)
    assert (course.ended_by, len(course.epochs), len(looks)) == ("minutes", 1, 1)
