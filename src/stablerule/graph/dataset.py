"""Dataset: training, validation and test facts with one vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.errors import InputError, OptionError
from stablerule.graph.graph import Graph
from stablerule.graph.html import spell_html_table
from stablerule.graph.triples import Triples, sort_distinct_triples
from stablerule.graph.vocabulary import Interner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stablerule.graph.vocabulary import Vocabulary

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Training, validation and test facts.

    notes: remarks from reading, such as skipped rows. prefixes: those that shorten RDF names. source: the catalog name
    or path it was opened from. reading: the options it was read with.

    >>> dataset = Dataset.from_names("tiny", train=[("Paris", "capital_of", "France")])
    >>> dataset
    Dataset('tiny', 2 entities, 1 relations, train 1, valid 0, test 0)
    >>> dataset.frame("train").rows()
    [('Paris', 'capital_of', 'France')]
    """

    name: str
    vocabulary: Vocabulary
    train: Triples
    valid: Triples
    test: Triples
    notes: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_names(
        cls,
        name: str,
        train: Iterable[tuple[str, str, str]],
        valid: Iterable[tuple[str, str, str]] = (),
        test: Iterable[tuple[str, str, str]] = (),
    ) -> Dataset:
        """Make a dataset from lists of (head, relation, tail)."""
        interner = Interner()
        schema = {"head": pl.String, "relation": pl.String, "tail": pl.String}
        try:
            frames = [pl.DataFrame(list(split), schema=schema, orient="row") for split in (train, valid, test)]
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"Dataset {name!r}: facts must be (head, relation, tail), each a string ({error})."
            ) from error
        parts = [interner.add(frame) for frame in frames]
        if not len(parts[0]):
            raise InputError(f"Dataset {name!r} has no training facts.")
        vocabulary, renumbering = interner.finish()
        final_train, final_valid, final_test = (renumbering.apply(part) for part in parts)
        return cls(name, vocabulary, final_train, final_valid, final_test)

    @classmethod
    def of_graph(cls, graph: Graph, valid: Triples | None = None, test: Triples | None = None, **more: Any) -> Dataset:
        """Make a dataset from a graph, whose facts become train.

        >>> tiny = Dataset.from_names("tiny", train=[("Paris", "capital_of", "France")])
        >>> Dataset.of_graph(tiny.graph)
        Dataset('tiny', 2 entities, 1 relations, train 1, valid 0, test 0)
        """
        none = Triples.empty()
        made = cls(graph.name, graph.vocabulary, graph.triples, valid or none, test or none, **more)
        vars(made)["graph"] = graph
        return made

    @cached_property
    def graph(self) -> Graph:
        """The graph of the training facts, from which models learn and answer."""
        return Graph.build(self.train, self.vocabulary, self.name)

    @cached_property
    def known(self) -> Graph:
        """The graph of the facts of all splits: the known facts."""
        if not len(self.valid) and not len(self.test):
            return self.graph
        return Graph.build(self.everything, self.vocabulary, f"{self.name}, all splits")

    @property
    def splits(self) -> dict[str, Triples]:
        """The three splits by name."""
        return {"train": self.train, "valid": self.valid, "test": self.test}

    @property
    def everything(self) -> Triples:
        """All facts of all splits."""
        return Triples.concat(self.train, self.valid, self.test)

    def split(self, name: str) -> Triples:
        """Return one of the three splits."""
        if name not in SPLITS:
            raise OptionError(f"Argument 'split' must be one of {', '.join(SPLITS)}, got {name!r}.")
        return self.splits[name]

    def frame(self, split: str) -> pl.DataFrame:
        """Return a split as a frame of names, with the columns head, relation, tail and optional ones."""
        return self.vocabulary.decode(self.split(split))

    @cached_property
    def sha256(self) -> str:
        """A hash of the facts by name and split, independent of order, repetition and file format."""
        digest = self.vocabulary.compute_digest()
        for part in self.splits.values():
            facts = part.rows[sort_distinct_triples(part.relations, part.heads, part.tails).first]
            digest.update(np.int64(len(facts)).astype("<i8").tobytes())
            digest.update(facts.astype("<i4").tobytes())
        return digest.hexdigest()

    def _repr_html_(self) -> str:
        """Show the size and the first fact of each split in a notebook."""
        rows = []
        for split, triples in self.splits.items():
            few = self.vocabulary.decode(triples.take(np.arange(min(1, len(triples)))))
            rows.append((split, len(triples), *(few.row(0)[:3] if len(few) else ("", "", ""))))
        return spell_html_table(repr(self), ("split", "facts", "head", "relation", "tail"), rows)

    def __repr__(self) -> str:
        vocabulary, sizes = self.vocabulary, ", ".join(f"{n} {len(t):,}" for n, t in self.splits.items())
        counts = f"{len(vocabulary.entities):,} entities, {len(vocabulary.relations):,} relations"
        return f"Dataset({self.name!r}, {counts}, {sizes})"
