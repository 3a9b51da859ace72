"""The training loop: algorithm 1 of the paper, on one page.

For each batch of samples: embed the bodies, find weights that make the dimensions of the embeddings as independent as
possible, and take one step on the weighted cross-entropy. Details that the paper does not specify are options: lengths
one after the other or mixed, a warm-up without weights, and early stopping on held-out samples.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import torch

from stablerule.errors import OptionError
from stablerule.learning.batches import Batch, SamplePool
from stablerule.learning.checkpoints import Progress
from stablerule.learning.decorrelation import BodyWeights, draw_random_weights
from stablerule.learning.network import denormals_as_zero
from stablerule.learning.options import LARGE_BATCH
from stablerule.progress import progress_bar
from stablerule.reasoning.budget import Budget, interrupt_later
from stablerule.reasoning.learned import Course

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule.learning.checkpoints import Checkpoints
    from stablerule.learning.network import RuleNetwork
    from stablerule.learning.options import Decorrelation, Training
    from stablerule.samples import RuleSamples

TRAINING_SHARE = 0.6  # of the time left: measuring rules and choosing the aggregation come after it
HELD_OUT_SAMPLES = 20_000  # enough to see an improvement, few enough to take no noticeable time


@denormals_as_zero()
def train_network(
    network: RuleNetwork,
    samples: RuleSamples,
    o: Training,
    decorrelation: Decorrelation | None,
    seed: int = 0,
    device: str = "cpu",
    checkpoints: Checkpoints | None = None,
    budget: Budget | None = None,
) -> Course:
    """Train the network in place. Ctrl-C and the time budget end training early and keep the network so far.

    Both leave a checkpoint, from which a run with more time continues.
    """
    began, time_for_it = time.perf_counter(), (budget or Budget(None)).take_part(TRAINING_SHARE)
    learned, judging = samples.split(o.held_out, seed)
    network.to(device)
    adam = torch.optim.Adam(network.parameters(), lr=o.learning_rate)
    body_weights = BodyWeights(samples.n_bodies, decorrelation, device=device)
    best = {name: p.detach().clone() for name, p in network.named_parameters()}
    at = Progress()
    if checkpoints:
        checkpoints.restore(at, network, adam, body_weights, best)

    lengths = [int(n) for n in range(1, samples.max_length + 1) if (samples.lengths == n).any()]
    stages = [(n,) for n in lengths] if o.order == "lengths" else [tuple(lengths)]
    total, out_of_time = o.steps * len(stages), False
    try:
        with progress_bar("learning", total) as advance, interrupt_later() as interrupted:
            advance(at.stage * o.steps + at.step)
            for stage in stages[at.stage :]:
                pool, judge = SamplePool(learned, stage, device), SamplePool(judging, stage, device)
                test = judge.draw(HELD_OUT_SAMPLES, (seed, 1, at.stage)) if len(judge) else None
                while at.step < o.steps and not (out_of_time := time_for_it.passed):
                    batch = pool.draw(o.batch_size or LARGE_BATCH, (seed, 0, at.stage, at.step))
                    Z, logits = network.forward_mixed(batch.bodies)  # (U, d), (U, 2R+1)
                    w, record = weigh_training_batch(body_weights, batch, Z, decorrelation, at, o.warm_up, seed)  # (U,)
                    loss = compute_training_loss(logits, batch, w)
                    adam.param_groups[0]["lr"] = o.learning_rate * (1 - o.decay * at.step / o.steps)
                    adam.zero_grad(set_to_none=True)
                    loss.backward()  # type: ignore[no-untyped-call]
                    adam.step()
                    at.steps.append({"loss": float(loss.detach()), **record})
                    at.step += 1
                    advance(1, "  ".join(f"{name} {value:.3f}" for name, value in at.steps[-1].items()))
                    if test and at.step % o.check_every == 0 and not improves_held_out_loss(network, test, best, o, at):
                        break
                    if checkpoints and (checkpoints.is_due() or interrupted()):
                        checkpoints.keep(at, network, adam, body_weights, best)
                    if interrupted():
                        raise KeyboardInterrupt
                if checkpoints and out_of_time:  # a resumed run continues from here, not from the best network
                    checkpoints.keep(at, network, adam, body_weights, best)
                if test and o.patience:
                    restore_best_network(network, test, best, o, at)
                if out_of_time:
                    break
                at.stage, at.step, at.best_loss, at.checks_without_gain = at.stage + 1, 0, math.inf, 0
            if checkpoints and not out_of_time:  # the stages after training may be interrupted, too
                checkpoints.keep(at, network, adam, body_weights, best)
        ended_by = "minutes" if out_of_time else "itself"
    except KeyboardInterrupt:
        ended_by = "interrupt"
    at.seconds += time.perf_counter() - began
    return Course(steps=at.steps, checks=at.checks, ended_by=ended_by, seconds=at.seconds)


def check_torch_device(device: str) -> None:
    """Raise an error for a device that torch does not have."""
    try:
        torch.empty(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(f"Argument 'device' is {device!r}, but torch has no such device here. Use 'cpu'.") from error


def compute_training_loss(logits: Tensor, batch: Batch, w: Tensor) -> Tensor:
    """Weighted mean over the N samples of -log P(head relation | body); a cell stands for all samples in it."""
    log_p = logits.log_softmax(1)[batch.cell_rows, batch.cell_heads]  # (C,)
    return -(batch.cell_counts * w[batch.cell_rows] * log_p).sum() / batch.cell_counts.sum()


def weigh_training_batch(
    body_weights: BodyWeights,
    batch: Batch,
    Z: Tensor,
    decorrelation: Decorrelation | None,
    at: Progress,
    warm_up: int,
    seed: int,
) -> tuple[Tensor, dict[str, float]]:
    """Return the weights of a batch (U,) and their diagnostics; the weights are equal during the warm-up."""
    if decorrelation is None or at.step < warm_up:
        return torch.ones(len(Z), device=Z.device), {}
    w, steps = body_weights.update(batch.ids, Z, batch.counts)
    if decorrelation.random:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + at.stage * 100_003 + at.step)
        w = draw_random_weights(batch.counts, steps[-1].share, generator).to(Z)
    return w, {"dependence": steps[-1].dependence, "share": steps[-1].share, "largest": steps[-1].largest}


def restore_best_network(network: RuleNetwork, test: Batch, best: dict[str, Tensor], o: Training, at: Progress) -> None:
    """Restore the network that was best on held-out samples; it may be the latest one."""
    if at.step % o.check_every:
        improves_held_out_loss(network, test, best, o, at)
    network.load_state_dict(best)


def improves_held_out_loss(
    network: RuleNetwork, test: Batch, best: dict[str, Tensor], o: Training, at: Progress
) -> bool:
    """Check the held-out loss, store the network if it is the best, and return whether to continue training."""
    with torch.no_grad():
        logits = network.forward_mixed(test.bodies)[1]
        loss = float(compute_training_loss(logits, test, torch.ones(len(test.bodies), device=logits.device)))
    at.checks.append({"stage": at.stage, "step": at.step, "loss": loss})
    if loss < at.best_loss - 1e-4:
        at.best_loss, at.checks_without_gain = loss, 0
        for name, p in network.named_parameters():
            best[name].copy_(p.detach())
    else:
        at.checks_without_gain += 1
    return o.patience is None or at.checks_without_gain < o.patience
