"""Render a shift report as one self-contained HTML page, without scripts or network access."""

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
SMALLEST_SEGMENT = 0.008  # least share of the width of a segment, so that it is visible


@dataclass(frozen=True)
class Tick:
    """A step of a scale: its position, its label, and the text anchor."""

    place: str
    label: str
    anchor: str


@dataclass(frozen=True)
class PageScale:
    """A scale from 0 to `top`.

    >>> PageScale(0.5).place(0.2), PageScale(0.5).width(0.1, 0.2), PageScale(1.0).place(1.0000000000000007)
    ('40%', '20%', '100%')
    """

    top: float = 1.0
    as_share: bool = False

    @classmethod
    def up_to(cls, values: Iterable[float], *, as_share: bool = False) -> PageScale:
        """Return the shortest scale that includes all values.

        >>> PageScale.up_to([0.04, 0.3]).top
        0.5
        """
        largest = max(values, default=1.0)
        return cls(next((top for top in STEPS if largest <= top), 1.0), as_share)

    def place(self, value: float) -> str:
        """Return the position of a value; one beyond the scale is put at its end."""
        return _render_percentage(self._share(value))

    def width(self, start: float, end: float) -> str:
        """Return the width of a bar."""
        return _render_percentage(self._share(end) - self._share(start))

    @property
    def ticks(self) -> list[Tick]:
        """The steps with their labels; the outer labels stay inside the figure."""
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
    """Stack counts in a row: return the start and the width of each. Small ones are widened to be visible.

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


# Constants that the text of the page mentions, taken from the code that uses them.
CONSTANTS = {
    "beyond": BEYOND,
    "resamples": RESAMPLES,
    "fewest_effective": FEWEST_EFFECTIVE,
    "fewest_in_spot": FEWEST,
    "standard_errors": SURE,
}
SHARES = ("unseen_entity", "unseen_relation", "nothing_fires")
# The sentences of `Cause`; a name may contain the same words, so the last match of the ending counts.
SENTENCES = {
    "relation": re.compile(r"(\S+ of the queries are for )(.*)( \(before: \S+\))"),
    "body": re.compile(r"(the rule )(.*)( applies to \S+ of the queries for its relation \(before: \S+\))"),
}


def render_shift_page(report: dict[str, Any]) -> str:
    """Return the HTML page of a report, as given by `ShiftReport.to_json` or read from its file."""
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
    """Return each part of the queries with its position in the stacked bar; the part in reach comes first."""
    counts = [reach[name] for name in SHARES]
    counts = [reach["n"] - sum(counts), *counts]
    parts = zip(("in_reach", *SHARES), counts, stack_bars(counts), strict=True)
    return [{"name": name, "n": n, "start": start, "width": width} for name, n, (start, width) in parts]


def _scale_distances(distances: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the distances on one scale, each with the limit from which it is shifted, and its verdict."""
    rows = []
    for one in distances:
        limit = max(one["null_high"], one["null"] + one["least"])
        is_beyond = one["value"] > one["null_high"]
        is_called = "shifted" if one["is_shifted"] else "small" if is_beyond else "chance"
        rows.append({**one, "limit": limit, "is_called": is_called})
    return {"rows": rows, "scale": PageScale.up_to(max(one["value"], one["limit"]) for one in rows)}


def _scale_causes(causes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the causes by kind, each kind on its own scale, since changes of a relation may be small."""
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
    """Split a sentence around its relation or rule; without one, return the sentence and two empty strings.

    >>> split_cause("relation", "5% of the queries are for ~speaks (before: 2%)")
    ('5% of the queries are for ', '~speaks', ' (before: 2%)')
    >>> split_cause("degree", "9% of the queries are about entities without facts (before: 0%)")
    ('9% of the queries are about entities without facts (before: 0%)', '', '')
    """
    found = SENTENCES[kind].fullmatch(text) if kind in SENTENCES else None
    return (found[1], found[2], found[3]) if found else (text, "", "")
