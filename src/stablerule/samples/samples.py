"""Sample a graph: count how often random walks along each body are closed by each relation, or by none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.paths.walks import NONE, OPEN, PAPER, Walking, count_walks, unpack_body_keys
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids
    from stablerule.paths.withheld import ExampleFacts

NEGATIVES = {"open": OPEN, "paper": PAPER, "none": NONE}
LONGEST = 5


@dataclass(frozen=True, eq=False, repr=False)
class RuleSamples:
    """A multiset of (body, head relation) pairs, stored as counts.

    bodies: (U, L) relation ids, sorted, padded with -1. The cells of the sparse count matrix bodies x (2R + 1) are
    `cell_bodies`, `cell_heads`, `cell_counts`, sorted by body; head relation 2R is NEG.
    """

    n_relations: int
    bodies: Ids
    cell_bodies: Ids
    cell_heads: Ids
    cell_counts: NDArray[np.int64]

    @property
    def negative(self) -> int:
        """NEG, the head relation of paths that no relation closes."""
        return 2 * self.n_relations

    @property
    def n_bodies(self) -> int:
        """U: the number of distinct bodies."""
        return len(self.bodies)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.cell_counts.sum())

    @property
    def max_length(self) -> int:
        """L: the longest body."""
        return int(self.bodies.shape[1])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each body (U,)."""
        lengths: NDArray[np.int64] = (self.bodies >= 0).sum(1)
        return lengths

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """How often each body was walked (U,)."""
        return np.bincount(self.cell_bodies, self.cell_counts, self.n_bodies).astype(np.int64)

    def count_heads(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how often each relation closed each of some bodies, given by their rows: (n, 2R)."""
        low, high = np.searchsorted(self.cell_bodies, rows), np.searchsorted(self.cell_bodies, rows, side="right")
        place = np.repeat(np.arange(len(rows)), high - low)
        cells = np.arange(len(place)) + np.repeat(low - np.cumsum(high - low) + (high - low), high - low)
        found = np.zeros((len(rows), self.negative + 1))
        found[place, self.cell_heads[cells]] = self.cell_counts[cells]
        return found[:, : self.negative]

    @cached_property
    def closed(self) -> NDArray[np.bool_]:
        """Whether any relation ever closed each body (U,); a body that was never closed can't become a rule."""
        found = np.zeros(self.n_bodies, bool)
        found[self.cell_bodies[self.cell_heads != self.negative]] = True
        return found

    def split(self, share: float, seed: int) -> tuple[RuleSamples, RuleSamples]:
        """Put each sample into the second part with probability `share`; both parts keep all bodies and cells."""
        rng = np.random.default_rng([seed, 7])
        second = rng.binomial(self.cell_counts, share)
        return self._with(self.cell_counts - second), self._with(second)

    def of_length(self, length: int) -> NDArray[np.bool_]:
        """Return a mask (cells,) of the cells whose body has this length."""
        mask: NDArray[np.bool_] = (self.lengths == length)[self.cell_bodies]
        return mask

    def up_to(self, length: int) -> RuleSamples:
        """Return the samples of bodies up to a length: those of shorter walks."""
        if length >= self.max_length:
            return self
        short = self.lengths <= length
        kept, place = short[self.cell_bodies], np.cumsum(short) - 1
        bodies = np.ascontiguousarray(self.bodies[short, :length])
        cells = place[self.cell_bodies[kept]].astype(np.int32)
        return RuleSamples(self.n_relations, bodies, cells, self.cell_heads[kept], self.cell_counts[kept])

    def _with(self, counts: NDArray[np.int64]) -> RuleSamples:
        return RuleSamples(self.n_relations, self.bodies, self.cell_bodies, self.cell_heads, counts)

    def __repr__(self) -> str:
        return f"RuleSamples({self.n_samples:,} samples, {self.n_bodies:,} bodies up to length {self.max_length})"


def sample_rules(
    graph: Graph,
    walks: int,
    *,
    max_length: int = 3,
    min_length: int = 1,
    backtracking: bool = True,
    negatives: Literal["open", "paper", "none"] = "open",
    examples: ExampleFacts | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> RuleSamples:
    """Walk the graph at random, and count which relations close the walks.

    walks: their number, divided equally among all relations and inverses with examples.
    backtracking: check after every step whether a relation closes the walk; False checks after the last only (NoBack).
    negatives: "open" counts every open path as NEG; "paper" only full walks that were never closed; "none" none.
    examples: the facts that walks start from and that may close them; None is all. A path that only other facts close
        is not a sample.
    The samples depend on the seed, but not on the number of threads.

    >>> from stablerule.graph import Dataset
    >>> facts = [("ann", "parent_of", "bob"), ("bob", "parent_of", "cid"), ("ann", "grandparent_of", "cid")]
    >>> sample_rules(Dataset.from_names("family", train=facts).graph, walks=1000)
    RuleSamples(1,503 samples, 10 bodies up to length 3)
    """
    check_walk_lengths(min_length, max_length)
    if walks < 1:
        raise OptionError(f"Argument 'walks' must be at least 1, got {walks}.")
    if negatives not in NEGATIVES:
        raise OptionError(f"Argument 'negatives' must be one of {', '.join(NEGATIVES)}, got {negatives!r}.")
    if not 0 <= seed < 2**63:
        raise OptionError(f"Argument 'seed' must be a whole number of at least 0, got {seed}.")
    if not graph.n_facts:
        raise InputError("The graph has no facts to sample from.")
    with progress_bar("walking", walks) as advance:
        how = Walking(max_length, min_length, backtracking, NEGATIVES[negatives], seed)
        keys, heads, counts = count_walks(graph, walks, how, examples=examples, threads=threads, progress=advance)
    distinct, cell_bodies = np.unique(keys, return_inverse=True)
    bodies = unpack_body_keys(distinct, graph.n_relations, max_length)
    return RuleSamples(graph.n_relations, bodies, cell_bodies.astype(np.int32), heads, counts)


def check_walk_lengths(min_length: int, max_length: int) -> None:
    """Raise an error for invalid lengths of walks."""
    if not 1 <= min_length <= max_length <= LONGEST:
        raise OptionError(
            f"Arguments 'min_length' and 'max_length' must be in 1..{LONGEST} and in order, "
            f"got {min_length} and {max_length}."
        )
