"""The training loop: algorithm 1 of the paper, on one page.

For each batch of samples: embed the bodies, find weights under which the dimensions of the embeddings depend on each
other as little as possible, and take one step on the weighted cross-entropy. What the paper leaves open is an option:
lengths one after the other or mixed, a warm-up before the weights, and an end when held-out samples gain no more.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch

from stablerule.learning.batches import Batch, Pool
from stablerule.learning.decorrelation import BodyWeights, Decorrelation, random_weights
from stablerule.learning.denormals import denormals_as_zero
from stablerule.learning.interrupting import interrupt_later
from stablerule.progress import progress_bar
from stablerule.reasoning.deadline import Deadline

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule.learning.checkpoints import Checkpoints
    from stablerule.learning.network import RuleNetwork
    from stablerule.samples import RuleSamples

TRAINING_SHARE = 0.6  # of the time that is left: rules are measured and weighed after it
HELD_OUT_SAMPLES = 20_000  # enough to see a difference, few enough not to be felt


@dataclass(frozen=True)
class TrainingOptions:
    """Sizes and rates; `weights=None` learns without weights (NoDecor)."""

    steps: int  # T_r, for each length or, mixed, in all
    batch_size: int  # N
    learning_rate: float  # alpha_r
    weights: Decorrelation | None = field(default_factory=Decorrelation)
    decay: bool = True  # the learning rate falls to nothing over the steps of a stage
    order: Literal["lengths", "mixed"] = "mixed"
    warm_up: int = 20  # steps of a stage before the weights come in: Z means nothing yet
    held_out: float = 0.05  # share of the samples that judge, and are never learned from
    check_every: int = 25
    patience: int | None = 4  # checks without gain before a stage ends; None takes all steps, and the last network
    random_weights: bool = False  # the control: weights that mean nothing, with the effective share of the learned ones
    device: str = "cpu"
    seed: int = 0


@dataclass
class Progress:
    """Where a run stands, and the curves on the way: all that a checkpoint keeps beside the tensors."""

    stage: int = 0
    step: int = 0
    best_loss: float = math.inf
    checks_without_gain: int = 0
    steps: list[dict[str, float]] = field(default_factory=list)  # loss, dependence, share, largest weight
    checks: list[dict[str, float]] = field(default_factory=list)  # loss on held-out samples
    interrupted: bool = False
    seconds: float = 0.0


@denormals_as_zero()
def train(
    network: RuleNetwork,
    samples: RuleSamples,
    o: TrainingOptions,
    checkpoints: Checkpoints | None = None,
    deadline: Deadline | None = None,
) -> Progress:
    """Learn P(head relation | body) in place. Ctrl-C ends it with what was learned so far, and so does the deadline."""
    began, budget = time.perf_counter(), (deadline or Deadline(None)).part(TRAINING_SHARE)
    learned, judging = samples.split(o.held_out, o.seed)
    network.to(o.device)
    adam = torch.optim.Adam(network.parameters(), lr=o.learning_rate)
    body_weights = BodyWeights(samples.n_bodies, o.weights, device=o.device)
    best = {name: p.detach().clone() for name, p in network.named_parameters()}
    at = Progress()
    if checkpoints:
        checkpoints.restore(at, network, adam, body_weights, best)

    lengths = [int(n) for n in range(1, samples.max_length + 1) if (samples.lengths == n).any()]
    stages = [(n,) for n in lengths] if o.order == "lengths" else [tuple(lengths)]
    total = o.steps * len(stages)
    try:
        with progress_bar("learning", total) as advance, interrupt_later() as interrupted:
            advance(at.stage * o.steps + at.step)
            for stage in stages[at.stage :]:
                pool, judge = Pool(learned, stage, o.device), Pool(judging, stage, o.device)
                test = judge.draw(HELD_OUT_SAMPLES, (o.seed, 1, at.stage)) if len(judge) else None
                while at.step < o.steps and not budget.passed:
                    batch = pool.draw(o.batch_size, (o.seed, 0, at.stage, at.step))
                    Z, logits = network.forward_mixed(batch.bodies)  # (U, d), (U, 2R+1)
                    w, record = weigh(body_weights, batch, Z, o, at)  # (U,)
                    loss = cross_entropy(logits, batch, w)
                    adam.param_groups[0]["lr"] = o.learning_rate * (1 - o.decay * at.step / o.steps)
                    adam.zero_grad(set_to_none=True)
                    loss.backward()  # type: ignore[no-untyped-call]
                    adam.step()
                    at.steps.append({"loss": float(loss.detach()), **record})
                    at.step += 1
                    advance(1, "  ".join(f"{name} {value:.3f}" for name, value in at.steps[-1].items()))
                    if test and at.step % o.check_every == 0 and not gains(network, test, best, o, at):
                        break
                    if checkpoints and (checkpoints.due() or interrupted()):
                        checkpoints.keep(at, network, adam, body_weights, best)
                    if interrupted():
                        raise KeyboardInterrupt
                if test and o.patience:
                    if at.step % o.check_every:
                        gains(network, test, best, o, at)
                    network.load_state_dict(best)
                at.stage, at.step, at.best_loss, at.checks_without_gain = at.stage + 1, 0, math.inf, 0
            if checkpoints:  # what comes after learning may be interrupted too
                checkpoints.keep(at, network, adam, body_weights, best)
    except KeyboardInterrupt:
        at.interrupted = True
    at.seconds += time.perf_counter() - began
    return at


def cross_entropy(logits: Tensor, batch: Batch, w: Tensor) -> Tensor:
    """Weighted mean over the N samples of -log P(head relation | body); a cell stands for all samples in it."""
    log_p = logits.log_softmax(1)[batch.cell_rows, batch.cell_heads]  # (C,)
    return -(batch.cell_counts * w[batch.cell_rows] * log_p).sum() / batch.cell_counts.sum()


def weigh(
    body_weights: BodyWeights, batch: Batch, Z: Tensor, o: TrainingOptions, at: Progress
) -> tuple[Tensor, dict[str, float]]:
    """Weights of the batch (U,), with what there is to see of them; equal ones before the warm-up is over."""
    if o.weights is None or at.step < o.warm_up:
        return torch.ones(len(Z), device=Z.device), {}
    w, steps = body_weights.update(batch.ids, Z, batch.counts)
    if o.random_weights:
        generator = torch.Generator().manual_seed(o.seed * 1_000_003 + at.stage * 100_003 + at.step)
        w = random_weights(batch.counts, steps[-1].share, generator).to(Z)
    return w, {"dependence": steps[-1].dependence, "share": steps[-1].share, "largest": steps[-1].largest}


def gains(network: RuleNetwork, test: Batch, best: dict[str, Tensor], o: TrainingOptions, at: Progress) -> bool:
    """Look at held-out samples, keep the best network, and say whether it is worth going on."""
    with torch.no_grad():
        logits = network.forward_mixed(test.bodies)[1]
        loss = float(cross_entropy(logits, test, torch.ones(len(test.bodies), device=logits.device)))
    at.checks.append({"stage": at.stage, "step": at.step, "loss": loss})
    if loss < at.best_loss - 1e-4:
        at.best_loss, at.checks_without_gain = loss, 0
        for name, p in network.named_parameters():
            best[name].copy_(p.detach())
    else:
        at.checks_without_gain += 1
    return o.patience is None or at.checks_without_gain < o.patience
