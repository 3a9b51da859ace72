"""How a network learns in epochs: its options, and the loop that keeps what the validation facts like best."""

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
    """How a network learns, in epochs over the facts; each method has values of its own.

    epochs: at most so many. batch_size: queries in a batch. learning_rate, optimizer: size and kind of the steps.
    clip: largest length of a gradient. check_every: epochs between measurements of the MRR on the validation facts.
    patience: measurements without a gain before training stops; None takes all epochs.

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


# Options of models that were saved before the options had groups.
OLD_EPOCHS = {name: f"training.{name}" for name in Epochs.__dataclass_fields__}


class BestSoFar:
    """A network that is learning, as it was when the validation facts liked it best.

    With a time budget, the time that it takes to measure the MRR is kept back for the last measurement, and found out
    before learning begins.
    """

    def __init__(self, network: nn.Module, judge: Callable[[], float], course: Course, budget: Budget) -> None:
        self._network, self._judge, self._course, self._budget = network, judge, course, budget
        self._state: dict[str, Tensor] = {}
        self._looking = 0.0  # seconds of a look
        self.without_gain = 0
        if budget.limited and not budget.passed:
            self._judged()

    @property
    def out_of_time(self) -> bool:
        """Whether there is time for one last look, and for nothing else."""
        return self._budget.left <= self._looking

    def _judged(self) -> float:
        began = time.perf_counter()
        self._network.eval()
        mrr = self._judge()
        self._network.train()
        self._looking = time.perf_counter() - began
        return mrr

    def look(self) -> None:
        """Judge the network after the last epoch of the course, and keep it if it is the best so far."""
        mrr, best = self._judged(), self._course.best_mrr
        self._course.epochs[-1]["valid_mrr"] = mrr
        self.without_gain += 1
        if best is None or mrr > best + 1e-4:
            self._course.best_mrr, self._course.best_epoch, self.without_gain = mrr, len(self._course.epochs), 0
            state = self._network.state_dict()
            self._state.update({name: value.detach().clone() for name, value in state.items()})

    def end(self, why: str) -> None:
        """Note what ends learning before its time."""
        self._course.ended_by = why
        if why == "minutes":
            self._budget.cut()

    def restore(self) -> None:
        """Bring the network back to its best."""
        self._network.load_state_dict(self._state)
        self._network.eval()


def run_epochs(
    network: nn.Module,
    queries: Tensor,
    loss_of: Callable[[Tensor], Tensor],
    judge: Callable[[], float],
    o: Epochs,
    *,
    seed: int,
    device: str,
    budget: Budget,
) -> Course:
    """Learn in place from queries (n, 3), in batches of a new order each epoch; the network ends as it was at its best.

    judge: gives the MRR on validation facts; asked every `check_every` epochs, and at the end. Learning ends when it
    has not risen `patience` times, when the time is over, or by Ctrl-C, always with the best network so far.
    """
    course, began = Course(ended_by="epochs"), time.perf_counter()
    best, optimizer = BestSoFar(network, judge, course, budget), make_optimizer(network, o, device)
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
    """Make the optimizer of a network."""
    kind = torch.optim.Adam if o.optimizer == "adam" else torch.optim.Adagrad
    # One pass over the parameters instead of a dozen counts where entities are many; elsewhere torch knows better.
    return kind(network.parameters(), lr=o.learning_rate, fused=True if device == "cpu" else None)
