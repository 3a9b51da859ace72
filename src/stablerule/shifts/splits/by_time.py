"""Split by time: train is the past, test the future."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.graph import SPLITS
from stablerule.shifts.splits.saving import REPEATED, WHOLE, Split, make_split_manifest
from stablerule.shifts.splits.source import (
    Shares,
    check_split_shares,
    check_split_source,
    mark_first_facts,
    narrow_to_split,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Dataset, Triples

SHARES = (0.8, 0.1, 0.1)


def split_by_time(dataset: Dataset, shares: Shares | None = None, *, cuts: tuple[Any, Any] | None = None) -> Split:
    """Put the oldest facts into train, the newest into test, and those between into valid.

    shares: of the facts, by default 0.8, 0.1 and 0.1. Facts of the same time stay together, so the parts are as close
    to the shares as possible. cuts: instead of shares, the times at which valid and test begin. A repeated fact counts
    once, at its first time.

    Entities and relations that are not in train stay in the later splits, as new names do in the future. The manifest
    counts them.

    >>> from stablerule.io import read_dataset
    >>> reigns = [("Ann", "rules", "Here", 1901), ("Ann", "rules", "There", 1910), ("Bo", "rules", "Here", 1950)]
    >>> columns = {"head": 0, "relation": 1, "tail": 2, "time": 3}
    >>> split = split_by_time(read_dataset(reigns, columns=columns), cuts=(1940, 1940))
    >>> split.dataset
    Dataset('triples', 4 entities, 1 relations, train 2, valid 0, test 1)
    >>> split.manifest["found"]["unseen"]["test"]["entities"]
    1
    """
    if shares is not None and cuts is not None:
        raise OptionError("Arguments 'shares' and 'cuts' can't be used together. Leave one of them out.")
    asked = check_split_shares(SHARES if shares is None else shares)
    facts = _order_facts_by_time(check_split_source(dataset))
    first = mark_first_facts(facts)
    ordered = facts.take(first)
    times = _read_split_times(ordered)
    begin_valid, begin_test = (
        _cut_times_by_shares(times, asked, dataset.name) if cuts is None else _cut_times_at(times, cuts)
    )
    which = np.digitize(np.arange(len(ordered)), [begin_valid, begin_test])
    dealt = {name: ordered.take(which == part) for part, name in enumerate(SPLITS)}
    parts = {WHOLE: narrow_to_split(dataset, dataset.name, **dealt)}
    unseen = {
        name: _count_unseen_names(part, dealt["train"]) for name, part in dealt.items() if name != "train" and len(part)
    }
    manifest = make_split_manifest(
        "time",
        dataset,
        parts,
        parameters={"shares": asked} if cuts is None else {"cuts": [str(cut) for cut in cuts]},
        lost={REPEATED: facts.take(~first)},
        found={"times": {name: _find_time_span(part) for name, part in dealt.items() if len(part)}, "unseen": unseen},
        notes=[
            _describe_unseen_names(name, len(dealt[name]), counts) for name, counts in unseen.items() if counts["facts"]
        ],
    )
    return Split(parts, manifest)


def _order_facts_by_time(dataset: Dataset) -> Triples:
    """Return all facts sorted by time; facts of the same time keep the order of their rows."""
    without = [name for name, part in dataset.splits.items() if len(part) and part.time is None]
    if without:
        raise InputError(
            f"Dataset {dataset.name!r} has no times in {', '.join(without)}, so it can't be split by time. Read it "
            "with "
            "columns={'head': 0, 'relation': 1, 'tail': 2, 'time': 3}, or with a header that has a column 'time'."
        )
    kinds = {_read_split_times(part).dtype.kind for part in dataset.splits.values() if len(part)}
    if len(kinds) > 1:
        raise InputError(f"Dataset {dataset.name!r} has both numbers and dates as times. Use one kind.")
    facts = dataset.everything
    times = _read_split_times(facts)
    if times.dtype.kind == "M" and np.isnat(times).any():
        raise InputError(
            f"Dataset {dataset.name!r} has {int(np.isnat(times).sum()):,} facts without a time. Add the times, or "
            "leave these facts out."
        )
    return facts.take(np.argsort(times, kind="stable"))


def _read_split_times(facts: Triples) -> NDArray[Any]:
    assert facts.time is not None  # noqa: S101  # `_order_facts_by_time` checks it
    return facts.time


def _cut_times_by_shares(times: NDArray[Any], shares: Shares, name: str) -> tuple[int, int]:
    """Return where valid and test begin: at a new time, as close to the shares as possible."""
    starts = np.flatnonzero(np.concatenate([[True], times[1:] != times[:-1]]))
    starts = np.append(starts, len(times))  # (times + 1,): the last one is the end
    has_valid, has_test = shares[1] > 0, shares[2] > 0
    if len(starts) - 1 < 1 + has_valid + has_test:
        raise InputError(
            f"Dataset {name!r} has {len(starts) - 1} different times for {1 + has_valid + has_test} parts. Leave a "
            "part "
            "out with a share of 0."
        )
    latest = len(starts) - 1 - has_test
    at = _find_nearest_time(starts, shares[0] * len(times), 1, latest - has_valid)
    after = _find_nearest_time(starts, (shares[0] + shares[1]) * len(times), at + 1, latest) if has_valid else at
    return int(starts[at]), int(starts[after])


def _find_nearest_time(starts: NDArray[np.int64], wanted: float, least: int, most: int) -> int:
    return least + int(np.abs(starts[least : most + 1] - wanted).argmin())


def _cut_times_at(times: NDArray[Any], cuts: tuple[Any, Any]) -> tuple[int, int]:
    """Return where valid and test begin, at given times."""
    if not isinstance(cuts, tuple | list) or len(cuts) != 2:
        raise OptionError(f"Argument 'cuts' must be two times, when validation and test begin, got {cuts!r}.")
    valid_from, test_from = (_read_time_cut(cut, times.dtype) for cut in cuts)
    if valid_from > test_from:
        raise OptionError(f"Argument 'cuts' must be in order, got {cuts[0]} and {cuts[1]}.")
    at, after = (int(np.searchsorted(times, cut)) for cut in (valid_from, test_from))
    sizes = {"train": at, "test": len(times) - after, **({"valid": after - at} if valid_from != test_from else {})}
    empty = [name for name, size in sizes.items() if not size]
    if empty:
        raise InputError(
            f"With cuts at {cuts[0]} and {cuts[1]}, {' and '.join(empty)} would have no facts. The times go from "
            f"{times[0]} to {times[-1]}."
        )
    return at, after


def _read_time_cut(cut: Any, dtype: np.dtype[Any]) -> Any:
    """Parse a cut in the type of the times: a whole number, or a date (2024-05-31, or 2024 for its start)."""
    try:
        if dtype.kind == "M":
            found = np.datetime64(cut)
            if not np.isnat(found):
                return found
        elif isinstance(cut, int | np.integer | str) and not isinstance(cut, bool):
            return int(cut)
    except (ValueError, TypeError):
        pass
    kind = "dates such as 2024-05-31" if dtype.kind == "M" else "whole numbers"
    raise OptionError(f"Argument 'cuts' must be {kind}, like the times of the facts, got {cut!r}.")


def _find_time_span(facts: Triples) -> list[Any]:
    first, last = _read_split_times(facts)[[0, -1]]
    return [first.item(), last.item()] if first.dtype.kind == "i" else [str(first), str(last)]


def _count_unseen_names(facts: Triples, train: Triples) -> dict[str, int]:
    """Count the entities and relations that are not in train, and the facts that have any of them."""
    entities, relations = facts.rows[:, [0, 2]], facts.relations
    new_entities = ~np.isin(entities, train.rows[:, [0, 2]])
    new_relations = ~np.isin(relations, train.relations)
    return {
        "facts": int((new_entities.any(1) | new_relations).sum()),
        "entities": len(np.unique(entities[new_entities])),
        "relations": len(np.unique(relations[new_relations])),
    }


def _describe_unseen_names(name: str, size: int, counts: dict[str, int]) -> str:
    return (
        f"{counts['facts']:,} of the {size:,} {name} facts have an entity or a relation that is not in train "
        f"({counts['entities']:,} entities, {counts['relations']:,} relations)."
    )
