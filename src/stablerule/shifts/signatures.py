"""Path signatures: how often each body links the two ends of a fact, without the fact itself; and their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from stablerule.errors import MissingExtra
from stablerule.paths.links import LONGEST_LINK, count_links
from stablerule.paths.walks import unpack_body_keys
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph, Triples, Vocabulary
    from stablerule.graph.triples import Ids

SIZE = 32  # dimensions of a reduced signature
MOST_DECOMPOSED = 3000  # facts
NO_STRENGTH = 1e-10  # share of the strongest direction; below it is rounding error
# With few directions eigsh restarts at random, and scipy before 1.17 has no argument for the seed.
CAN_BE_SEEDED = "rng" in signature(eigsh).parameters
STARTS, STEPS = 3, 30
MOST_TO_FIT = 4000  # clusters are fitted to at most this many points; further points are assigned to them


@dataclass(frozen=True, eq=False, repr=False)
class Signatures:
    """Path counts of n facts over the B bodies that link any of them: counts (n, B), sparse; bodies (B, L) by id.

    >>> from stablerule.graph import Dataset
    >>> facts = [("ann", "parent_of", "bob"), ("bob", "parent_of", "cid"), ("ann", "grandparent_of", "cid")]
    >>> graph = Dataset.from_names("family", train=facts).graph
    >>> found = make_path_signatures(graph.triples, graph)
    >>> found
    Signatures(3 facts, 3 bodies)
    >>> found.body_name(1)
    'parent_of, parent_of'
    >>> found.counts.toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    """

    counts: Any  # sparse.csr_matrix; scipy has no types
    bodies: Ids
    vocabulary: Vocabulary

    @cached_property
    def linked(self) -> Any:
        """Which bodies link which facts, as ones (n, B)."""
        ones = self.counts.copy()
        ones.data = np.ones_like(ones.data)
        return ones

    @property
    def features(self) -> Any:
        """log(1 + count): the tenth path says less than the first."""
        logs = self.counts.astype(np.float64)
        logs.data = np.log1p(logs.data)
        return logs

    @property
    def density(self) -> NDArray[np.float64]:
        """The mean of log(1 + count) over all bodies, for each fact."""
        density: NDArray[np.float64] = np.asarray(self.features.sum(1)).ravel() / max(self.counts.shape[1], 1)
        return density

    def body_name(self, column: int) -> str:
        """Spell a body as in a rule."""
        return ", ".join(self.vocabulary.relation_name(int(step)) for step in self.bodies[column] if step >= 0)

    def take(self, rows: NDArray[Any]) -> Signatures:
        """Return the signatures of some facts."""
        return Signatures(self.counts[rows], self.bodies, self.vocabulary)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def __repr__(self) -> str:
        return f"Signatures({len(self):,} facts, {len(self.bodies):,} bodies)"


def make_path_signatures(
    facts: Triples, graph: Graph, *, max_length: int = LONGEST_LINK, threads: int | None = None
) -> Signatures:
    """Count the paths between the ends of each fact, by body, without the fact itself. Facts need not be in the graph.

    Relations may be inverses. Signatures use the answer, so they are for benchmarks and must not be an input to a
    model.
    """
    with progress_bar("looking for paths", len(facts)) as advance:
        ends = facts.heads, facts.tails, facts.relations
        links = count_links(graph, *ends, max_length=max_length, threads=threads, progress=advance)
    keys, columns = np.unique(links.keys, return_inverse=True)
    counts = sparse.csr_matrix((links.paths, (links.rows, columns.reshape(-1))), shape=(len(facts), len(keys)))
    return Signatures(counts, unpack_body_keys(keys, graph.n_relations, max_length), graph.vocabulary)


def reduce_signatures(features: Any, size: int = SIZE, seed: int = 0) -> NDArray[np.float64]:
    """Reduce sparse features (n, B) to (n, at most size) by a truncated SVD, fitted to at most `MOST_DECOMPOSED` rows.

    There are far more bodies than facts, so it decomposes the products of facts with each other (n, n).
    """
    rows = features.shape[0]
    some = features
    if rows > MOST_DECOMPOSED:
        some = features[np.sort(np.random.default_rng(seed).choice(rows, MOST_DECOMPOSED, replace=False))]
    if not some.nnz:
        return np.zeros((rows, 1))
    products = (some @ some.T).toarray()
    if len(products) <= 4 * size or not CAN_BE_SEEDED:
        squares, left = np.linalg.eigh(products)
    else:
        random = np.random.default_rng(seed)  # without it, every run has another start
        squares, left = eigsh(products, size, v0=random.random(len(products)), rng=random)
    order = np.argsort(-squares)[:size]
    order = order[squares[order] > NO_STRENGTH * max(float(squares.max()), NO_STRENGTH)]
    directions = some.T @ left[:, order] / np.sqrt(squares[order])  # (B, kept)
    reduced: NDArray[np.float64] = features @ directions
    return reduced


def make_balanced_clusters(points: NDArray[np.float64], k: int, seed: int) -> NDArray[np.int64]:
    """Assign n points to k clusters whose sizes differ by at most one: balanced k-means.

    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> len(set(make_balanced_clusters(points, 3, seed=0)[[0, 2, 4]]))
    3
    """
    n = len(points)
    if k == 1 or n < k:
        return np.arange(n, dtype=np.int64) % k
    need_balanced_clusters("Making groups of equal size")
    from k_means_constrained import KMeansConstrained  # noqa: PLC0415  # an extra

    random = np.random.default_rng(seed)
    some = points if n <= MOST_TO_FIT else points[random.choice(n, MOST_TO_FIT, replace=False)]
    model = KMeansConstrained(
        k,
        size_min=len(some) // k,
        size_max=-(-len(some) // k),
        n_init=STARTS,
        max_iter=STEPS,
        random_state=int(random.integers(2**31)),
    ).fit(some)
    labels: NDArray[np.int64] = np.asarray(
        model.labels_ if some is points else model.predict(points, size_min=n // k, size_max=-(-n // k)), np.int64
    )
    return labels


def has_sklearn() -> bool:
    """Return whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


def need_balanced_clusters(what: str) -> None:
    """Raise an error with the install command if k-means-constrained is missing."""
    if find_spec("k_means_constrained") is None:
        raise MissingExtra(what, package="k-means-constrained", extra="shifts")
