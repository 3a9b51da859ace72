"""The compositional network for P(head relation | body): section 4.3 of the paper, on one page.

A body is read like a sentence. An LSTM encodes every pair of neighbours. The most likely pair is replaced by the
relation that it resembles (a mixture of table rows), and so on until one vector Z is left. Z is compared with every
relation, and with NEG for "no relation closes this walk".

A direct implementation runs an LSTM for every window of every body. The same values can be computed much faster,
because an LSTM over two relation ids needs no d x d product for each body:

- the input gates of a relation, X = H W_ih^T + b, are computed once for each relation;
- the state h1, c1 after the first item depends on that item only, and so does its contribution to the gates of the
  second, Y = h1 W_hh^T;
- so the gates of pair (a, b) are X[b] + Y[a], and a pair that occurs in many bodies is computed once and gathered;
- a merged pair is a mixture of table rows, so its input gates are the same mixture of their input gates.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from stablerule.errors import InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids

Selector = Literal["straight-through", "argmax"]


class Tables(NamedTuple):
    """Tables that depend on the parameters only, computed once for each step."""

    gates: Tensor  # X: input gates of each relation (2R, 4d)
    merged_gates: Tensor  # input gates of each row of H W2; a merged pair is a mixture of them (2R, 4d)
    keys: Tensor  # H W2 W1^T / sqrt(d), NEG in the last row (2R+1, d): Z W1 (H W2)^T / sqrt(d) = Z keys^T


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """Let torch round numbers below 1e-38 to zero in all its threads, and restore the setting afterwards.

    A confident softmax gives such numbers to all other relations, and processors multiply them many times slower. No
    rule depends on them.
    """
    before = are_denormals_zero()
    torch.set_flush_denormal(True)  # without effect on processors that don't support it
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def are_denormals_zero() -> bool:
    """Return whether this thread rounds such numbers to zero now."""
    return float(torch.tensor([1e-39]) * 0.5) == 0


class RuleNetwork(nn.Module):
    """P(head relation | body) for 2R relations (`r + R` is the inverse of `r`) and NEG, the last of the 2R+1 logits.

    `selector="argmax"` is the paper's choice of a pair, which gives the scorer of pairs no gradient. "straight-through"
    makes the same choice and gives the scorer the gradient of its softmax. Initial values are drawn from `generator`,
    if given.

    >>> network = RuleNetwork(relation_count=3, size=8, generator=torch.Generator().manual_seed(0))
    >>> Z, logits = network(torch.tensor([[0, 1, 5], [2, 2, 4]]))
    >>> Z.shape, logits.shape
    (torch.Size([2, 8]), torch.Size([2, 7]))
    """

    def __init__(
        self,
        relation_count: int,
        size: int,
        *,
        selector: Selector = "straight-through",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if relation_count < 1 or size < 1:
            raise OptionError(f"relation_count and size must be at least 1, got {relation_count} and {size}.")
        if selector not in ("straight-through", "argmax"):
            raise OptionError(f"selector must be 'straight-through' or 'argmax', got {selector!r}.")
        self.relation_count, self.size, self.selector = relation_count, size, selector

        def normal(*shape: int, deviation: float) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape, generator=generator) * deviation)

        d, small = size, size**-0.5
        self.relations = normal(2 * relation_count, d, deviation=1.0)  # H
        self.negative = normal(1, d, deviation=1.0)  # the row of NEG; no pair is merged into it
        self.input_weight = normal(4 * d, d, deviation=small)  # W_ih; gates i, f, g, o as in torch.nn.LSTM
        self.state_weight = normal(4 * d, d, deviation=small)  # W_hh
        self.bias = nn.Parameter(torch.zeros(4 * d))
        self.window_weight = normal(d, deviation=small)  # W_f; the paper's b_f cancels in its softmax
        self.query_weight = normal(d, d, deviation=small)  # W1
        self.key_weight = normal(d, d, deviation=small)  # W2

    def forward(self, bodies: Tensor) -> tuple[Tensor, Tensor]:
        """Embed unique bodies of one length (U, L) as Z (U, d) and score every head relation: logits (U, 2R+1)."""
        self._check(bodies, smallest=0)
        tables = self.compute_tables()
        Z = self.encode(bodies, tables)
        return Z, self._compute_logits(Z, tables)

    def forward_mixed(self, bodies: Tensor) -> tuple[Tensor, Tensor]:
        """Run `forward` on bodies of several lengths, padded at the end with -1; rows keep their order."""
        self._check(bodies, smallest=-1)
        if not len(bodies):
            return self(bodies)  # type: ignore[no-any-return]
        filled = bodies >= 0
        if not filled[:, 0].all() or (filled[:, 1:] & ~filled[:, :-1]).any():
            raise InputError("-1 may only pad the end of a body, after at least one relation; found it elsewhere.")
        tables = self.compute_tables()
        lengths = filled.sum(1)  # (U,)
        rows = [(lengths == n).nonzero()[:, 0] for n in torch.unique(lengths)]
        parts = [self.encode(bodies[r, : int(lengths[r[0]])], tables) for r in rows]
        Z = torch.cat(parts).index_select(0, torch.cat(rows).argsort())  # (U, d)
        return Z, self._compute_logits(Z, tables)

    def compute_tables(self) -> Tables:
        """Compute the tables shared by all bodies of a step."""
        H, W1, W2 = self.relations, self.query_weight, self.key_weight
        K = torch.cat([H, self.negative]) @ W2  # (2R+1, d)
        X = torch.cat([H, K[:-1]]) @ self.input_weight.T + self.bias  # (4R, 4d)
        return Tables(X[: len(H)], X[len(H) :], K @ W1.T / self.size**0.5)

    def encode(self, bodies: Tensor, tables: Tables) -> Tensor:
        """Merge each body down to one vector: (U, L) -> Z (U, d)."""
        items, ids = tables.gates, bodies  # input gates of all possible items (T, 4d); their rows (U, n)
        if bodies.shape[1] == 1:
            used, where = torch.unique(ids[:, 0], return_inverse=True)
            return _encode_first_relation(items.index_select(0, used))[0].index_select(0, where)

        while ids.shape[1] > 2:
            pairs, where = _find_unique_windows(ids, len(items))  # (P, 2), and for each window its row there (U, n-1)
            omega = self._list_windows(items, pairs)  # (P, d)
            merged = where + len(items)
            items = torch.cat([items, self._merge(omega, tables)])  # (T + P, 4d)
            Q = (omega @ self.window_weight)[where].softmax(1)  # (U, n-1)
            k = Q.argmax(1, keepdim=True)  # (U, 1)
            shorter = _replace_window(ids, merged, k)  # (U, n-1)
            if self.selector == "straight-through":
                lean = Q - Q.detach()  # zero, with the gradient of Q: trains the scorer without changing the value
                if ids.shape[1] == 3:  # two possible last merges: the gradient moves Z from the chosen to the other
                    Z = self._list_windows(items, shorter)  # (U, d)
                    with torch.no_grad():
                        gain = Z - self._list_windows(items, _replace_window(ids, merged, 1 - k))
                    return Z + lean.gather(1, k) * gain
                # Item j of the shorter sequence is the old j if the merge comes after it, the merge, or the old j+1.
                behind, before = lean.flip(1).cumsum(1).flip(1) - lean, lean.cumsum(1) - lean  # (U, n-1)
                fixed = items.detach()
                items = items.index_select(0, shorter.flatten())  # (U * (n-1), 4d)
                for share, rows in (behind, ids[:, :-1]), (lean, merged), (before, ids[:, 1:]):
                    items = items + share.reshape(-1, 1) * fixed.index_select(0, rows.flatten())
                shorter = torch.arange(len(items), device=ids.device).view_as(shorter)
            ids = shorter

        pairs, where = _find_unique_windows(ids, len(items))
        return self._list_windows(items, pairs).index_select(0, where[:, 0])

    def _merge(self, omega: Tensor, tables: Tables) -> Tensor:
        """Replace each pair, given by its state (P, d), by a mixture of relations: input gates (P, 4d)."""
        attention = (omega @ tables.keys[:-1].T).softmax(1)  # over H, without NEG (P, 2R)
        return attention @ tables.merged_gates

    def _compute_logits(self, Z: Tensor, tables: Tables) -> Tensor:
        """Compare Z (U, d) with every relation and NEG: (U, 2R+1)."""
        return Z @ tables.keys.T

    def _list_windows(self, items: Tensor, pairs: Tensor) -> Tensor:
        """Run the LSTM over pairs of items: (P, 2) rows of the gates (T, 4d) -> last states (P, d)."""
        firsts, a = torch.unique(pairs[:, 0], return_inverse=True)
        h1, c1 = _encode_first_relation(items.index_select(0, firsts))  # (firsts, d)
        Y = h1 @ self.state_weight.T  # (firsts, 4d), the only product with a d x d matrix
        gates = items.index_select(0, pairs[:, 1]) + Y.index_select(0, a)  # (P, 4d)
        i, f, g, o = gates.chunk(4, dim=1)
        c = f.sigmoid() * c1.index_select(0, a) + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh()

    def _check(self, bodies: Tensor, smallest: int) -> None:
        if bodies.ndim != 2 or bodies.shape[1] == 0 or bodies.dtype not in (torch.int64, torch.int32):
            raise InputError(f"bodies must be integers (U, L), got {bodies.dtype} {tuple(bodies.shape)}.")
        largest = 2 * self.relation_count - 1
        if len(bodies) and not smallest <= int(bodies.min()) <= int(bodies.max()) <= largest:
            raise InputError(
                f"Relation ids must be in {smallest}..{largest}, got {int(bodies.min())}..{int(bodies.max())}."
            )


@denormals_as_zero()
def predict_head_probabilities(network: RuleNetwork, bodies: Ids, device: str = "cpu") -> NDArray[np.float64]:
    """Return P(head relation | body) (n, 2R+1) for bodies by id (n, L), padded with -1."""
    with torch.no_grad():
        ids = torch.from_numpy(bodies.astype(np.int64)).to(device)
        return network.forward_mixed(ids)[1].double().softmax(1).cpu().numpy()


def _encode_first_relation(gates: Tensor) -> tuple[Tensor, Tensor]:
    """Return h1 and c1 after one item. The state before it is zero, so the forget gate has no effect."""
    i, _, g, o = gates.chunk(4, dim=1)
    c1 = i.sigmoid() * g.tanh()
    return o.sigmoid() * c1.tanh(), c1


def _find_unique_windows(ids: Tensor, base: int) -> tuple[Tensor, Tensor]:
    """Return the distinct pairs of neighbours (P, 2) in sequences (U, n), and the pair of each window (U, n-1)."""
    codes, where = torch.unique(ids[:, :-1].long() * base + ids[:, 1:], return_inverse=True)
    return torch.stack([codes // base, codes % base], dim=1), where


def _replace_window(ids: Tensor, merged: Tensor, k: Tensor) -> Tensor:
    """Replace items k and k+1 by the merged pair: (U, n), (U, n-1), (U, 1) -> (U, n-1)."""
    j = torch.arange(merged.shape[1], device=ids.device)
    return torch.where(j < k, ids[:, :-1], torch.where(j == k, merged, ids[:, 1:]))
