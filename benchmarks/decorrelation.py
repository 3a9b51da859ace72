"""The weights of one batch, 100 steps at d=1024 and order 2, against the textbook form on the same threads in one run.

    python benchmarks/decorrelation.py      # writes benchmarks/results/decorrelation.json

The textbook form is the formula read plainly: one d x d covariance matrix for each pair of orders, and autograd. It
would take minutes, so single steps of it are timed after a warm-up, and the best of them is scaled to 100. Ours is
timed whole (standardising, building, 100 steps with their records). They take turns, and the best of each counts.
Once with all threads, once with one for both. `others_busy` is the share of the machine that other processes took
meanwhile: with two threads on two cores, a row in which it is not near 0 says more about them than about this.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

import torch
from torch import Tensor

from stablerule.learning.decorrelation import BodyWeights, Weighting
from stablerule.learning.dependence import standardise_dimensions
from stablerule.learning.options import Decorrelation

RESULTS = Path(__file__).parent / "results" / "decorrelation.json"
SIZE, ORDER, STEPS, RATE, PENALTY = 1024, 2, 100, 0.01, 0.05
REQUIRED = {1500: 50.0, 5000: 20.0}  # bodies: times faster than the textbook form
OPTIONS = Decorrelation(
    moment_order=ORDER,
    weight_steps=STEPS,
    weight_rate=RATE,
    weight_penalty=PENALTY,
    share_floor=0.0,  # so that no run ends early
    restart=True,
)


def make_up(bodies: int) -> Tensor:
    """Bounded and dependent, with a small deviation, as the states of an LSTM are (U, d)."""
    g = torch.Generator().manual_seed(0)
    return (0.1 * torch.randn(bodies, 64, generator=g) @ torch.randn(64, SIZE, generator=g)).tanh()


class Textbook:
    """The same objective and optimiser, the formula read plainly."""

    def __init__(self, Z: Tensor) -> None:
        z = standardise_dimensions(Z.T, torch.full((len(Z),), 1 / len(Z))).T
        self.powers = [z**a for a in range(1, ORDER + 1)]  # (U, d) each
        self.t = torch.zeros(len(Z), requires_grad=True)
        self.adam = torch.optim.Adam([self.t], lr=RATE)
        self.base = float(self.dependence(self.t.detach().softmax(0)))

    def dependence(self, p: Tensor) -> Tensor:
        total = torch.zeros(())
        for A in self.powers:
            for B in self.powers:
                C = A.T @ (p[:, None] * B) - torch.outer(p @ A, p @ B)  # (d, d)
                total = total + (C - torch.diag(C.diagonal())).square().sum()
        return total

    def step(self) -> float:
        """Take one step; give the dependence ratio before it."""
        p = self.t.softmax(0)
        ratio = self.dependence(p) / self.base
        loss = ratio + PENALTY * (len(p) * p - 1).square().mean()
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()
        return float(ratio.detach())


def ours(Z: Tensor) -> Weighting:
    return BodyWeights(len(Z), OPTIONS).update(torch.arange(len(Z)), Z, torch.ones(len(Z)))


def busy_seconds() -> tuple[float, float]:
    """CPU seconds that this process has used, and that all have (Linux; elsewhere the second is 0)."""
    own = time.process_time()
    stat = Path("/proc/stat")
    if not stat.exists():
        return own, 0.0
    user, nice, system, _, _, irq, softirq, steal = map(int, stat.read_text(encoding="ascii").split()[1:9])
    return own, (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def measure(bodies: int, threads: int, repeats: int) -> dict[str, object]:
    torch.set_num_threads(threads)
    Z = make_up(bodies)
    textbook = Textbook(Z)
    ratios = [textbook.step()]  # the warm-up of one
    result = ours(Z)  # and of the other
    our_seconds: list[float] = []
    textbook_seconds: list[float] = []
    (own, every), start = busy_seconds(), time.perf_counter()
    for _ in range(repeats):
        began = time.perf_counter()
        result = ours(Z)
        our_seconds.append(time.perf_counter() - began)
        began = time.perf_counter()
        ratios.append(textbook.step())
        textbook_seconds.append(time.perf_counter() - began)
    (own_after, every_after), wall = busy_seconds(), time.perf_counter() - start
    others = max(0.0, (every_after - every) - (own_after - own)) / (wall * (os.cpu_count() or 1))
    scaled = STEPS * min(textbook_seconds)
    off = max(abs(a - b.dependence) for a, b in zip(ratios, result.steps, strict=False))
    return {
        "bodies": bodies,
        "threads": threads,
        "others_busy": others,
        "seconds": min(our_seconds),
        "seconds_all": our_seconds,
        "textbook_seconds": scaled,
        "textbook_seconds_per_step": textbook_seconds,
        "times_faster": scaled / min(our_seconds),
        "required": REQUIRED[bodies],
        "largest_difference_in_dependence": off,
        "dependence_after": result.steps[-1].dependence,
        "share_after": result.steps[-1].share,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="turns; more of them on a busy machine")
    repeats = parser.parse_args().repeats
    load = os.getloadavg()[0]  # what others did to the machine before this began
    rows = [measure(bodies, threads, repeats) for threads in (torch.get_num_threads(), 1) for bodies in REQUIRED]
    result = {
        "what": f"{STEPS} steps on the weights of one batch, d={SIZE}, moment order {ORDER}, float32",
        "how": f"textbook form: best of {repeats} steps after a warm-up, times {STEPS}, not run to the end; "
        f"ours: best of {repeats} whole runs of {STEPS} steps, in turns with it",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load_average_before": load,
        "rows": rows,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    heads = ("bodies", "threads", "ours, s", "textbook, s", "times faster", "required", "others busy")
    print("".join(f"{head:>13}" for head in heads))
    for row in rows:
        print(
            f"{row['bodies']:>13}{row['threads']:>13}{row['seconds']:>13.3f}{row['textbook_seconds']:>13.1f}"
            f"{row['times_faster']:>13.1f}{row['required']:>13.0f}{row['others_busy']:>13.0%}"
        )


if __name__ == "__main__":
    main()
