"""A recurrent network that generates rule bodies for a head relation, one relation at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from stablerule.progress import progress_bar
from stablerule_lab.methods.rnnlogic.worth import Written
from stablerule_lab.methods.shared.steps import run_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    State = tuple[Tensor, Tensor]

OVERSAMPLING = 5  # bodies generated for each wanted one, since many are equal
RULES_A_STEP = 1000  # rules in a training step
ROWS = 20_000  # bodies generated at once


class RuleGenerator(nn.Module):
    """P(body | head relation): an LSTM over [emb(r_t); emb(head relation)], labels the 2R relations and END.

    It starts with the head relation as r_0. A body has 1 to `max_length` relations: END is impossible as the first
    label and certain after the last, so that the probabilities of all bodies sum to 1.

    >>> generator = RuleGenerator(relation_count=2, size=8, max_length=3)
    >>> generator.log_p(torch.tensor([0, 1]), torch.tensor([[2, 3, -1], [1, 1, 1]])).shape
    torch.Size([2])
    """

    def __init__(self, relation_count: int, size: int, max_length: int) -> None:
        super().__init__()
        self.end, self.max_length = 2 * relation_count, max_length
        self.relations = nn.Embedding(2 * relation_count, size)
        self.lstm = nn.LSTM(2 * size, size, batch_first=True)
        self.labels = nn.Linear(size, 2 * relation_count + 1)

    def log_p(self, heads: Tensor, bodies: Tensor) -> Tensor:
        """Return log P(body | head relation) (n,) of heads (n,) and bodies (n, L), padded with -1."""
        written = torch.cat([heads[:, None], bodies[:, :-1]], dim=1)  # (n, L)
        items = self.relations(written.clamp(min=0))
        states, _ = self.lstm(torch.cat([items, self.relations(heads)[:, None].expand_as(items)], dim=2))
        guesses = self._log_shares(states)  # (n, L, 2R+1)
        labels = torch.where(bodies < 0, self.end, bodies)
        # A body ends at its first END; later predictions do not count.
        counted = torch.cat([torch.ones_like(heads[:, None], dtype=torch.bool), bodies[:, :-1] >= 0], dim=1)
        return (guesses.gather(2, labels[:, :, None])[:, :, 0] * counted).sum(1)

    def _log_shares(self, states: Tensor, first: int = 0) -> Tensor:
        """Return log softmax over the labels (n, steps, 2R+1) of states (n, steps, d), from step `first` on."""
        logits: Tensor = self.labels(states)
        if first == 0:
            never = torch.zeros_like(logits[:1])
            never[:, 0, self.end] = -torch.inf
            logits = logits + never
        return logits.log_softmax(2)

    def _next(self, last: Tensor, heads: Tensor, state: State | None, step: int) -> tuple[Tensor, State]:
        """Read one more relation (n,); return log softmax of the next label (n, 2R+1), and the state."""
        item = torch.cat([self.relations(last), self.relations(heads)], dim=1)[:, None]  # (n, 1, 2d)
        states, state = self.lstm(item, state)
        return self._log_shares(states, step)[:, 0], state

    @torch.no_grad()
    def sample(self, heads: Tensor, random: torch.Generator) -> Tensor:
        """Sample a body for each head relation (n,): (n, max_length), padded with -1."""
        bodies = torch.full((len(heads), self.max_length), -1, dtype=torch.int64, device=heads.device)
        last, state, going_on = heads, None, torch.ones_like(heads, dtype=torch.bool)
        for step in range(self.max_length):
            shares, state = self._next(last, heads, state, step)
            label = torch.multinomial(shares.exp().cpu(), 1, generator=random)[:, 0].to(heads.device)
            going_on = going_on & (label != self.end)
            bodies[:, step] = torch.where(going_on, label, -1)
            last = label.clamp(max=self.end - 1)
        return bodies

    @torch.no_grad()
    def best(self, head: int, k: int) -> Tensor:
        """Return the k likeliest bodies of a head relation by beam search: (k, max_length), best first.

        The head relation itself is excluded. There may be fewer than k.
        """
        device = self.relations.weight.device
        bodies = torch.full((1, self.max_length), -1, dtype=torch.int64, device=device)
        so_far, state, over = torch.zeros(1, device=device), None, []
        for step in range(self.max_length):
            last = torch.full((1,), head, device=device) if step == 0 else bodies[:, step - 1]
            shares, state = self._next(last, torch.full_like(last, head), state, step)
            together = so_far[:, None] + shares  # (b, 2R+1)
            if step > 0:
                over.append((bodies, together[:, self.end]))
            so_far, places = together[:, : self.end].flatten().topk(min(k + 1, len(bodies) * self.end))
            rows, labels = places // self.end, places % self.end
            bodies = bodies[rows].clone()
            bodies[:, step] = labels
            state = (state[0][:, rows].contiguous(), state[1][:, rows].contiguous())
        over.append((bodies, so_far))
        found, log_p = (torch.cat(column) for column in zip(*over, strict=True))
        itself = (found[:, 0] == head) & (found[:, 1:] < 0).all(1)
        order = log_p.masked_fill(itself, -torch.inf).argsort(descending=True, stable=True)
        return found[order[: min(k, int((~itself).sum()))]]

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.relations.weight.device


def teach(
    generator: RuleGenerator,
    rules: Written,
    weights: NDArray[np.float64],
    *,
    steps: int,
    rate: float,
    seed: tuple[int, ...],
    stopped: Callable[[], bool],
) -> list[float]:
    """Train a generator on rules sampled by weight (n,), equally many for each head relation; return the losses."""
    totals = np.bincount(rules.heads, weights, generator.end)[rules.heads]
    cumulative = np.cumsum(np.where(totals > 0, weights / np.maximum(totals, 1e-300), 0))
    if not steps or not len(cumulative) or cumulative[-1] <= 0:
        return []
    heads, bodies = (torch.from_numpy(column.astype(np.int64)).to(generator.device) for column in rules)

    def loss(step: int) -> Tensor:
        picked = np.random.default_rng((*seed, step)).random(RULES_A_STEP) * cumulative[-1]
        places = np.minimum(np.searchsorted(cumulative, picked, side="right"), len(cumulative) - 1)
        rows, counts = np.unique(places, return_counts=True)
        which = torch.from_numpy(rows).to(generator.device)
        log_p = generator.log_p(heads[which], bodies[which])
        return -(torch.from_numpy(counts).to(log_p) * log_p).sum() / RULES_A_STEP

    what = "learning to write rules"
    return run_steps(what, generator, loss, steps=steps, learning_rate=rate, decay=False, stopped=stopped)


def write_rules(generator: RuleGenerator, relations: NDArray[np.int64], count: int, random: torch.Generator) -> Written:
    """Generate distinct rules for each relation, up to the given number."""
    heads = torch.from_numpy(np.repeat(relations, OVERSAMPLING * count)).to(generator.device)
    bodies = torch.cat([generator.sample(some, random) for some in torch.split(heads, ROWS)]).cpu().numpy()
    rows = np.column_stack([heads.cpu().numpy(), bodies])
    _, first = np.unique(rows, axis=0, return_index=True)
    rows = rows[np.sort(first)]  # by head relation, then in the order of generation
    place = np.arange(len(rows)) - np.searchsorted(rows[:, 0], rows[:, 0])
    rows = rows[place < count]
    return Written.of(rows[:, 0], rows[:, 1:])


def log_probabilities(generator: RuleGenerator, rules: Written) -> NDArray[np.float64]:
    """Return log P(body | head relation) (n,) of generated rules."""
    columns = (torch.split(torch.from_numpy(column.astype(np.int64)).to(generator.device), ROWS) for column in rules)
    with torch.no_grad():
        parts = [generator.log_p(heads, bodies) for heads, bodies in zip(*columns, strict=True)]
    found: NDArray[np.float64] = torch.cat(parts).double().cpu().numpy()
    return found


def find_likeliest(generator: RuleGenerator, relations: NDArray[np.int64], count: int) -> Written:
    """Return the likeliest rules of each relation."""
    found = []
    with progress_bar("searching rules", len(relations)) as advance:
        for relation in relations.tolist():
            bodies = generator.best(relation, count).cpu().numpy()
            found.append((np.full(len(bodies), relation), bodies))
            advance(1)
    return Written.of(*(np.concatenate(column) for column in zip(*found, strict=True)))
