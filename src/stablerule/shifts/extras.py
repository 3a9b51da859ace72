"""What the extra `shifts` brings."""

from __future__ import annotations

from importlib.util import find_spec

from stablerule.errors import MissingExtra


def has_sklearn() -> bool:
    """Tell whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


def need_sklearn(what: str) -> None:
    """Say how to install scikit-learn where it is missing."""
    if not has_sklearn():
        raise MissingExtra(what, package="scikit-learn", extra="shifts")


def need_balanced_clusters(what: str) -> None:
    """Say how to install k-means-constrained where it is missing."""
    if find_spec("k_means_constrained") is None:
        raise MissingExtra(what, package="k-means-constrained", extra="shifts")
