"""Samples from a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.paths.walks import NONE, OPEN, PAPER, Walking, bodies_of, count_walks
from stablerule.progress import progress_bar
from stablerule.samples.samples import RuleSamples

if TYPE_CHECKING:
    from stablerule.graph import Graph
    from stablerule.paths.examples import ExampleFacts

NEGATIVES = {"open": OPEN, "paper": PAPER, "none": NONE}
LONGEST = 5


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
    """Walk the graph at random and count what closes.

    walks: dealt out evenly to all relations and inverses that have examples, whatever their number.
    backtracking: look at every step whether a relation closes the walk; False looks at the last only (NoBack).
    negatives: "open" counts every open path as NEG; "paper" only the full walks that never closed; "none" none.
    examples: the facts that walks begin from and that may close them; None is all. A path that only other facts
        close is no sample at all.
    Same seed, same samples, whatever the number of threads.

    >>> from stablerule.graph import Dataset
    >>> facts = [("ann", "parent_of", "bob"), ("bob", "parent_of", "cid"), ("ann", "grandparent_of", "cid")]
    >>> sample_rules(Dataset.from_names("family", train=facts).graph, walks=1000)
    RuleSamples(1,503 samples, 10 bodies up to length 3)
    """
    check_lengths(min_length, max_length)
    if walks < 1:
        raise OptionError(f"Argument 'walks' must be at least 1, got {walks}.")
    if negatives not in NEGATIVES:
        raise OptionError(f"Argument 'negatives' must be one of {', '.join(NEGATIVES)}, got {negatives!r}.")
    if not 0 <= seed < 2**63:
        raise OptionError(f"Argument 'seed' must be a whole number of at least 0, got {seed}.")
    if not graph.n_facts:
        raise InputError("The graph has no facts to walk.")
    with progress_bar("walking", walks) as advance:
        how = Walking(max_length, min_length, backtracking, NEGATIVES[negatives], seed)
        keys, heads, counts = count_walks(graph, walks, how, examples=examples, threads=threads, progress=advance)
    distinct, cell_bodies = np.unique(keys, return_inverse=True)
    bodies = bodies_of(distinct, graph.n_relations, max_length)
    return RuleSamples(graph.n_relations, bodies, cell_bodies.astype(np.int32), heads, counts)


def check_lengths(min_length: int, max_length: int) -> None:
    """Refuse lengths that no walk has."""
    if not 1 <= min_length <= max_length <= LONGEST:
        raise OptionError(
            f"Arguments 'min_length' and 'max_length' must be in 1..{LONGEST} and in order, "
            f"got {min_length} and {max_length}."
        )
