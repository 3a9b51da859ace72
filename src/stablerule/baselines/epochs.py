"""The training loop that learners with a network share: epochs, judged on valid facts, the best one kept."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from stablerule.learning.interrupting import interrupt_later
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from stablerule.reasoning.deadline import Deadline


@dataclass
class Course:
    """How learning went: a row for each epoch with its loss, and the MRR on valid facts where it was measured."""

    epochs: list[dict[str, float]] = field(default_factory=list)
    best_mrr: float = -1.0
    best_epoch: int = 0
    ended_by: str = "epochs"  # or patience, minutes, interrupt
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


class BestSoFar:
    """A network that is learning, as it was when valid facts liked it best.

    Under a deadline the time that it takes to look at valid facts is kept back for the last look, and measured once
    before learning begins.
    """

    def __init__(self, network: nn.Module, judge: Callable[[], float], course: Course, deadline: Deadline) -> None:
        self._network, self._judge, self._course, self._deadline = network, judge, course, deadline
        self._state: dict[str, Tensor] = {}
        self._looking = 0.0  # seconds of a look
        self.without_gain = 0
        if deadline.limited and not deadline.passed:
            self._judged()

    @property
    def out_of_time(self) -> bool:
        """Whether there is time for one last look, and for nothing else."""
        return self._deadline.left <= self._looking

    def _judged(self) -> float:
        began = time.perf_counter()
        self._network.eval()
        mrr = self._judge()
        self._network.train()
        self._looking = time.perf_counter() - began
        return mrr

    def look(self) -> None:
        """Judge the network after the last epoch of the course, and keep it if it is the best so far."""
        mrr = self._judged()
        self._course.epochs[-1]["valid_mrr"] = mrr
        self.without_gain += 1
        if mrr > self._course.best_mrr + 1e-4 or not self._state:
            self._course.best_mrr, self._course.best_epoch, self.without_gain = mrr, len(self._course.epochs), 0
            state = self._network.state_dict()
            self._state.update({name: value.detach().clone() for name, value in state.items()})

    def restore(self) -> None:
        """Bring the network back to its best."""
        self._network.load_state_dict(self._state)
        self._network.eval()


def run_epochs(
    network: nn.Module,
    queries: Tensor,
    loss_of: Callable[[Tensor], Tensor],
    judge: Callable[[], float],
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    batch_size: int,
    patience: int | None,
    check_every: int,
    clip: float | None,
    deadline: Deadline,
    generator: torch.Generator,
) -> Course:
    """Learn in place from queries (n, 3), in batches of a new order each epoch; the network ends as it was at its best.

    judge: gives the MRR on valid facts; asked every `check_every` epochs, and at the end. Learning ends when it has not
    risen `patience` times, at the deadline, or by Ctrl-C, always with the best network so far.
    clip: the largest length of a gradient.
    """
    course, began = Course(), time.perf_counter()
    best = BestSoFar(network, judge, course, deadline)
    network.train()
    batches = math.ceil(len(queries) / batch_size)
    with progress_bar("learning", epochs * batches) as advance, interrupt_later() as interrupted:
        for epoch in range(1, epochs + 1):
            total, seen = 0.0, 0
            for rows in torch.split(torch.randperm(len(queries), generator=generator), batch_size):
                loss = loss_of(queries[rows])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                if clip is not None:
                    torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
                optimizer.step()
                total, seen = total + float(loss.detach()) * len(rows), seen + len(rows)
                advance(1, f"epoch {epoch}  loss {total / seen:.3f}  valid MRR {max(course.best_mrr, 0):.3f}")
                if best.out_of_time or interrupted():
                    course.ended_by = "minutes" if best.out_of_time else "interrupt"
                    break
            course.epochs.append({"loss": total / seen, "seconds": round(time.perf_counter() - began, 2)})
            ended = course.ended_by != "epochs"
            if ended or epoch % check_every == 0 or epoch == epochs:
                best.look()
            if patience is not None and best.without_gain >= patience and not ended:
                course.ended_by = "patience"
                break
            if ended:
                break
    best.restore()
    course.seconds = time.perf_counter() - began
    return course
