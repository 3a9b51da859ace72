"""Training in epochs: the options, and the loop, which keeps the best state on the validation facts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from stablerule.errors import OptionError
from stablerule.extending import Course, check_option_at_least, interrupt_later
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from stablerule.extending import Budget


@dataclass(frozen=True)
class Epochs:
    """How a network is trained, in epochs over the facts; each method has its own defaults.

    epochs: the most epochs. batch_size: queries in a batch. learning_rate, optimizer: of the steps. clip: the largest
    gradient norm. check_every: epochs between measurements of the MRR on the validation facts. patience: measurements
    without a gain before training stops; None trains all epochs.

    >>> Epochs(epochs=10, batch_size=0, learning_rate=0.01)
    Traceback (most recent call last):
    stablerule.errors.OptionError: Argument 'batch_size' must be at least 1, got 0.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: Literal["adam", "adagrad"] = "adam"
    clip: float | None = None
    check_every: int = 1
    patience: int | None = 5

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "check_every", "patience"):
            check_option_at_least(1, name, getattr(self, name))
        if not 0 < self.learning_rate < 10:
            raise OptionError(f"Argument 'learning_rate' must be above 0 and below 10, got {self.learning_rate}.")
        if self.clip is not None and not self.clip > 0:
            raise OptionError(f"Argument 'clip' must be above 0, or None, got {self.clip}.")


# Options of models saved before options had groups.
OLD_EPOCHS = {name: f"training.{name}" for name in Epochs.__dataclass_fields__}


class BestSoFar:
    """The best state of a network so far on the validation facts.

    With a time budget, time for the last measurement is reserved; one measurement before training shows how long it is.
    """

    def __init__(self, network: nn.Module, evaluate: Callable[[], float], course: Course, budget: Budget) -> None:
        self._network, self._evaluate, self._course, self._budget = network, evaluate, course, budget
        self._state: dict[str, Tensor] = {}
        self._looking = 0.0  # seconds of a measurement
        self.without_gain = 0
        if budget.limited and not budget.passed:
            self._measure()

    @property
    def out_of_time(self) -> bool:
        """Whether there is only time for the last measurement."""
        return self._budget.left <= self._looking

    def _measure(self) -> float:
        began = time.perf_counter()
        self._network.eval()
        mrr = self._evaluate()
        self._network.train()
        self._looking = time.perf_counter() - began
        return mrr

    def look(self) -> None:
        """Evaluate the network after the latest epoch, and keep its state if it is the best so far."""
        mrr, best = self._measure(), self._course.best_mrr
        self._course.epochs[-1]["valid_mrr"] = mrr
        self.without_gain += 1
        if best is None or mrr > best + 1e-4:
            self._course.best_mrr, self._course.best_epoch, self.without_gain = mrr, len(self._course.epochs), 0
            state = self._network.state_dict()
            self._state.update({name: value.detach().clone() for name, value in state.items()})

    def end(self, why: str) -> None:
        """Record what ends training early."""
        self._course.ended_by = why
        if why == "minutes":
            self._budget.cut()

    def restore(self) -> None:
        """Restore the best state."""
        self._network.load_state_dict(self._state)
        self._network.eval()


def run_epochs(
    network: nn.Module,
    queries: Tensor,
    loss_of: Callable[[Tensor], Tensor],
    evaluate: Callable[[], float],
    o: Epochs,
    *,
    seed: int,
    device: str,
    budget: Budget,
) -> Course:
    """Train in place on queries (n, 3), shuffled in each epoch, and restore the best state.

    evaluate: returns the MRR on validation facts, every `check_every` epochs and at the end. Training ends after
    `patience` measurements without a gain, after the time budget, or by Ctrl-C, always with the best state.
    """
    course, began = Course(ended_by="epochs"), time.perf_counter()
    best, optimizer = BestSoFar(network, evaluate, course, budget), make_optimizer(network, o, device)
    order = torch.Generator().manual_seed(seed)
    network.train()
    batches = math.ceil(len(queries) / o.batch_size)
    with progress_bar("learning", o.epochs * batches) as advance, interrupt_later() as interrupted:
        for epoch in range(1, o.epochs + 1):
            total, seen = 0.0, 0
            for rows in torch.split(torch.randperm(len(queries), generator=order), o.batch_size):
                loss = loss_of(queries[rows])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                if o.clip is not None:
                    torch.nn.utils.clip_grad_norm_(network.parameters(), o.clip)
                optimizer.step()
                total, seen = total + float(loss.detach()) * len(rows), seen + len(rows)
                advance(1, f"epoch {epoch}  loss {total / seen:.3f}  valid MRR {course.best_mrr or 0:.3f}")
                if best.out_of_time or interrupted():
                    best.end("minutes" if best.out_of_time else "interrupt")
                    break
            course.epochs.append({"loss": total / seen, "seconds": round(time.perf_counter() - began, 2)})
            ended = course.ended_by != "epochs"
            if ended or epoch % o.check_every == 0 or epoch == o.epochs:
                best.look()
            if o.patience is not None and best.without_gain >= o.patience and not ended:
                best.end("patience")
                break
            if ended:
                break
    best.restore()
    course.seconds = time.perf_counter() - began
    return course


def make_optimizer(network: nn.Module, o: Epochs, device: str) -> torch.optim.Optimizer:
    """Return the optimizer of a network."""
    kind = torch.optim.Adam if o.optimizer == "adam" else torch.optim.Adagrad
    # The fused form is faster with many entities; elsewhere torch chooses better.
    return kind(network.parameters(), lr=o.learning_rate, fused=True if device == "cpu" else None)
