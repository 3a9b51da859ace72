"""The neighbourhoods of many heads at once, and the flow of messages in them.

A place is a pair of a query and an entity, with the number query * E + entity; sets of places are sorted numbers. Every
fact has its inverse, so the outgoing edges of an entity are also its incoming ones, and no flow needs a sort.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from stablerule_lab.methods.shared.flows import Flow, offsets_of

if TYPE_CHECKING:
    from torch import Tensor

    from stablerule_lab.methods.shared.edges import Edges

ABSENT = -(1 << 60)  # stays negative with any bundle number added


@dataclass(frozen=True, eq=False)
class Passage:
    """Messages between places. Edges with the same head and relation share one of Z messages.

    senders: (Z,), the index of the sending place among the senders; queries, relations: (Z,).
    """

    senders: Tensor
    queries: Tensor
    relations: Tensor
    flow: Flow


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The edges of a graph by head, relation and tail; edges with the same head and relation form a bundle.

    offsets: (E + 1,) to edges, by head. tails, sent_by: (n,); a message from the tail to the head belongs to the tail's
    bundle `sent_by`. bundle_offsets: (E + 1,) to bundles, by head. bundle_relations: (B,). edge_offsets: (B + 1,) to
    edges, by bundle. keys: (n,) of all facts and inverses, including removed ones.
    """

    offsets: Tensor
    tails: Tensor
    sent_by: Tensor
    bundle_offsets: Tensor
    bundle_relations: Tensor
    edge_offsets: Tensor
    keys: Tensor
    n_entities: int
    n_relations: int

    @classmethod
    def of(cls, edges: Edges) -> Neighbourhoods:
        """Build from edges in any order."""
        n, r = edges.n_entities, edges.n_relations
        keys = ((edges.heads * (2 * r) + edges.relations) * n + edges.tails).sort().values
        bundle_keys, bundles = torch.unique_consecutive(keys // n, return_inverse=True)
        heads, relations, tails = keys // n // (2 * r), keys // n % (2 * r), keys % n
        sent_by = torch.searchsorted(bundle_keys, tails * (2 * r) + (relations + r) % (2 * r))
        return cls(
            offsets_of(torch.bincount(heads, minlength=n)),
            tails,
            sent_by,
            offsets_of(torch.bincount(bundle_keys // (2 * r), minlength=n)),
            bundle_keys % (2 * r),
            offsets_of(torch.bincount(bundles, minlength=len(bundle_keys))),
            keys,
            n,
            r,
        )

    def without(self, facts: Tensor) -> Neighbourhoods:
        """Remove facts (b, 3) and their inverses, so that no query contains its answer. The bundles stay."""
        n, r = self.n_entities, self.n_relations
        heads, relations, tails = facts.unbind(1)
        asked = torch.cat(
            [(heads * (2 * r) + relations) * n + tails, (tails * (2 * r) + (relations + r) % (2 * r)) * n + heads]
        )
        if not len(self.keys):
            return self
        at = torch.searchsorted(self.keys, asked).clamp(max=len(self.keys) - 1)
        kept = torch.ones(len(self.keys), dtype=torch.bool, device=facts.device)
        kept[at[self.keys[at] == asked]] = False
        before = offsets_of(kept.long())
        return replace(
            self,
            offsets=before[self.offsets],
            edge_offsets=before[self.edge_offsets],
            tails=self.tails[kept],
            sent_by=self.sent_by[kept],
        )

    def answers(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Return a mask (b, E) of the known answers of queries (b,), including removed facts."""
        first = (heads * (2 * self.n_relations) + relations) * self.n_entities
        begins = torch.searchsorted(self.keys, first)
        ends = torch.searchsorted(self.keys, first + self.n_entities)
        at, queries = _ranges(begins, ends)
        known = torch.zeros(len(heads), self.n_entities, dtype=torch.bool, device=heads.device)
        known[queries, self.keys[at] % self.n_entities] = True
        return known

    @property
    def degrees(self) -> Tensor:
        """The number of edges at each entity (E,), the same in both directions."""
        return self.offsets.diff()

    def neighbours(self, places: Tensor) -> Tensor:
        """Return the end of each outgoing edge of some places."""
        entities = places % self.n_entities
        at, owners = _ranges(self.offsets[entities], self.offsets[entities + 1])
        return _at(places - entities, owners) + _at(self.tails, at)

    def reached(self, heads: Tensor, steps: int) -> list[Tensor]:
        """Return the sets of places within 0, 1, ... `steps` edges of each head (b,).

        A set without new places is the same tensor as the one before.
        """
        seen = torch.zeros(len(heads) * self.n_entities, dtype=torch.bool, device=heads.device)
        fresh = heads + torch.arange(len(heads), device=heads.device) * self.n_entities
        seen[fresh] = True
        sets = [fresh]
        for _ in range(steps):
            if len(fresh):
                near = torch.zeros_like(seen).index_fill_(0, self.neighbours(fresh), value=True)
                fresh = (near & ~seen).nonzero()[:, 0]
                seen |= near
            sets.append(seen.nonzero()[:, 0] if len(fresh) else sets[-1])
        return sets

    def needed(self, wanted: Tensor, reached: list[Tensor], n_queries: int) -> list[Tensor]:
        """Return the parts of the reached sets that influence the final states of wanted places.

        The next state of a place depends on the states of the place itself and of its neighbours.
        """
        marks = torch.zeros(n_queries * self.n_entities, dtype=torch.bool, device=wanted.device)
        marks[wanted] = True
        grown = torch.zeros_like(marks)
        sets: list[Tensor] = []
        for step, places in enumerate(reversed(reached)):
            if step:
                fresh = sets[-1][~grown[sets[-1]]]
                grown[fresh] = True
                marks.index_fill_(0, self.neighbours(fresh), value=True)
            sets.append(places[marks[places]])
        return sets[::-1]

    def passage(self, senders: Tensor, receivers: Tensor, n_queries: int) -> Passage:
        """Return the messages from all `senders` to their neighbours among the `receivers`, both sets of places."""
        n, size = self.n_entities, n_queries * self.n_entities
        entities = senders % n
        first = self.bundle_offsets[entities]
        bundles, owners = _ranges(first, self.bundle_offsets[entities + 1])  # (Z,)
        begins = offsets_of(self.bundle_offsets[entities + 1] - first)  # of each sender's messages

        at, rows = _ranges(self.edge_offsets[bundles], self.edge_offsets[bundles + 1])
        number = _spread(torch.arange(len(receivers), device=receivers.device), receivers, size)
        to = _at(number, _at(_at(senders - entities, owners), rows) + _at(self.tails, at))
        to, back_offsets = _present(to, rows, len(bundles))

        arriving = receivers % n
        at, rows = _ranges(self.offsets[arriving], self.offsets[arriving + 1])
        shift = _spread(begins[:-1] - first, senders, size)  # from a bundle number to its message number
        message = _at(shift, _at(receivers - arriving, rows) + _at(self.tails, at)) + _at(self.sent_by, at)
        message, offsets = _present(message, rows, len(receivers))
        queries = (senders // n)[owners]
        return Passage(owners, queries, self.bundle_relations[bundles], Flow(offsets, message, back_offsets, to))


def _at(values: Tensor, positions: Tensor) -> Tensor:
    return values.index_select(0, positions)  # several times as fast as values[positions]


def _ranges(begins: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Return all numbers of ranges (n,), and the range of each.

    >>> _ranges(torch.tensor([5, 0]), torch.tensor([7, 1]))
    (tensor([5, 6, 0]), tensor([0, 0, 1]))
    """
    counts = ends - begins
    owners = torch.repeat_interleave(counts)
    return torch.arange(len(owners), device=counts.device) + _at(begins - (counts.cumsum(0) - counts), owners), owners


def _spread(values: Tensor, places: Tensor, size: int) -> Tensor:
    """Return an array (size,) with values at their places, and ABSENT elsewhere."""
    return torch.full((size,), ABSENT, device=values.device).index_copy_(0, places, values)


def _present(numbers: Tensor, rows: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    """Drop negative numbers, and return the offsets of the remaining rows."""
    there = numbers >= 0
    if bool(there.all()):
        return numbers, offsets_of(torch.bincount(rows, minlength=n_rows))
    return numbers.masked_select(there), offsets_of(torch.bincount(rows.masked_select(there), minlength=n_rows))
