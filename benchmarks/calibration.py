"""Whether probabilities of new facts hold: a tenth of the training facts is hidden, and looked for among the new facts.

    STABLERULE_DATA=... python -m benchmarks.calibration umls family      # adds to benchmarks/results/calibration.json
    python -m benchmarks.calibration --picture                            # writes docs/images/calibration.svg
    python -m benchmarks.calibration --table                              # prints the table of docs/completing.md

A path to a file of triples may replace a name; it is split into train, valid and test. The model learns on the rest
of train, and chooses on all validation facts. Validation and test facts are known, as they are to `complete`. A
candidate is right if it is among the hidden facts, and wrong if not. Graphs of fewer than 50,000 facts have several
hidden tenths, and their candidates are evaluated together.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from stablerule import Dataset, Graph, Tabular, Triples, load, read_dataset
from stablerule.datasets.catalog import CATALOG
from stablerule.reasoning.calibration import Calibration, judge_probabilities
from stablerule.reasoning.completing import Completion, TrueFacts, keep_best_new_facts
from stablerule.reasoning.wanted import WantedFacts

RESULTS = Path(__file__).parent / "results" / "calibration.json"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "calibration.svg"
SEEDS, SMALL = 3, 50_000
LEAST, TOP = 0.1, 1000


def complete_with_hidden(dataset: Dataset, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the likely new facts, and whether each is one of the hidden facts; and the figures of the best."""
    which = np.zeros(len(dataset.train), bool)
    which[np.random.default_rng([seed, 17]).permutation(len(which))[: len(which) // 10]] = True
    words = dataset.vocabulary
    graph, hidden = Graph.build(dataset.train.take(~which), words), Graph.build(dataset.train.take(which), words)
    began = time.perf_counter()
    model = Tabular(seed=seed).fit(Dataset.of_graph(graph, dataset.valid, dataset.test))
    learned = time.perf_counter()
    known = Graph.build(Triples.concat(graph.triples, dataset.valid, dataset.test), words)
    calibration = model.calibration_for(graph)
    assert isinstance(calibration, Calibration), calibration
    completion = Completion(
        model.searcher(graph), WantedFacts(min_probability=0.02), known=known, calibration=calibration
    )
    parts = []
    for relation in completion.relations:
        part = completion.of(relation)
        ends = (words.entities.ids_of(part[end]) for end in ("head", "tail"))
        heads, tails = ends
        rows = np.stack([heads, np.full(len(part), relation), tails], axis=1).astype(np.int32)
        right = hidden.contains(Triples(rows)) if len(part) else np.zeros(0, bool)
        parts.append(part.drop("rule", "path").with_columns(right=pl.Series(right, dtype=pl.Boolean)))
    found = pl.concat(parts)
    best, counter = keep_best_new_facts(found, TOP), TrueFacts()
    counter.add(best)
    expected = counter.expected
    relations = best.group_by("relation").agg(pl.len().alias("n"), pl.col("probability").sum(), pl.col("right").sum())
    figures = {
        "seed": seed,
        "hidden": int(which.sum()),
        "best": len(best),
        "right": int(best["right"].sum()),
        "expected": None if expected is None else [round(number, 1) for number in expected[:3]],
        "relations": {
            row["relation"]: [row["n"], round(row["probability"], 1), row["right"]]
            for row in relations.sort("n", "relation", descending=[True, False]).head(12).to_dicts()
        },
        "seconds": [round(learned - began), round(time.perf_counter() - learned)],
    }
    print(dataset.name, figures, flush=True)
    return found, figures


def measure(name: str) -> dict[str, Any]:
    """Judge the probabilities of one graph."""
    dataset = load(name) if name in CATALOG else read_dataset(name, split=(0.8, 0.1, 0.1))
    runs = [complete_with_hidden(dataset, seed) for seed in range(SEEDS if len(dataset.train) < SMALL else 1)]
    found = pl.concat([frame for frame, _ in runs])
    p = found["probability"].to_numpy()
    judged = judge_probabilities(p, p[found["right"].to_numpy()], least=LEAST)
    return {"train": len(dataset.train), "candidates": judged, "runs": [figures for _, figures in runs]}


def calibration_table(results: dict[str, Any]) -> list[str]:
    """A line for each graph."""
    return [
        "| graph | candidates above 10% | calibration error | by chance alone | true among the best 1,000 | expected |",
        "|---|--:|--:|--:|--:|--:|",
        *(_row(name, result["candidates"], result["runs"]) for name, result in results.items()),
    ]


def _row(name: str, candidates: dict[str, Any], runs: list[dict[str, Any]]) -> str:
    # The mean distance of a share of n to its exact probability p is sqrt(2p(1-p) / pi n).
    exact = [
        one["n"] * math.sqrt(2 * one["predicted"] * (1 - one["predicted"]) / (math.pi * one["n"]))
        for one in candidates["bins"]
    ]
    expected = [
        f"{mean:.0f} ({math.floor(low)} to {math.ceil(high)})" for mean, low, high in (run["expected"] for run in runs)
    ]
    cells = [
        f"{candidates['n']:,}",
        f"{candidates['ece']:.3f}",
        f"{sum(exact) / candidates['n']:.3f}",
        "; ".join(str(run["right"]) for run in runs),
        "; ".join(expected),
    ]
    return " | ".join([f"| {name}", *cells]) + " |"


def draw(results: dict[str, Any]) -> str:
    """Draw the reliability of each graph: the share that is right against the probability, as SVG."""
    side, gap, across = 150, 46, 4
    rows = -(-len(results) // across)
    width, height = across * (side + gap) + 10, rows * (side + 62) + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="11">',
        "<title>Reliability: the share of candidates that are right, by their probability</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, (name, result) in enumerate(results.items()):
        left, top = 36 + (i % across) * (side + gap), 26 + (i // across) * (side + 62)
        judged = result["candidates"]
        lines += [
            f'<text x="{left}" y="{top - 8}" font-weight="bold">{name}</text>',
            f'<text x="{left + side}" y="{top - 8}" text-anchor="end" fill="#555">ECE {judged["ece"]:.3f}</text>',
            f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="#bbb"/>',
            f'<line x1="{left}" y1="{top + side}" x2="{left + side}" y2="{top}" stroke="#bbb" stroke-dasharray="3 3"/>',
        ]
        most = max(one["n"] for one in judged["bins"])
        for one in judged["bins"]:
            x, y = left + side * one["predicted"], top + side * (1 - min(one["observed"], 1))
            radius = 2 + 5 * (one["n"] / most) ** 0.5
            lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#2b6cb0" fill-opacity="0.75"/>')
        for mark in (0, 0.5, 1):
            lines.append(f'<text x="{left + side * mark}" y="{top + side + 14}" text-anchor="middle">{mark:g}</text>')
            lines.append(f'<text x="{left - 5}" y="{top + side * (1 - mark) + 4}" text-anchor="end">{mark:g}</text>')
        lines.append(
            f'<text x="{left + side / 2}" y="{top + side + 29}" text-anchor="middle" fill="#555">'
            f"probability ({judged['n']:,} candidates)</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    """Measure the graphs that were asked for, or draw what was measured."""
    names = sys.argv[1:]
    results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if names == ["--picture"]:
        PICTURE.write_text(draw(results), encoding="utf-8")
        return
    if names == ["--table"]:
        print("\n".join(calibration_table(results)))
        return
    for name in names:
        results[Path(name).stem] = measure(name)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
