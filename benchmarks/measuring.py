"""Are the numbers of rules right? Chains that Tabular finds, measured within several budgets, against exact counts.

    STABLERULE_DATA=... python -m benchmarks.measuring [GRAPH]     # writes benchmarks/results/measuring.json

The exact counts are those of `measure_rules` without a budget; for the best 100 rules they are counted once more in
plain Python, path by path. CPU is the processor time of a budget over that of counting everything exactly.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from stablerule import Graph, load
from stablerule.learning.extraction import Candidates, keep_best_bodies, smooth_sample_counts
from stablerule.learning.options import Mining
from stablerule.learning.plan import choose_rule_count, choose_walk_count
from stablerule.paths.support import estimate_body_costs
from stablerule.paths.withheld import ExampleFacts
from stablerule.rules.measuring import Statistics, Survey, measure_rules
from stablerule.rules.scored import PESSIMISM
from stablerule.samples import sample_rules

RESULTS = Path(__file__).parent / "results" / "measuring.json"
GRAPH = "fb15k-237"
SHARES = (0.3, 0.1, 0.03)  # of what counting everything exactly costs
FAR = 0.02


def find_chains(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The chains that Tabular keeps, with its defaults."""
    samples = sample_rules(graph, choose_walk_count(graph), max_length=3, seed=0)
    closed = samples.cell_heads != samples.negative
    found = Candidates(
        samples.cell_bodies[closed].astype(np.int64),
        samples.cell_heads[closed].astype(np.int64),
        smooth_sample_counts(samples, 5.0)[closed],
    )
    best = keep_best_bodies([found], graph.n_relations, choose_rule_count(graph))
    return samples.bodies[best.bodies].astype(np.int32), best.heads.astype(np.int32)


def count_plainly(graph: Graph, body: list[int], head: int) -> float:
    """Confidence of one rule, by walking its paths from each X."""
    tails = [{x: set(graph.tails(x, r).tolist()) for x in set(graph.facts(r)[0].tolist())} for r in (*body, head)]
    support = pairs = 0
    for x in tails[0]:
        ends: list[tuple[tuple[int, ...], int]] = [((x,), x)]
        for step in tails[: len(body) - 1]:
            ends = [((*path, y), y) for path, here in ends for y in step.get(here, ()) if y not in path]
        reached: set[int] = set()
        for path, here in ends:
            reached |= tails[len(body) - 1].get(here, set()).difference(path)
        pairs += len(reached)
        support += len(reached & tails[-1].get(x, set()))
    return support / (pairs + PESSIMISM)


def compare(found: Statistics, exact: Statistics) -> dict[str, Any]:
    """What is sampled, how far the best are off, and how often the intervals hold the exact confidence."""
    sampled = found.heads_tried < 1
    order = np.argsort(-found.confidence, kind="stable")
    off = found.confidence - exact.confidence
    inside = (found.confidence_low <= exact.confidence + 1e-12) & (exact.confidence <= found.confidence_high + 1e-12)
    width = (found.confidence_high - found.confidence_low)[sampled]
    return {
        "sampled": int(sampled.sum()),
        "sampled among the best 100": int(sampled[order[:100]].sum()),
        f"best 60 off by more than {FAR}": int((np.abs(off[order[:60]]) > FAR).sum()),
        "largest error among the best 60": round(float(np.abs(off[order[:60]]).max()), 4),
        "mean error among the best 20": round(float(off[order[:20]].mean()), 4),
        "best 100 within their interval": int(inside[order[:100]].sum()),
        "sampled within their interval": round(float(inside[sampled].mean()), 4) if sampled.any() else None,
        "mean width of sampled": round(float(width.mean()), 4) if sampled.any() else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", default=GRAPH)
    name = parser.parse_args().graph
    graph = load(name).graph
    bodies, heads = find_chains(graph)
    measure_rules(graph, bodies[:50], heads[:50], budget=1)  # compiles
    survey = Survey.of(graph, bodies, heads, ExampleFacts.all_of(graph), None, 0)
    distinct, needed = np.unique(bodies, axis=0), float(survey.costs.sum())
    answer: dict[str, Any] = {
        "rules": len(heads),
        "bodies": len(distinct),
        "bodies followed": len(survey.bodies),
        "edges, from the cheaper end over from X": round(needed / float(estimate_body_costs(graph, distinct).sum()), 3),
        "budgets": {},
    }
    began = time.process_time()
    exact = measure_rules(graph, bodies, heads, budget=None)
    whole = time.process_time() - began
    best = np.argsort(-exact.confidence, kind="stable")[:100]
    plain = [count_plainly(graph, bodies[i][bodies[i] >= 0].tolist(), int(heads[i])) for i in best]
    answer["best 100, exact, counted plainly: different"] = int((np.abs(exact.confidence[best] - plain) > 1e-12).sum())
    budgets = {"default": Mining().measure_budget} | {f"{share:g} of exact": share * needed for share in SHARES}
    for title, budget in budgets.items():
        began = time.process_time()
        found = measure_rules(graph, bodies, heads, budget=budget)
        seconds = time.process_time() - began
        answer["budgets"][title] = {"CPU": round(seconds / whole, 2)} | compare(found, exact)
        print(title, answer["budgets"][title], flush=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    RESULTS.write_text(json.dumps(results | {name: answer}, indent=1) + "\n")
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
