"""What is around an entity, as a drawing: some neighbours along each relation, the others folded into a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored
    from stablerule.graph.triples import Ids, Offsets

MOST = 200  # entities that are drawn at once
USUAL = 24
OF_ONE_RELATION = 6  # neighbours along one relation before the others are folded
MOST_LINKS = 400
LOOKED_AT = 5000  # facts of a neighbour that are looked through for links to the others


@dataclass(frozen=True)
class Drawn:
    """An entity of the drawing, and how many facts it has."""

    name: str
    facts: int


@dataclass(frozen=True)
class Link:
    """A fact between two drawn entities."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True)
class Folded:
    """Neighbours along a relation or inverse that are not drawn."""

    relation: str
    count: int


@dataclass(frozen=True)
class Neighbourhood:
    """An entity, some of its neighbours, the facts between them, and what was folded."""

    center: str
    entities: list[Drawn]
    links: list[Link]
    folded: list[Folded]


def draw_neighbourhood(explored: Explored, name: str, *, most: int = USUAL) -> Neighbourhood:
    """Choose at most so many neighbours, a few along each relation, those with the fewest facts first.

    What has few facts tells more about an entity than a hub, to which everything is linked.
    """
    if not 1 <= most <= MOST:
        raise OptionError(f"Argument 'most' must be from 1 to {MOST}, got {most}.")
    graph, words = explored.known, explored.graph.vocabulary
    center = explored.entity_id(name)
    relations, tails = graph.edges(center)
    chosen, folded = _choose_neighbours(relations, tails, graph.degrees, most)
    drawn = np.unique(np.append(chosen, center))
    names = dict(zip(drawn.tolist(), words.entities.names_of(drawn).to_list(), strict=True))
    links = _list_links(explored, center, drawn)
    relation_names = words.relation_name
    return Neighbourhood(
        center=words.entity_name(center),
        entities=[Drawn(names[one], int(graph.degrees[one])) for one in drawn.tolist()],
        links=[Link(names[head], relation_names(relation), names[tail]) for head, relation, tail in links],
        folded=[Folded(relation_names(relation), count) for relation, count in folded],
    )


def _choose_neighbours(relations: Ids, tails: Ids, degrees: Offsets, most: int) -> tuple[Ids, list[tuple[int, int]]]:
    """Take neighbours from all relations in turn, so that none is left out because of a large one."""
    ids, starts, counts = np.unique(relations, return_index=True, return_counts=True)
    turns, ends = [], []
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        here = tails[start : start + count]
        few = here[np.lexsort((here, degrees[here]))][:OF_ONE_RELATION]
        turns.append(np.arange(len(few)))
        ends.append(few)
    if not ends:
        return np.empty(0, np.int32), []
    order = np.argsort(np.concatenate(turns), kind="stable")
    candidates = np.concatenate(ends)[order]
    _, first = np.unique(candidates, return_index=True)
    chosen = candidates[np.sort(first)][:most]
    folded = []
    for relation, start, count in zip(ids.tolist(), starts.tolist(), counts.tolist(), strict=True):
        rest = int((~np.isin(tails[start : start + count], chosen)).sum())
        if rest:
            folded.append((relation, rest))
    return chosen, folded


def _list_links(explored: Explored, center: int, drawn: Ids) -> list[tuple[int, int, int]]:
    """List the facts between drawn entities, each once in its own direction, those of the center first."""
    graph, n = explored.known, explored.known.n_relations
    found: dict[tuple[int, int, int], None] = {}
    for head in [center, *(one for one in drawn.tolist() if one != center)]:
        relations, tails = graph.edges(head)
        if head != center and len(tails) > LOOKED_AT:
            continue
        for place in np.flatnonzero(np.isin(tails, drawn)).tolist():
            relation, tail = int(relations[place]), int(tails[place])
            forward = relation < n
            found.setdefault((head, relation, tail) if forward else (tail, relation - n, head))
            if len(found) == MOST_LINKS:
                return list(found)
    return list(found)
