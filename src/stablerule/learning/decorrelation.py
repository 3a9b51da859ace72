"""Learn a weight for each body, such that the dimensions of Z are as independent as possible (section 4.2).

Without constraints, the dependence L_d is zero when one sample has all the weight. So Z is standardised first, the
objective is relative and penalises uneven weights, and the effective share of the samples has a minimum. The logits are
stored by body and carried over from batch to batch, so one step for each batch is enough. `literal=True` is the paper's
form, for comparison.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from stablerule.errors import InputError, OptionError
from stablerule.learning.dependence import (
    FeatureForm,
    GramForm,
    add_products,
    is_gram_cheaper,
    raise_to_powers,
    standardise_dimensions,
)
from stablerule.learning.options import Decorrelation

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's usual constants


class WeightStep(NamedTuple):
    """Diagnostics of a step, which show the effect of the weights."""

    dependence: float  # L_d(w) / L_d(1): 1 for equal weights, 0 if all dimensions are independent
    share: float  # effective share of the samples, 1 for equal weights
    largest: float  # the largest weight; their mean is 1


class Weighting(NamedTuple):
    """The weights of a batch (U,), and a record for each step: the first is the start, the last the result."""

    weights: Tensor
    steps: list[WeightStep]


class BodyWeights:
    """A weight for each body, learned batch by batch. Body ids are 0 .. body_count-1.

    >>> a, b = torch.randn(2, 200, generator=torch.Generator().manual_seed(0))
    >>> Z = torch.stack([a, a + b], dim=1)  # the second dimension follows the first
    >>> weights = BodyWeights(200, Decorrelation(weight_steps=10))
    >>> result = weights.update(torch.arange(200), Z, torch.ones(200))
    >>> result.steps[0].dependence, result.steps[-1].dependence < 0.5, result.steps[-1].share >= 0.5
    (1.0, True, True)
    """

    def __init__(
        self,
        body_count: int,
        options: Decorrelation | None = None,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.options = options or Decorrelation()
        self.generator = generator or torch.Generator().manual_seed(0)  # used by "rff" and by the literal start
        self.logits = torch.zeros(body_count, dtype=torch.float64, device=device)  # log w, initially 0
        self.adam = torch.zeros(4, body_count, dtype=torch.float64, device=device)
        self.adam[2:] = 1.0  # see _adam
        self.fourier = torch.zeros(2, 0, dtype=torch.float64, device=device)  # frequency and phase of each function
        if self.options.features == "rff":
            count = self.options.fourier_count
            frequency = torch.randn(count, generator=self.generator, dtype=torch.float64)
            phase = 2 * math.pi * torch.rand(count, generator=self.generator, dtype=torch.float64)
            self.fourier = torch.stack([frequency, phase]).to(device)

    def update(self, body_ids: Tensor, embeddings: Tensor, counts: Tensor) -> Weighting:
        """Improve the weights of a batch of unique bodies: ids (U,), Z (U, d), multiplicities (U,).

        The result has sum(counts * weights) = sum(counts). The embeddings get no gradient.
        """
        Z = embeddings.detach()
        _check_body_batch(Z, counts)
        _check_body_ids(body_ids, len(Z), len(self.logits))
        with torch.inference_mode():  # many small operations; the gradient is written out
            w, steps = self._improve(body_ids, Z, counts.to(self.logits))
        w = w.clone().to(Z)
        return Weighting(w if self.options.literal else _keep_above_zero(w), steps)

    def _improve(self, body_ids: Tensor, Z: Tensor, m: Tensor) -> tuple[Tensor, list[WeightStep]]:
        o, N = self.options, float(m.sum())
        even = m / N  # p under equal weights (U,); arrays with only U numbers are in double precision
        form = self.form(Z, even)
        base = form.compute_value(even)
        if base <= form.noise:  # no dependence, as with a single body or dimension
            return torch.ones_like(even), [WeightStep(1.0, 1.0, 1.0)]
        w, adam = self._start(body_ids, even)  # (U,), (4, U)
        share = compute_effective_share(w, even)
        steps: list[WeightStep] = []
        for left in range(o.weight_steps, -1, -1):
            p = even * w
            L_d, g = form.compute_gradient(p) if left else (form.compute_value(p), p)
            steps.append(WeightStep(L_d / base, share, float(w.max())))
            if not left:
                break
            if o.literal:  # updates the weight of each sample, at least 0; its gradient is divided by N
                ahead = _rescale_weights(
                    (w - o.weight_rate * _take_adam_step(adam, (g - p @ g) / N)).clamp_min(0), even
                )
            else:
                # Minimise L_d(w)/L_d(1) + lambda * mean of (w-1)^2 in the logits of w ~ exp(t): dt_n = w_n (g_n - p.g)
                # for one sample of the body. So a body with m samples moves like m bodies with one sample each.
                g = torch.add(g / base, w, alpha=2 * o.weight_penalty)
                ahead = _rescale_weights(w * (-o.weight_rate * _take_adam_step(adam, w * (g - p @ g))).exp(), even)
            share = 1 / float(even @ ahead.square())  # the effective share, as sum(even * ahead) = 1
            if share < o.share_floor and not o.literal:
                if o.restart:
                    break
                # Carried-over weights stay at the minimum share: stopping there would freeze them while Z changes.
                ahead = _temper_weights(ahead.log(), even, o.share_floor)
                share = compute_effective_share(ahead, even)
            w = ahead if o.literal else _keep_above_zero(ahead)  # each step multiplies, so 0 would stay 0
        if not (o.restart or o.literal):
            self.logits[body_ids], self.adam[:, body_ids] = w.log(), adam
        return w, steps

    def _start(self, body_ids: Tensor, even: Tensor) -> tuple[Tensor, Tensor]:
        o, adam = self.options, self.adam[:, body_ids]
        if o.literal:
            draws = torch.rand(len(even), generator=self.generator, dtype=even.dtype)
            return _rescale_weights(draws.to(even.device), even), adam
        # The weights from other batches may be too uneven for this one.
        return torch.ones_like(even) if o.restart else _temper_weights(self.logits[body_ids], even, o.share_floor), adam

    def form(self, Z: Tensor, p: Tensor) -> FeatureForm | GramForm:
        """Prepare the faster form of L_d for Z (U, d); p (U,) is the mass under equal weights."""
        o = self.options
        Z = Z.T if o.literal else standardise_dimensions(Z.T, p)  # (d, U)
        orders = o.moment_order if o.features == "moments" else o.fourier_count
        gram = is_gram_cheaper(Z.shape[1], Z.shape[0], orders, o.weight_steps)
        if o.features == "moments":
            f = raise_to_powers(Z, 2 * orders if gram else orders)
            product = [[a + b + 1 for b in range(orders)] for a in range(orders)]
        else:
            f = torch.stack([2**0.5 * (a * Z + b).cos() for a, b in self.fourier.T.tolist()])
            f, product = add_products(f) if gram else (f, [])
        return GramForm(f, product, p) if gram else FeatureForm(f, p)

    def measure_dependence(self, embeddings: Tensor, counts: Tensor, weights: Tensor) -> float:
        """Return L_d(w) / L_d(1) for any weights, such as random ones; 1 without dependence."""
        Z = embeddings.detach()
        _check_body_batch(Z, counts)
        even = counts.to(self.logits) / counts.sum()
        form = self.form(Z, even)
        base = form.compute_value(even)
        return form.compute_value(even * _rescale_weights(weights.to(even), even)) / base if base > form.noise else 1.0

    def copy_state(self) -> dict[str, Tensor]:
        """Return the state for a checkpoint."""
        tables = {"logits": self.logits, "adam": self.adam, "fourier": self.fourier}
        return {name: table.clone() for name, table in tables.items()} | {"generator": self.generator.get_state()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore the state of weights with the same bodies and options."""
        for name, mine in (("logits", self.logits), ("adam", self.adam), ("fourier", self.fourier)):
            found = tuple(state[name].shape) if name in state else None
            if found != mine.shape:
                raise InputError(f"The saved weights have {name!r} of shape {found}, expected {tuple(mine.shape)}.")
            mine.copy_(state[name])
        self.generator.set_state(state["generator"])


