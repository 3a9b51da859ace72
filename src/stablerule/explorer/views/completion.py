"""New facts of one relation, some of its heads at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stablerule.errors import OptionError
from stablerule.reasoning.completing import name_new_facts

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored
    from stablerule.reasoning.wanted import WantedFacts

MOST_HEADS = 1000


@dataclass(frozen=True)
class NewFactView:
    """A fact that no split has, with the best rule and a path, if there are any."""

    head: str
    relation: str
    tail: str
    score: float
    probability: float | None
    rule: str
    path: list[str]


@dataclass(frozen=True)
class CompletionPage:
    """The new facts about some of the heads of a relation, the best first; next: where the next page starts."""

    relation: str
    start: int
    heads: int
    of_heads: int
    next: int | None
    facts: list[NewFactView]


def complete_page(explored: Explored, relation: str, wanted: WantedFacts, *, start: int, heads: int) -> CompletionPage:
    """Ask `heads` of the heads of a relation, from the place `start` on."""
    if not 1 <= heads <= MOST_HEADS:
        raise OptionError(f"Argument 'heads' must be from 1 to {MOST_HEADS:,}, got {heads:,}.")
    if start < 0:
        raise OptionError(f"Argument 'start' must be at least 0, got {start}.")
    completion = explored.completion(wanted, relation)
    (number,) = completion.relations
    total = len(completion.choose_asked(number).heads)
    found = name_new_facts(completion.of(number, slice(start, start + heads)))
    facts = [NewFactView(f.head, f.relation, f.tail, f.score, f.probability, f.rule, list(f.path)) for f in found]
    end = min(start + heads, total)
    return CompletionPage(relation, start, max(end - start, 0), total, end if end < total else None, facts)
