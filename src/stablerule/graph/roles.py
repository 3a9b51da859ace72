"""Find entities with unrelated roles, such as `python` if a section, a package and a language have this name.

A role is one end of a relation. Roles whose entities overlap form a kind: heads of `depends` and of `maintainer` are
both packages. An entity of two kinds that have almost no other entity in common is probably two things with the same
name, and rules confuse them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import spell_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.graph import Graph
    from stablerule.graph.triples import Ids

FEWEST = 4  # entities of a role; with fewer, one in common is no evidence
ONE_KIND = 0.3  # share of the smaller of two roles or kinds from which they are one kind
BY_ACCIDENT = 0.05  # share of the smaller of two kinds up to which the overlap is accidental; a single entity also is
SHOWN = 3


@dataclass(frozen=True)
class UnrelatedRoles:
    """Entities with roles of several kinds, those with the most kinds first, and the kinds of all roles.

    of_role: (2R,) the kind of each role, -1 if it has few entities; the head of relation r is role r, its tail is role
    r + R. has_role: (E, 2R) sparse.
    """

    entities: Ids
    of_role: NDArray[np.int64]
    has_role: Any

    def describe(self, graph: Graph, entity: int) -> str:
        """Spell one role of an entity for each kind: the one with the most entities."""
        roles = self.has_role[[entity]].indices
        sizes = np.asarray(self.has_role.sum(axis=0)).ravel()
        words, relations = graph.vocabulary, graph.n_relations
        best: dict[int, int] = {}
        for role in sorted(roles.tolist(), key=lambda role: (-sizes[role], role)):
            if self.of_role[role] >= 0:
                best.setdefault(int(self.of_role[role]), role)
        told = [
            f"{'head' if role < relations else 'tail'} of {words.relation_name(role % relations)} "
            f"(with {spell_count(int(sizes[role]) - 1, 'other')})"
            for role in best.values()
        ]
        more = f", and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
        return f"{words.entity_name(entity)} is {', '.join(told[:SHOWN])}{more}"


def find_unrelated_roles(graph: Graph) -> UnrelatedRoles:
    """Find the kinds of roles, and the entities that have roles of more than one."""
    from scipy import sparse  # noqa: PLC0415  # takes a moment to import

    relations, n = graph.n_relations, graph.n_entities
    facts = graph.triples
    entities = np.concatenate([facts.heads, facts.tails])
    roles = np.concatenate([facts.relations, facts.relations + relations])
    has_role = sparse.csr_array((np.ones(len(roles), np.int64), (entities, roles)), (n, 2 * relations))
    has_role.sum_duplicates()
    has_role.data[:] = 1
    common = np.flatnonzero(np.asarray(has_role.sum(axis=0)).ravel() >= FEWEST)
    has_kind, kinds = has_role[:, common], np.arange(len(common))
    while True:
        merged = _merge_kinds_of_entities(has_kind)
        if merged.max(initial=-1) + 1 == has_kind.shape[1]:
            break
        kinds = merged[kinds]
        into = sparse.csr_array((np.ones(len(merged), np.int64), (np.arange(len(merged)), merged)))
        has_kind = (has_kind @ into).tocsr()
        has_kind.data[:] = 1
    apart = _tell_roles_apart(has_kind)
    # For each entity, count the pairs of its kinds that share almost nothing.
    counts = np.asarray((has_kind @ apart).multiply(has_kind).sum(axis=1)).ravel()
    several = np.flatnonzero(counts > 0)
    of_role = np.full(2 * relations, -1, np.int64)
    of_role[common] = kinds
    return UnrelatedRoles(several[np.argsort(-counts[several], kind="stable")].astype(np.int32), of_role, has_role)


def _merge_kinds_of_entities(has_kind: Any) -> NDArray[np.int64]:
    """Return the new kind of each kind (k,): kinds with a large overlap are merged."""
    from scipy.sparse import csr_array  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    shared = (has_kind.T @ has_kind).tocoo()
    sizes = shared.diagonal()
    one, other = shared.coords
    related = shared.data >= ONE_KIND * np.minimum(sizes[one], sizes[other])
    related &= (shared.data > 1) | (one == other)
    links = csr_array((shared.data[related], (one[related], other[related])), shared.shape)
    merged: NDArray[np.int64] = connected_components(links, directed=False)[1].astype(np.int64)
    return merged


def _tell_roles_apart(has_kind: Any) -> Any:
    """Return (k, k): 1 if two kinds share only a few entities, by accident."""
    from scipy.sparse import csr_array  # noqa: PLC0415

    shared = (has_kind.T @ has_kind).tocoo()
    sizes = shared.diagonal()
    one, other = shared.coords
    few = (shared.data <= BY_ACCIDENT * np.minimum(sizes[one], sizes[other])) | (shared.data == 1)
    few &= one != other
    return csr_array((np.ones(int(few.sum()), np.int64), (one[few], other[few])), shared.shape)
