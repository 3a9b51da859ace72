"""Names while they are typed: those that begin so, those that hold it, and the closest ones for a typo.

A million names take about a second to index, and a hundredth to look through.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from stablerule.explorer.views.trigrams import find_similar, post_trigrams

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from stablerule.explorer.views.trigrams import Postings
    from stablerule.graph import Graph
    from stablerule.graph.names import Names

How = Literal["exact", "begins", "contains", "similar"]
LONGEST = 100  # letters of a name that are looked at, and of what is typed
LAST = "\U0010ffff"  # behind every text that begins alike
LIKELY = 50  # similar names of which the best known come first


@dataclass(frozen=True)
class Hit:
    """A name that was found: an entity or a relation, how many facts it has, and how it matches."""

    kind: Literal["entity", "relation"]
    name: str
    facts: int
    how: How


class NameIndex:
    """Some names, indexed once; the best known come first among those that match alike.

    >>> from stablerule.graph.names import Names
    >>> index = NameIndex(Names(["Paris", "Parma", "Spa"]), np.array([5, 9, 1]))
    >>> [(index.names[i], how) for i, how in index.find("pa", 10)]
    [('Parma', 'begins'), ('Paris', 'begins'), ('Spa', 'contains')]
    >>> [(index.names[i], how) for i, how in index.find("Pariss", 10)][:1]
    [('Paris', 'similar')]
    """

    def __init__(self, names: Names, known: NDArray[np.integer]) -> None:
        """known: how well each name is known, such as by its facts (n,)."""
        self.names, self.known = names, known
        self._making = threading.Lock()

    def find(self, text: str, most: int) -> list[tuple[int, How]]:
        """Return the ids of the best matches, and how each matches; similar ones only where nothing holds the text."""
        folded = _fold_text(text)
        if not folded or not len(self.names):
            return []
        exact = self.names.id_of(text)
        found: dict[int, How] = {} if exact is None else {exact: "exact"}
        begins = self._find_beginning(folded)
        self._add(found, begins, "begins", most)
        if len(found) < most:
            contains = self._folded.str.contains(folded, literal=True).arg_true().to_numpy()
            self._add(found, contains, "contains", most)
        if not found:
            some = find_similar(self._postings, folded.encode(errors="replace"), LIKELY)
            found = dict.fromkeys(some[:most].tolist(), "similar")
        return list(found.items())[:most]

    def prepare(self) -> None:
        """Index the names now, not when somebody waits."""
        with self._making:
            _ = self._sorted, self._postings

    def _add(self, found: dict[int, How], ids: NDArray[np.integer], how: How, most: int) -> None:
        places = ids - self.known[ids].astype(np.int64) * len(self.known)  # the best known first, then by id
        if len(ids) > most:  # those found before may be among them, so as many as may be wanted in all
            first = np.argpartition(places, most - 1)[:most]
            ids, places = ids[first], places[first]
        for one in ids[np.argsort(places)].tolist():
            if len(found) < most:
                found.setdefault(one, how)

    def _find_beginning(self, folded: str) -> NDArray[np.integer]:
        names, order = self._sorted
        start, end = names.search_sorted(folded), names.search_sorted(folded + LAST)
        return order[start:end]

    @cached_property
    def _folded(self) -> pl.Series:
        return self.names.table.str.slice(0, LONGEST).str.to_lowercase().str.replace_all("\n", " ", literal=True)

    @cached_property
    def _sorted(self) -> tuple[pl.Series, NDArray[np.integer]]:
        order = self._folded.arg_sort()
        return self._folded.gather(order), order.to_numpy()

    @cached_property
    def _postings(self) -> Postings:
        text = "\n" + (self._folded.str.join("\n").item() if len(self.names) else "") + "\n"
        return post_trigrams(text.encode(), len(self.names))


class GraphIndex:
    """The entities and relations of a graph, by name."""

    def __init__(self, graph: Graph) -> None:
        words = graph.vocabulary
        self.entities = NameIndex(words.entities, graph.degrees)
        self.relations = NameIndex(words.relations, np.diff(graph.fact_offsets))

    def find(self, text: str, most: int = 10, kind: Literal["entity", "relation"] | None = None) -> list[Hit]:
        """Return names that match, relations before entities that match alike; similar ones only if nothing else."""
        hits = []
        for name, index in (("relation", self.relations), ("entity", self.entities)):
            if kind in (None, name):
                found = index.find(text, most)
                hits += [Hit(name, index.names[i], int(index.known[i]), how) for i, how in found]  # type: ignore[arg-type]
        sure = [hit for hit in hits if hit.how != "similar"]
        order = {"exact": 0, "begins": 1, "contains": 2, "similar": 3}
        return sorted(sure or hits, key=lambda hit: order[hit.how])[:most]

    def prepare(self) -> None:
        """Index both now, not when somebody waits."""
        for index in (self.entities, self.relations):
            index.prepare()


def _fold_text(text: str) -> str:
    return text[:LONGEST].lower().replace("\n", " ").encode(errors="replace").decode()
