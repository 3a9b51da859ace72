"""An entity: its facts by relation, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.explorer.views.paging import Paging

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored
    from stablerule.graph.triples import Ids

GROUPS, FIRST, SIZE = 20, 8, 50  # relations on a page, entities of each, entities of one relation on a page


@dataclass(frozen=True)
class Neighbour:
    """An entity at the other end of a fact: how many facts it has, and which split has this one."""

    name: str
    facts: int
    split: str


@dataclass(frozen=True)
class FactGroup:
    """The facts of an entity of one relation or inverse: how many, and some of the entities that it leads to."""

    relation: str
    count: int
    page: int
    pages: int
    entities: list[Neighbour]


@dataclass(frozen=True)
class EntityView:
    """An entity, its facts in all splits and in train alone, and a page of its relations."""

    name: str
    id: int
    facts: int
    facts_of_train: int
    relations: int
    page: int
    pages: int
    groups: list[FactGroup]


def show_entity(explored: Explored, name: str, *, relation: str | None = None, page: int = 1) -> EntityView:
    """Show an entity with the first of its facts of each relation, or a page of those of one relation."""
    entity, words = explored.entity_id(name), explored.graph.vocabulary
    relations, tails = explored.known.edges(entity)
    ids, starts, counts = np.unique(relations, return_index=True, return_counts=True)
    if relation is not None:
        asked = words.relation_id(relation)
        here = tails[relations == asked]
        groups = [_show_group(explored, entity, asked, here, Paging(page, SIZE, len(here)))]
        listed = Paging(1, GROUPS, len(ids))
    else:
        listed = Paging(page, GROUPS, len(ids))
        some = [(int(ids[i]), tails[starts[i] : starts[i] + counts[i]]) for i in listed.places]
        groups = [_show_group(explored, entity, asked, here, Paging(1, FIRST, len(here))) for asked, here in some]
    return EntityView(
        name=words.entity_name(entity),
        id=entity,
        facts=len(tails),
        facts_of_train=len(explored.graph.edges(entity)[0]),
        relations=len(ids),
        page=listed.page,
        pages=listed.pages,
        groups=groups,
    )


def _show_group(explored: Explored, entity: int, relation: int, tails: Ids, paging: Paging) -> FactGroup:
    words, some = explored.graph.vocabulary, tails[list(paging.places)]
    names, degrees = words.entities.names_of(some).to_list(), explored.graph.degrees[some].tolist()
    splits = name_splits(explored, entity, relation, some)
    entities = [Neighbour(*row) for row in zip(names, degrees, splits, strict=True)]
    return FactGroup(words.relation_name(relation), len(tails), paging.page, paging.pages, entities)


def name_splits(explored: Explored, head: int, relation: int, tails: Ids) -> list[str]:
    """Name the split that has each fact (head, relation, tail); a fact of several counts for the first."""
    found = np.full(len(tails), "", object)
    for name, graph in (("train", explored.graph), *explored.held_out.items()):
        here = np.isin(tails, graph.tails(head, relation)) & (found == "")
        found[here] = name
    return [str(name) for name in found]
