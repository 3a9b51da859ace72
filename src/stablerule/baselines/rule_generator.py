"""A recurrent network that writes bodies for a head relation, one relation after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    State = tuple[Tensor, Tensor]


class RuleGenerator(nn.Module):
    """P(body | head relation): an LSTM over [emb(r_t); emb(head relation)], labels the 2R relations and END.

    It begins with the head relation in the place of r_0. A body has 1 to `max_length` relations: END is no label at the
    beginning, and the only one at the end, so that the probabilities of all bodies sum to 1.

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
        """Return log P(body | head relation) (n,) of heads (n,) and bodies (n, L), short ones filled with -1."""
        written = torch.cat([heads[:, None], bodies[:, :-1]], dim=1)  # (n, L)
        items = self.relations(written.clamp(min=0))
        states, _ = self.lstm(torch.cat([items, self.relations(heads)[:, None].expand_as(items)], dim=2))
        guesses = self._log_shares(states)  # (n, L, 2R+1)
        labels = torch.where(bodies < 0, self.end, bodies)
        # After its first END a body is over, and what the network would go on with does not count.
        counted = torch.cat([torch.ones_like(heads[:, None], dtype=torch.bool), bodies[:, :-1] >= 0], dim=1)
        return (guesses.gather(2, labels[:, :, None])[:, :, 0] * counted).sum(1)

    def _log_shares(self, states: Tensor, first: int = 0) -> Tensor:
        """log softmax over the labels (n, steps, 2R+1), for states (n, steps, d) of which step `first` is the first."""
        logits: Tensor = self.labels(states)
        if first == 0:
            never = torch.zeros_like(logits[:1])
            never[:, 0, self.end] = -torch.inf
            logits = logits + never
        return logits.log_softmax(2)

    def _next(self, last: Tensor, heads: Tensor, state: State | None, step: int) -> tuple[Tensor, State]:
        """Read one more relation (n,): log shares of the next label (n, 2R+1), and the state."""
        item = torch.cat([self.relations(last), self.relations(heads)], dim=1)[:, None]  # (n, 1, 2d)
        states, state = self.lstm(item, state)
        return self._log_shares(states, step)[:, 0], state

    @torch.no_grad()
    def sample(self, heads: Tensor, random: torch.Generator) -> Tensor:
        """Write a body for each head relation (n,), by chance: (n, max_length), filled with -1."""
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
        """Search the k likeliest bodies for a head relation with a beam of k: (k, max_length), the best first.

        The head relation itself is no body for it. There are fewer where there are no more.
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
