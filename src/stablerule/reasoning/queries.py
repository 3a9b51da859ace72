"""Turn queries, known facts and candidate limits given by name into ids of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.graph import Dataset, Graph, Triples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from stablerule.graph import Vocabulary
    from stablerule.graph.triples import Ids

T = TypeVar("T")
Limits: TypeAlias = "Callable[[int], NDArray[np.bool_]] | None"


def divide_queries_into_blocks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of at most `size` items, reading no further than needed.

    >>> list(divide_queries_into_blocks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(items)
    while block := list(islice(rest, size)):
        yield block


def encode_queries(queries: Iterable[tuple[str, str]], words: Vocabulary) -> tuple[Ids, Ids]:
    """Turn (head, relation) into ids (n,); the error for an unknown name lists the closest names."""
    heads, relations = [], []
    for query in queries:
        if not isinstance(query, (tuple, list)) or len(query) != 2:
            raise InputError(f"A query must be (head, relation), such as ('Paris', 'capital_of'); got {query!r}.")
        heads.append(words.entity_id(query[0]))
        relations.append(words.relation_id(query[1]))
    return np.array(heads, np.int32), np.array(relations, np.int32)


def encode_triples(triples: Iterable[Iterable[str]], words: Vocabulary) -> tuple[Ids, Ids, Ids]:
    """Turn (head, relation, tail) into ids (n,); the error for an unknown name lists the closest names."""
    asked = [_check_asked_triple(triple) for triple in triples]
    heads, relations = encode_queries([(head, relation) for head, relation, _ in asked], words)
    return heads, relations, np.array([words.entity_id(tail) for *_, tail in asked], np.int32)


def join_triple(head: str | tuple[str, str, str], relation: str | None, tail: str | None) -> tuple[str, str, str]:
    """Return a triple given as a tuple or as three names.

    >>> join_triple("Paris", "capital_of", "France")
    ('Paris', 'capital_of', 'France')
    """
    if relation is None and tail is None:
        return _check_asked_triple(head)
    return _check_asked_triple((head, relation, tail))  # type: ignore[arg-type]


def _check_asked_triple(triple: Iterable[str]) -> tuple[str, str, str]:
    if not isinstance(triple, (tuple, list)) or len(triple) != 3:
        raise InputError(
            f"A triple must be (head, relation, tail), such as ('Paris', 'capital_of', 'France'); got {triple!r}."
        )
    head, relation, tail = triple
    return head, relation, tail


def check_at_least_one(argument: str, given: object) -> None:
    """Raise an error unless the argument is a whole number of at least 1."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise OptionError(f"Argument {argument!r} must be a whole number of at least 1, got {given!r}.")


def check_queries_listed(given: Iterable[T], argument: str, what: str) -> Iterable[T]:
    """Return an iterable argument; anything else is an error."""
    if not isinstance(given, Iterable):
        raise InputError(f"Argument {argument!r} must be a list of {what}, got {given!r}.")
    return given


def check_asked_graph(given: Graph, argument: str = "graph") -> Graph:
    """Return a graph; anything else is an error, which for a dataset suggests its graph."""
    if isinstance(given, Graph):
        return given
    cure = " Pass dataset.graph, the graph of its training facts." if isinstance(given, Dataset) else ""
    raise InputError(f"Argument {argument!r} must be a Graph, got {_spell_given_queries(given)}.{cure}")


def list_known_graphs(known: Graph | Iterable[Graph] | None) -> list[Graph]:
    """Return the graphs of known facts as a list; one graph, several or None may be given."""
    if known is None or isinstance(known, Graph):
        return [] if known is None else [known]
    if isinstance(known, Dataset):
        cure = "Pass dataset.known, the graph of all its facts."
        raise InputError(
            f"Argument 'known' must be a Graph or a list of them, got {_spell_given_queries(known)}. {cure}"
        )
    graphs = list(known) if isinstance(known, Iterable) and not isinstance(known, str) else [known]
    for one in graphs:
        if not isinstance(one, Graph):
            cure = "A list of triples becomes a graph with read_dataset(triples).graph."
            raise InputError(
                f"Argument 'known' must be a Graph or a list of them, got {_spell_given_queries(one)}. {cure}"
            )
    return graphs


def _spell_given_queries(given: object) -> str:
    return f"a {type(given).__name__}" if isinstance(given, (Graph, Dataset)) else repr(given)


def join_known_graphs(known: Graph | Iterable[Graph] | None, graph: Graph) -> Graph | None:
    """Join graphs of known facts by name, in the ids of a graph; facts with names unknown to it are skipped."""
    graphs = list_known_graphs(known)
    if not graphs:
        return None
    if len(graphs) == 1 and graphs[0].vocabulary is graph.vocabulary:
        return graphs[0]
    words, parts = graph.vocabulary, []
    for one in graphs:
        rows, theirs = one.triples, one.vocabulary
        entities = words.entities.ids_of(theirs.entities.table)
        relations = words.relations.ids_of(theirs.relations.table)
        heads, names, tails = entities[rows.heads], relations[rows.relations], entities[rows.tails]
        both = (heads >= 0) & (names >= 0) & (tails >= 0)
        parts.append(Triples(np.stack([heads, names, tails], axis=1)[both]))
    return Graph.build(Triples.concat(*parts), words)


def limit_candidates(candidates: Literal["all", "range"] | Iterable[str], graph: Graph) -> Limits:
    """Return a function from relation id to a mask (E,) of the possible answers; None means all entities."""
    if isinstance(candidates, str):
        if candidates == "all":
            return None
        if candidates == "range":
            return lambda relation: _mask_candidates(graph.facts(relation)[1], graph.n_entities)
    if isinstance(candidates, str) or not isinstance(candidates, Iterable):
        raise OptionError(f"Argument 'candidates' must be 'all', 'range' or a list of names, got {candidates!r}.")
    ids = np.array([graph.vocabulary.entity_id(name) for name in candidates], np.int32)
    if not len(ids):
        raise OptionError("Argument 'candidates' is an empty list. Pass at least one name.")
    mask = _mask_candidates(ids, graph.n_entities)
    return lambda relation: mask


def _mask_candidates(ids: Ids, size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[ids] = True
    return mask
