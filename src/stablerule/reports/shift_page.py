"""A shift report as one page for a browser, which needs nothing else: no network and no script."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stablerule.reports.rendering import make_text_visible, render_template
from stablerule.shifts.causes import SURE
from stablerule.shifts.distances import BEYOND, RESAMPLES
from stablerule.shifts.expected import FEWEST_EFFECTIVE
from stablerule.shifts.weak_spots import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable

STEPS = {0.05: 0.01, 0.1: 0.02, 0.2: 0.05, 0.5: 0.1, 1.0: 0.25}  # from the end of a scale to its steps
SMALLEST_SEGMENT = 0.008  # of the width: what is there can be seen


@dataclass(frozen=True)
class Tick:
    """A step of the scale: its place, what is written there, and which side of the text stands at the place."""

    place: str
    label: str
    anchor: str


@dataclass(frozen=True)
class PageScale:
    """From 0 to `top`.

    >>> PageScale(0.5).place(0.2), PageScale(0.5).width(0.1, 0.2), PageScale(1.0).place(1.0000000000000007)
    ('40%', '20%', '100%')
    """

    top: float = 1.0
    as_share: bool = False

    @classmethod
    def up_to(cls, values: Iterable[float], *, as_share: bool = False) -> PageScale:
        """Return the shortest scale that has all values on it.

        >>> PageScale.up_to([0.04, 0.3]).top
        0.5
        """
        largest = max(values, default=1.0)
        return cls(next((top for top in STEPS if largest <= top), 1.0), as_share)

    def place(self, value: float) -> str:
        """Say where a value stands; one beyond the scale stands at its end."""
        return _render_percentage(self._share(value))

    def width(self, start: float, end: float) -> str:
        """Say how wide a bar is."""
        return _render_percentage(self._share(end) - self._share(start))

    @property
    def ticks(self) -> list[Tick]:
        """The steps with their labels; the outer ones stay inside."""
        step = STEPS[self.top]
        values = [step * place for place in range(round(self.top / step) + 1)]
        return [
            Tick(
                self.place(value),
                f"{value:.0%}" if self.as_share else f"{value:g}",
                "start" if value == 0 else "end" if place == len(values) - 1 else "middle",
            )
            for place, value in enumerate(values)
        ]

    def _share(self, value: float) -> float:
        return min(max(value / self.top, 0.0), 1.0)


def stack_bars(counts: list[int]) -> list[tuple[str, str]]:
    """Put counts in a row: where each begins, and its width. A small one is wide enough to be seen.

    >>> stack_bars([3, 0, 1])
    [('0%', '75%'), ('75%', '0%'), ('75%', '25%')]
    """
    total = max(sum(counts), 1)
    shares = [max(count / total, SMALLEST_SEGMENT) if count else 0.0 for count in counts]
    whole = sum(shares) or 1.0
    found, start = [], 0.0
    for share in shares:
        found.append((_render_percentage(start), _render_percentage(share / whole)))
        start += share / whole
    return found


def _render_percentage(share: float) -> str:
    return f"{round(100 * share, 2):g}%"


# The page says these in words, so that they come from where they are used.
CONSTANTS = {
    "beyond": BEYOND,
    "resamples": RESAMPLES,
    "fewest_effective": FEWEST_EFFECTIVE,
    "fewest_in_spot": FEWEST,
    "standard_errors": SURE,
}
SHARES = ("unseen_entity", "unseen_relation", "nothing_fires")
# As `Cause` writes them; a name may hold the same words, so the last end counts.
SENTENCES = {
    "relation": re.compile(r"(queries for )(.*)( (?:rise|fall) from \S+ to \S+)"),
    "body": re.compile(r"(queries where the body of )(.*)( leads somewhere (?:rise|fall) from \S+ to \S+)"),
}


def render_shift_page(report: dict[str, Any]) -> str:
    """Return the page; report: what `ShiftReport.to_json` gives, or the same read from its file."""
    shown = make_text_visible(report)
    return render_template(
        "shift/page.html.jinja",
        {
            **shown,
            "constants": CONSTANTS,
            "whole": PageScale(),
            "reached": _stack_reach(shown["reach"]),
            "far": _scale_distances(shown["distances"]),
            "moved": _scale_causes(shown["causes"]),
            "spots": _sort_report_causes(shown["weak_spots"]),
            "spots_measured": any(spot["measured_mrr"] is not None for spot in shown["weak_spots"]),
        },
    )


def _stack_reach(reach: dict[str, Any]) -> list[dict[str, Any]]:
    """Each part of the queries with its place in the stacked bar; what is in reach comes first."""
    counts = [reach[name] for name in SHARES]
    counts = [reach["n"] - sum(counts), *counts]
    parts = zip(("in_reach", *SHARES), counts, stack_bars(counts), strict=True)
    return [{"name": name, "n": n, "start": start, "width": width} for name, n, (start, width) in parts]


def _scale_distances(distances: list[dict[str, Any]]) -> dict[str, Any]:
    """The distances on one scale, each with the point from which it is called shifted, and what that makes it."""
    rows = []
    for one in distances:
        limit = max(one["null_high"], one["null"] + one["least"])
        is_beyond = one["value"] > one["null_high"]
        is_called = "shifted" if one["is_shifted"] else "small" if is_beyond else "chance"
        rows.append({**one, "limit": limit, "is_called": is_called})
    return {"rows": rows, "scale": PageScale.up_to(max(one["value"], one["limit"]) for one in rows)}


def _scale_causes(causes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The causes by kind, each kind on its own scale: a relation may go from 2% to 5%."""
    return {
        kind: {
            "rows": [{**cause, "parts": split_cause(cause["kind"], cause["text"])} for cause in rows],
            "scale": PageScale.up_to(
                (share for cause in rows for share in (cause["before"], cause["now"])), as_share=True
            ),
        }
        for kind, rows in _sort_report_causes(causes).items()
    }


def _sort_report_causes(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["kind"], []).append(row)
    return found


def split_cause(kind: str, text: str) -> tuple[str, str, str]:
    """Split a sentence around its relation or rule; without one, all of it comes first.

    >>> split_cause("relation", "queries for ~speaks rise from 2% to 5%")
    ('queries for ', '~speaks', ' rise from 2% to 5%')
    >>> split_cause("degree", "queries about entities without facts rise from 0% to 9%")
    ('queries about entities without facts rise from 0% to 9%', '', '')
    """
    found = SENTENCES[kind].fullmatch(text) if kind in SENTENCES else None
    return (found[1], found[2], found[3]) if found else (text, "", "")
