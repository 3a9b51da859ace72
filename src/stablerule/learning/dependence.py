"""Measure how much the dimensions of embeddings depend on each other: L_d of section 4.2, in two fast exact forms.

With p the share of mass of each unique body (multiplicity times weight, sum 1) and orders a, b up to O,

    L_d = sum over a,b  sum over i != j  ( sum_n p_n Z_ni^a Z_nj^b  -  (sum_n p_n Z_ni^a)(sum_n p_n Z_nj^b) )^2

A direct implementation computes O^2 covariance matrices of d x d at every step. `FeatureForm` is for few dimensions,
`GramForm` for many; both have their gradient written out.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, pairwise

import torch
from torch import Tensor

CLAMP = 4.0  # standard deviations; beyond, one outlier would dominate all sums of high powers
FLOPS_PER_READ = 25  # operations of a matrix product in the time that a matrix-vector product reads one number (CPUs)


class FeatureForm:
    """L_d by the covariances of all features, with U * (O*d)^2 operations for each step: for few dimensions.

    Features f (O, d, U), such as powers of Z, are centred by their mean under equal weights, of mass p (U,). This does
    not change covariances, and makes single precision sufficient.

    >>> Z, p = torch.tensor([[1.0, 3.0], [3.0, 5.0]]), torch.tensor([0.5, 0.5])  # two dimensions that move together
    >>> FeatureForm(Z.T[None], p).compute_value(p)  # a covariance of 1 at (i, j) and at (j, i)
    2.0
    """

    def __init__(self, f: Tensor, p: Tensor) -> None:
        self.orders = len(f)
        self.F = f.flatten(0, 1) - (f.flatten(0, 1) @ p.to(f))[:, None]  # (O*d, U)
        self.noise = _bound_rounding_noise(self.F, float((self.F.square() @ p.to(f)).sum()))

    def compute_value(self, p: Tensor) -> float:
        """Compute L_d at the mass p (U,)."""
        return float(self._compute_covariance(p.to(self.F))[0].square().sum())

    def compute_gradient(self, p: Tensor) -> tuple[float, Tensor]:
        """Compute L_d and its gradient in p (U,): 2 F_n C F_n - 4 F_n C mean, up to a constant since sum(p) = 1."""
        C, mean = self._compute_covariance(p.to(self.F))
        return float(C.square().sum()), 2 * ((C @ self.F - 2 * (C @ mean)[:, None]) * self.F).sum(0).to(p)

    def _compute_covariance(self, p: Tensor) -> tuple[Tensor, Tensor]:
        mean = self.F @ p  # (O*d,)
        C = _multiply_symmetric(self.F * p, self.F).addr_(mean, mean, alpha=-1)  # (O*d, O*d)
        by_order = C.view(self.orders, len(mean) // self.orders, self.orders, -1)  # (O, d, O, d)
        by_order.diagonal(dim1=1, dim2=3).zero_()  # i = j
        return C, mean


class GramForm:
    """L_d by the inner products of bodies, S = F^T F, with U^2 + U*d operations for each step: for many dimensions.

    With F (O*d, U) as above, over all orders and all i, j together

        all  = p^T (S*S) p  -  2 sum_n p_n (S p)_n^2  +  (p^T S p)^2
        same = sum over a,b,i of C_ab,i^2  with  C_ab,i = E[f_a,i f_b,i] - E[f_a,i] E[f_b,i],  the part of `all` with i
        = j L_d  = all - same

    f (B, d, U) has the features first and then their products; `product[a][b]` is the index of f_a * f_b. For powers of
    Z it is the power a + b. f is centred in place.

    >>> Z, p = torch.tensor([[1.0, 3.0], [3.0, 5.0]]), torch.tensor([0.5, 0.5])
    >>> GramForm(torch.stack([Z.T, Z.T**2]), [[1]], p).compute_value(p)
    2.0
    """

    def __init__(self, f: Tensor, product: list[list[int]], p: Tensor) -> None:
        self.orders, self.product = len(product), torch.tensor(product, device=f.device).flatten()  # (O*O,)
        self.E = f.flatten(0, 1)  # (B*d, U)
        self.centre = self.E @ p.to(f)  # (B*d,)
        self.E -= self.centre[:, None]
        self.F = self.E[: self.orders * f.shape[1]]  # (O*d, U)
        S = _multiply_symmetric(self.F.T, self.F.T)  # (U, U)
        self.noise = _bound_rounding_noise(self.F, float(S.diagonal() @ p.to(S)))
        self.S = S if 2 * len(self.F) >= len(S) else None  # otherwise S v = F^T (F v) reads less
        self.SS = S.square_() if self.S is None else S.square()

    def compute_value(self, p: Tensor) -> float:
        """Compute L_d at the mass p (U,)."""
        return self._compute_parts(p)[0]

    def compute_gradient(self, p: Tensor) -> tuple[float, Tensor]:
        """Compute L_d and its gradient in p (U,), up to a constant since sum(p) = 1."""
        value, raw, C, pSp, Sp, SSp, FpSp = self._compute_parts(p)
        on_E = torch.zeros_like(raw).index_add_(0, self.product, C.flatten(0, 1), alpha=-1)  # (B, d)
        on_F = on_E[: self.orders]
        on_F.add_((C * raw[: self.orders]).sum(1), alpha=2).sub_(FpSp.view_as(on_F), alpha=2)
        g = torch.addcmul(SSp, Sp, 2 * pSp - Sp)  # (U,)
        return value, torch.addmv(g, self.E.T, on_E.flatten(), beta=2, alpha=2).to(p)

    def _compute_parts(self, p: Tensor) -> tuple[float, Tensor, Tensor, float, Tensor, Tensor, Tensor]:
        q, K = p.to(self.E), len(self.F)
        if self.S is not None:
            Sp = self.S @ q  # (U,)
            moments, FpSp = torch.stack([q, q * Sp]) @ self.E.T  # one pass over E for both (B*d,)
            FpSp = FpSp[:K]  # (O*d,)
        else:
            moments = self.E @ q
            Sp = moments[:K] @ self.F
            FpSp = self.F @ (q * Sp)
        SSp = self.SS @ q
        raw = (moments + self.centre).view(-1, K // self.orders)  # E[f_a] and E[f_a f_b] (B, d)
        first = raw[: self.orders]  # (O, d)
        C = raw.index_select(0, self.product).view(self.orders, *first.shape)
        C = torch.addcmul(C, first[:, None], first, value=-1)  # (O, O, d)
        # With little dependence these sums nearly cancel, so they are computed in double precision.
        pSp = float(p @ Sp.to(p))
        every = float(p @ torch.addcmul(SSp, Sp, Sp, value=-2).to(p)) + pSp**2
        return every - float(torch.sum(C * C, dtype=torch.float64)), raw, C, pSp, Sp, SSp, FpSp


def standardise_dimensions(Z: Tensor, p: Tensor) -> Tensor:
    """Scale every dimension of Z (d, U) to mean 0 and deviation 1 under the mass p (U,), clamped; a constant becomes 0.

    LSTM states have a deviation near 0.13. Their squares would be tiny in comparison, and the weights would hardly
    move.
    """
    p = p.to(Z)
    mean = Z @ p  # (d,)
    Z = Z - mean[:, None]
    deviation = (Z.square() @ p).sqrt()
    constant = deviation <= 16 * torch.finfo(Z.dtype).eps * mean.abs()  # only rounding errors are left
    return Z.div_(deviation.masked_fill(constant, math.inf)[:, None]).clamp_(-CLAMP, CLAMP)


def raise_to_powers(Z: Tensor, highest: int) -> Tensor:
    """Compute Z, Z^2, ...: (d, U) -> (highest, d, U)."""
    f = Z.new_empty(highest, *Z.shape)
    f[0] = Z
    for a in range(1, highest):
        torch.mul(f[a - 1], f[0], out=f[a])
    return f


def add_products(f: Tensor) -> tuple[Tensor, list[list[int]]]:
    """Append the products of features, (O, d, U) -> (B, d, U), and return the index of each product."""
    orders = range(len(f))
    pairs = list(combinations_with_replacement(orders, 2))
    product = [[len(f) + pairs.index((min(a, b), max(a, b))) for b in orders] for a in orders]
    return torch.cat([f, torch.stack([f[a] * f[b] for a, b in pairs])]), product


def _multiply_symmetric(A: Tensor, B: Tensor, parts: int = 6) -> Tensor:
    """Compute A B^T, which must be symmetric; the part below the diagonal is copied."""
    S = A.new_empty(len(A), len(A))
    for i, j in pairwise(len(A) * k // parts for k in range(parts + 1)):
        torch.mm(A[i:j], B[i:].T, out=S[i:j, i:])
        S[j:, i:j] = S[i:j, j:].T
    return S


def is_gram_cheaper(U: int, d: int, orders: int, steps: int) -> bool:
    """Compare the work of the two forms in numbers read; allocating a number costs about twelve reads.

    With few dimensions `same` is most of `all`, so single precision loses too many digits, and both forms are fast.
    """
    K = orders * d
    gram = U * U * (12 + K / FLOPS_PER_READ) + (steps + 1) * U * (U + 6 * K)
    return d >= 64 and gram < (steps + 1) * 4 * U * K * K / FLOPS_PER_READ


def _bound_rounding_noise(F: Tensor, variance: float) -> float:
    """Bound the rounding error of L_d by the sum of the variances of all features."""
    return torch.finfo(F.dtype).eps * variance**2