def draw_random_weights(counts: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Draw random weights with a given effective share: the control for learned weights.

    >>> counts = torch.tensor([1, 5, 2, 2])
    >>> w = draw_random_weights(counts, 0.8, torch.Generator().manual_seed(0))
    >>> round(float((counts * w).sum()), 6), round(compute_effective_share(w, counts), 6)
    (10.0, 0.8)
    """
    _check_sample_counts(counts)
    if not 0 < share <= 1:
        raise OptionError(f"share must be above 0 and at most 1, got {share}.")
    even = counts.double() / counts.sum()
    w = _temper_weights(
        100 * torch.randn(len(even), generator=generator, dtype=even.dtype).to(even.device), even, share
    )
    if compute_effective_share(w, even) > share + 1e-6:
        raise OptionError(f"share must be larger for so few bodies ({len(even)}), got {share}.")
    return w


def compute_effective_share(weights: Tensor, counts: Tensor) -> float:
    """Return the effective sample size of weighted samples, as a share of all.

    >>> compute_effective_share(torch.tensor([2.0, 0.0]), torch.tensor([1, 1]))
    0.5
    """
    w, m = weights.double(), counts.double()
    return float((m @ w).square() / (m.sum() * (m @ w.square())))


def _take_adam_step(adam: Tensor, g: Tensor) -> Tensor:
    """Update Adam's moments and bias corrections of each body (4, U) in place; return the step (U,)."""
    first, second, left1, left2 = adam
    first.mul_(BETA1).add_(g, alpha=1 - BETA1)
    second.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
    left1 *= BETA1
    left2 *= BETA2
    step: Tensor = first / (1 - left1) / ((second / (1 - left2)).sqrt() + EPSILON)
    return step


def _rescale_weights(w: Tensor, even: Tensor) -> Tensor:
    """Scale the weights such that the mean weight of a sample is 1."""
    return w / (even @ w)


def _keep_above_zero(w: Tensor) -> Tensor:
    """Raise weights that rounded to 0 to the smallest number of their precision."""
    return w.clamp_min(torch.finfo(w.dtype).tiny)


def _temper_weights(t: Tensor, even: Tensor, share: float) -> Tensor:
    """Turn logits into weights ~ exp(s * t), with the largest s up to 1 that keeps this effective share."""
    t = t - t.max()
    w = _rescale_weights(t.exp(), even)
    if compute_effective_share(w, even) >= share:
        return w
    low, high = 0.0, 1.0  # the share falls as s grows, because log sum exp is convex
    for _ in range(40):
        s = (low + high) / 2
        low, high = (s, high) if compute_effective_share((s * t).exp(), even) >= share else (low, s)
    return _rescale_weights((low * t).exp(), even)


def _check_sample_counts(counts: Tensor) -> None:
    if counts.ndim != 1 or not len(counts):
        raise InputError(f"A batch needs at least one body, got counts of shape {tuple(counts.shape)}.")
    if not (counts > 0).all() or not math.isfinite(counts.sum()):
        raise InputError("counts must be above 0; they are the occurrences of each unique body in the batch.")


def _check_body_batch(Z: Tensor, counts: Tensor) -> None:
    _check_sample_counts(counts)
    if Z.ndim != 2 or not Z.is_floating_point() or len(Z) != len(counts) or not Z.shape[1]:
        shapes = f"{Z.dtype} {tuple(Z.shape)} for {len(counts)} counts"
        raise InputError(f"embeddings must be floats (U, d), one row for each count, got {shapes}.")
    if not math.isfinite(Z.sum()):
        bad = int((~Z.isfinite()).any(1).sum())
        raise InputError(f"{bad} of {len(Z)} embeddings are NaN or infinite. A smaller learning rate may help.")


def _check_body_ids(body_ids: Tensor, count: int, body_count: int) -> None:
    if body_ids.shape != (count,) or body_ids.dtype != torch.int64:
        shape = f"{body_ids.dtype} {tuple(body_ids.shape)}"
        raise InputError(f"body_ids must be int64 ({count},), one for each embedding, got {shape}.")
    in_order = body_ids.sort().values
    if not 0 <= int(in_order[0]) <= int(in_order[-1]) < body_count:
        span = f"{int(in_order[0])}..{int(in_order[-1])}"
        raise InputError(f"body_ids must be in 0..{body_count - 1}, got {span}.")
    if (in_order[1:] == in_order[:-1]).any():
        raise InputError("body_ids must be distinct; put repetitions of a body into counts.")
