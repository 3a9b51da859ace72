"""Make a dataset from pairs of numbers: choose papers, authors and citations, name them, split `wrote`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from stablerule.errors import InputError
from stablerule.graph import Dataset, Interner, Triples, split_triples
from stablerule_lab.aminer.citations import CITES, PUBLISHED_IN, WROTE, CitationGraph

if TYPE_CHECKING:
    from array import array

    from numpy.typing import NDArray

    from stablerule_lab.aminer.pairs import Gathering

    Pairs = NDArray[np.int32]  # (n, 2)

ROWS_AT_ONCE = 1 << 20
NOWHERE = -1


class Homes(NamedTuple):
    """The country of each author.

    country: (authors,), NOWHERE if unknown; tied: the number of authors with two equally frequent countries.
    """

    country: NDArray[np.int64]
    tied: int


def assemble(
    gathered: Gathering,
    name: str,
    *,
    min_papers: int,
    top_countries: int | None,
    split: tuple[float, float, float],
    seed: int | np.random.Generator,
) -> CitationGraph:
    """Choose facts, name their entities, and hold out some of `wrote`; `gathered` counts what is skipped."""
    wrote, published, cites = map(_pairs, (gathered.wrote, gathered.published_in, gathered.cites))
    homes = most_frequent(_pairs(gathered.homes), len(gathered.authors))
    papers = np.frombuffer(gathered.kept, bool).copy()
    country = homes.country
    if top_countries is not None:
        country = keep_largest(wrote, country, top_countries)
        from_there = np.zeros(len(papers), bool)
        from_there[wrote[country[wrote[:, 0]] != NOWHERE, 1]] = True
        gathered.counts["of other countries"] = int((papers & ~from_there).sum())
        papers &= from_there
    known = papers[cites[:, 1]]
    gathered.counts["unknown citations"] = int((papers[cites[:, 0]] & ~known).sum())
    wrote, published, cites = wrote[papers[wrote[:, 1]]], published[papers[published[:, 0]]], cites[known]
    cites = cites[papers[cites[:, 0]]]
    wrote = _distinct(wrote)
    counts = np.bincount(wrote[:, 0], minlength=len(gathered.authors))
    gathered.counts["rare authors"] = int(((counts > 0) & (counts < min_papers)).sum())
    used = counts >= max(min_papers, 1)
    wrote = wrote[used[wrote[:, 0]]]
    if not len(wrote):
        raise InputError("No paper with an author is left. Allow more years, venues or papers.")

    authors = gathered.authors.readable(used)
    venues_used = np.zeros(len(gathered.venues), bool)
    venues_used[published[:, 1]] = True
    venues = gathered.venues.readable(venues_used)
    ids = pl.Series([f"paper/{key}" for key in gathered.papers], dtype=pl.String)
    interner = Interner()
    parts = [
        *_named(interner, WROTE, wrote, authors, ids),
        *_named(interner, PUBLISHED_IN, published, ids, venues),
        *_named(interner, CITES, cites, ids, ids),
    ]
    vocabulary, renumbering = interner.finish()
    facts = renumbering.apply(Triples.concat(*parts))
    train, valid, test = split_triples(facts, split, seed, relation=vocabulary.relation_id(WROTE))
    gathered.counts["held out"] = len(valid) + len(test)
    gathered.counts["not held out"] = len(wrote) - round(split[0] * len(wrote)) - len(valid) - len(test)
    gathered.counts["tied"] = homes.tied
    labelled = np.flatnonzero(used & (country != NOWHERE))
    gathered.counts["authors"], gathered.counts["placed"] = int(used.sum()), len(labelled)
    places = list(gathered.countries)
    labels = sorted((authors[at], places[country[at]]) for at in labelled.tolist())
    return CitationGraph(Dataset(name, vocabulary, train, valid, test), dict(labels))


def most_frequent(homes: Pairs, authors: int) -> Homes:
    """Return the most frequent country of each author's affiliations; none if two are equally frequent.

    >>> most_frequent(np.array([[0, 5], [0, 5], [0, 2], [1, 5], [1, 2]], np.int32), 3)
    Homes(country=array([ 5, -1, -1]), tied=1)
    """
    country, most = np.full(authors, NOWHERE, np.int64), np.zeros(authors, np.int64)
    if not len(homes):
        return Homes(country, 0)
    pairs, counts = np.unique(homes, axis=0, return_counts=True)
    np.maximum.at(most, pairs[:, 0], counts)
    first = counts == most[pairs[:, 0]]
    winners = np.bincount(pairs[first, 0], minlength=authors)
    country[pairs[first, 0]] = pairs[first, 1]
    country[winners > 1] = NOWHERE
    return Homes(country, int((winners > 1).sum()))


def keep_largest(wrote: Pairs, country: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Keep the countries with the most papers; a paper counts once for each country of its authors."""
    there = country[wrote[:, 0]]
    papers = np.unique(np.stack([there, wrote[:, 1]], 1)[there != NOWHERE], axis=0)
    volume = np.bincount(papers[:, 0]) if len(papers) else np.zeros(1, np.int64)
    largest = np.argsort(-volume, kind="stable")[:count]
    return np.where(np.isin(country, largest), country, NOWHERE)


def _pairs(numbers: array[int]) -> Pairs:
    return np.frombuffer(numbers, np.int32).reshape(-1, 2) if numbers else np.empty((0, 2), np.int32)


def _distinct(pairs: Pairs) -> Pairs:
    """Drop repeated pairs: a record may name an author twice."""
    packed = np.unique((pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1])
    return np.stack([packed >> 32, packed & 0xFFFFFFFF], 1).astype(np.int32)


def _named(interner: Interner, relation: str, pairs: Pairs, heads: pl.Series, tails: pl.Series) -> list[Triples]:
    """Intern facts by name, in blocks, so that only numbers stay in memory."""
    made = []
    for start in range(0, len(pairs), ROWS_AT_ONCE):
        some = pairs[start : start + ROWS_AT_ONCE]
        frame = pl.DataFrame(
            {
                "head": heads.gather(pl.Series(some[:, 0])),
                "relation": pl.repeat(relation, len(some), dtype=pl.String, eager=True),
                "tail": tails.gather(pl.Series(some[:, 1])),
            }
        )
        made.append(interner.add(frame))
    return made
