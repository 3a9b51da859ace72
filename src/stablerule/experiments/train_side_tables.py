"""The train-side experiment as Markdown: a table for each graph."""

from __future__ import annotations

from typing import Any


def train_side_tables(rows: list[dict[str, Any]], reference: str) -> list[str]:
    """Lines for people: graph by graph, a line for each method and bias.

    >>> gain = {"difference": 0.01, "seeds": [-0.02, 0.04]}
    >>> row = {"graph": "umls", "bias": 0.9, "method": "rff", "seeds": 5, "mean": 0.8, "worst": 0.7, "deviation": 0.1}
    >>> print(train_side_tables([row | {"difference": {"mean": gain, "worst": gain}}], "nodecor")[-1])
    | rff | 0.9 | 5 | 0.800 | 0.700 | 0.100 | +0.010 (-0.020 to +0.040) | +0.010 (-0.020 to +0.040) | |
    """
    lines: list[str] = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        lines += ["", f"**{graph}**", "", _heading(reference), "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
        own = [row for row in rows if row["graph"] == graph]
        lines += [_line(row) for row in sorted(own, key=lambda row: row["bias"])]
    return lines


def _heading(reference: str) -> str:
    gains = " | ".join(f"{what} - {reference}" for what in ("mean", "worst", "log P of other groups"))
    return f"| method | bias | seeds | mean | worst | deviation | {gains} |"


def _line(row: dict[str, Any]) -> str:
    figures = " | ".join(f"{row[name]:.3f}" for name in ("mean", "worst", "deviation"))
    gains = row.get("difference", {})
    cells = " | ".join(_gain(gains[name]) if name in gains else "" for name in ("mean", "worst", "likelihood"))
    return f"| {row['method']} | {row['bias']} | {row['seeds']} | {figures} | {cells} |".replace("|  |", "| |")


def _gain(found: dict[str, Any]) -> str:
    """A difference with its interval: over seeds, or over queries (marked) where there is one seed."""
    for kind, mark in (("seeds", ""), ("queries", " q")):
        if kind in found:
            low, high = found[kind]
            return f"{found['difference']:+.3f} ({low:+.3f} to {high:+.3f}){mark}"
    return f"{found['difference']:+.3f}"
