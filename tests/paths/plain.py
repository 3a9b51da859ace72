"""Plain Python for everything that kernels do fast."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

from stablerule import Graph


def edges(graph: Graph, entity: int) -> list[tuple[int, int]]:
    relations, tails = graph.edges(entity)
    return list(zip(relations.tolist(), tails.tolist(), strict=True))


def simple_paths(graph: Graph, start: int, body: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All paths along a body whose entities are distinct."""
    paths: list[tuple[int, ...]] = [(start,)]
    for relation in body:
        paths = [
            (*path, tail)
            for path in paths
            for step, tail in edges(graph, path[-1])
            if step == relation and tail not in path
        ]
    yield from paths


def reached(graph: Graph, start: int, body: tuple[int, ...]) -> Counter[int]:
    """Path counts by the entity at the end."""
    return Counter(path[-1] for path in simple_paths(graph, start, body))


Cell = tuple[tuple[int, ...], int]


def expected_samples(graph: Graph, max_length: int, min_length: int = 1) -> dict[Cell, Fraction]:
    """The expected number of each (body, head relation) sample in one walk, by walking every walk."""
    negative = 2 * graph.n_relations
    expected: defaultdict[Cell, Fraction] = defaultdict(Fraction)

    def walk(path: tuple[int, ...], body: tuple[int, ...], chance: Fraction) -> None:
        if len(body) >= min_length and body:
            closing = set(graph.relations_between(path[0], path[-1]).tolist())
            if len(body) == 1:
                closing.discard(body[0])
            for head in closing or {negative}:
                expected[body, head] += chance
        if len(body) == max_length:
            return
        steps = edges(graph, path[-1])
        for relation, tail in steps:
            if tail not in path:
                walk((*path, tail), (*body, relation), chance / len(steps))

    ids = [r for r in range(2 * graph.n_relations) if len(graph.facts(r)[0])]
    for relation in ids:
        heads = graph.facts(relation)[0].tolist()
        for head in heads:
            walk((head,), (), Fraction(1, len(ids) * len(heads)))
    return dict(expected)
