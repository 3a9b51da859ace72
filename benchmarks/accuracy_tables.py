"""The tables of docs/accuracy.md, from the results of benchmarks/accuracy.py.

python -m benchmarks.accuracy_tables
"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.accuracy import GRAPHS, RESULTS, ROWS

# MRR with realistic ties of AnyBURL 23-1 with PyClause on two idle cores: the best of 10 s and 100 s of learning and of
# three aggregations, chosen on test.
ANYBURL = {"family": 0.982, "umls": 0.944, "kinship": 0.750, "wn18rr": 0.487, "fb15k-237": 0.311}
PLAIN = "plain confidence (max_plus, chains)"
COLD = "process, nothing compiled before"


def main_table(results: dict[str, Any]) -> list[str]:
    """A line for each graph."""
    lines = [
        "| | AnyBURL | plain confidence | Tabular | StableRule | StableRule - Tabular | Tabular, s | StableRule, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for graph in GRAPHS:
        found = results[graph]
        stable, tabular = found["stablerule"], found["tabular"]
        low, high = tabular["difference"]["low"], tabular["difference"]["high"]
        lines.append(
            f"| {graph} | {ANYBURL[graph]:.3f} | {found[PLAIN]['mrr']:.3f} | {tabular['mrr']:.3f} "
            f"| {stable['mrr']:.3f} ({stable['interval'][0]:.3f} to {stable['interval'][1]:.3f}) "
            f"| {tabular['difference']['mrr']:+.4f} ({low:+.4f} to {high:+.4f}) "
            f"| {_seconds(tabular)} | {_seconds(stable)} |"
        )
    return lines


def _seconds(row: dict[str, Any]) -> str:
    took = row["seconds"]
    return f"{took['process']:.0f} ({took[COLD]:.0f})"


def lever_table(results: dict[str, Any]) -> list[str]:
    """A line for each row of the benchmark, a column for each graph."""
    lines = [f"| | {' | '.join(GRAPHS)} |", f"|---|{'---|' * len(GRAPHS)}"]
    for row in ROWS:
        values = [results[graph].get(row) for graph in GRAPHS]
        if any(values):
            cells = [f"{value['mrr']:.4f}" if value else "" for value in values]
            lines.append(f"| {row} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    results = json.loads(RESULTS.read_text())
    print("\n".join([*main_table(results), "", *lever_table(results)]))


if __name__ == "__main__":
    main()
