"""Which names share the most letters in a row with a mistyped one: three bytes at a time, looked up in lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.paths.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph.triples import Ids, Offsets

BUCKETS = 1 << 16  # of trigrams, by a hash; two that share one make a name look a little closer than it is
END = 10  # the byte between names


class Postings(NamedTuple):
    """Which names have a trigram: those of bucket b at starts[b]:starts[b + 1]. sizes: (n,) trigrams of each name."""

    starts: Offsets
    names: Ids
    sizes: Ids


def post_trigrams(text: bytes, count: int) -> Postings:
    """List the trigrams of names; text: a line end, then each name with a line end behind it."""
    letters = np.frombuffer(text, np.uint8)
    starts = np.zeros(BUCKETS + 1, np.int64)
    sizes = np.zeros(count, np.int32)
    count_trigrams(letters, starts, sizes)
    starts = np.cumsum(starts)
    names = np.empty(int(starts[-1]), np.int32)
    fill_trigrams(letters, starts[:-1].copy(), names)
    return Postings(starts, names, sizes)


def find_similar(postings: Postings, word: bytes, most: int) -> NDArray[np.int64]:
    """Return the ids of the names that are most like a word, the most similar first; only those that share something.

    How similar two are is the number of trigrams that they share over the number that either has.
    """
    buckets = list_buckets(np.frombuffer(b"\n" + word + b"\n", np.uint8))
    found = [postings.names[postings.starts[b] : postings.starts[b + 1]] for b in np.unique(buckets).tolist()]
    shared = np.bincount(np.concatenate(found), minlength=len(postings.sizes)) if found else np.empty(0, np.int64)
    some = np.flatnonzero(shared)
    likeness = shared[some] / (len(buckets) + postings.sizes[some] - shared[some])
    if len(some) > most:
        best = np.argpartition(-likeness, most)[:most]
        some, likeness = some[best], likeness[best]
    order: NDArray[np.int64] = some[np.lexsort((some, -likeness))]
    return order


@compiled
def count_trigrams(letters: NDArray[np.uint8], counts: Offsets, sizes: Ids) -> None:
    """Count the trigrams of each bucket, one place further on, and of each name."""
    name = 0
    for i in range(len(letters) - 2):
        if letters[i + 1] == END:
            name += 1
            continue
        bucket = (letters[i] * 961 + letters[i + 1] * 31 + letters[i + 2]) % BUCKETS
        counts[bucket + 1] += 1
        sizes[name] += 1


@compiled
def fill_trigrams(letters: NDArray[np.uint8], places: Offsets, names: Ids) -> None:
    """Write the number of each name to the buckets of its trigrams."""
    name = 0
    for i in range(len(letters) - 2):
        if letters[i + 1] == END:
            name += 1
            continue
        bucket = (letters[i] * 961 + letters[i + 1] * 31 + letters[i + 2]) % BUCKETS
        names[places[bucket]] = name
        places[bucket] += 1


@compiled
def list_buckets(letters: NDArray[np.uint8]) -> Ids:
    """Return the bucket of each trigram of one word."""
    found = np.empty(max(len(letters) - 2, 0), np.int32)
    for i in range(len(letters) - 2):
        found[i] = (letters[i] * 961 + letters[i + 1] * 31 + letters[i + 2]) % BUCKETS
    return found
