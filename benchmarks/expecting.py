"""Does the interval of the expected accuracy hold what is measured? Many simulated shifts on several graphs.

    STABLERULE_DATA=... python -m benchmarks.expecting [GRAPH ...] [--shifts 42]

The test facts are halved at random. One half, with its answers, is the reference; from the other, queries are drawn in
a shifted way, and their answers are used only at the end. Kinds of shift: one group (by paths or by degrees, which
the answer decides as well; by continent), mixes of groups and of relations, and queries that score high or low. The
constants of `expecting` were chosen on geography and Kinship; the others chose nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule import Graph, Tabular, load, newsroom
from stablerule.shifts import QuerySet, by_attribute, by_degree, by_paths
from stablerule.shifts.expected import expect_accuracy
from stablerule.shifts.profile import Profiler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule import Dataset, Triples

RESULTS = Path(__file__).parent / "results" / "expecting.json"
GRAPHS = ("geography", "kinship", "newsroom", "umls", "family", "wn18rr")
CHOSE = ("geography", "kinship")
MOST_FACTS, MOST_ASKED, FEWEST_OF_A_GROUP = 4000, 400, 8


class World:
    """A graph, a model, and all test queries, looked at once."""

    def __init__(self, name: str) -> None:
        dataset = open_graph(name)
        graph = dataset.graph
        self.known = Graph.build(dataset.everything, dataset.vocabulary)
        profiler = Profiler(Tabular().fit(graph, dataset.valid), graph)
        facts = dataset.test.distinct()
        self.facts = facts.take(np.random.default_rng(0).permutation(len(facts))[:MOST_FACTS])
        queries = QuerySet.from_facts(self.facts, graph.n_relations)
        self.profile = profiler.profile(queries)
        self.ranks = profiler.reciprocal_ranks(queries, self.known)
        self.hidden = profiler.answer_groups(queries)
        self.groups = groups_of(name, self.facts, graph, self.known)

    def kinds(self) -> list[str]:
        return [*self.groups, *(f"mix of {name}" for name in self.groups), "mix of relations", "scores"]

    def draw(self, kind: str, half: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Take facts from one half in a shifted way."""
        if kind in self.groups:
            labels = self.groups[kind][half]
            large = np.flatnonzero(np.bincount(labels) >= FEWEST_OF_A_GROUP)
            chosen: NDArray[np.int64] = half[labels == random.choice(large)]
            return chosen
        if kind == "scores":
            shares = np.exp(-2 * random.normal() * self.profile.best[half])
        else:
            name = kind.removeprefix("mix of ")
            labels = self.facts.relations[half].astype(np.int64) if name == "relations" else self.groups[name][half]
            shares = (random.dirichlet(np.full(int(labels.max()) + 1, 0.4)) + 1e-6)[labels]
        size = min(len(half) // 3, MOST_ASKED)
        return random.choice(half, size, replace=False, p=shares / shares.sum())

    def simulate(self, kind: str, seed: int) -> dict[str, Any]:
        random = np.random.default_rng([seed, len(kind)])
        n = len(self.facts)
        order = random.permutation(n)
        asked = self.draw(kind, order[n // 2 :], random)
        old, new = (np.concatenate([rows, rows + n]) for rows in (order[: n // 2], asked))
        hidden = [labels[old] for labels in self.hidden]
        found, _ = expect_accuracy(
            self.profile.take(old), self.ranks[old], self.profile.take(new), hidden=hidden, seed=seed
        )
        measured = float(self.ranks[new].mean())
        return {"kind": kind, "measured": measured, "queries": len(new), **found.to_json()}


def open_graph(name: str) -> Dataset:
    if name == "newsroom":
        options = {"test_mix": 0.5, "train_mix": 0.3, "missing": 0.4, "noise": 0.5, "density": 1.0, "test": 0.4}
        return newsroom(people=3000, seed=1, **options).dataset  # type: ignore[arg-type]
    return load(name)


def groups_of(name: str, facts: Triples, graph: Graph, known: Graph) -> dict[str, NDArray[np.int64]]:
    found = {"paths": by_paths(facts, graph, measure=False), "degrees": by_degree(facts, graph, measure=False)}
    if name == "geography":
        found["continents"] = by_attribute(facts, graph, "in_continent", labels_from=known, measure=False)
    return {kind: grouping.labels for kind, grouping in found.items()}


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    told = [run for run in runs if run["mrr"] is not None]
    held = [run["low"] - 1e-9 <= run["measured"] <= run["high"] + 1e-9 for run in told]
    return {
        "shifts": len(runs),
        "refused": len(runs) - len(told),
        "held": round(float(np.mean(held)), 3) if told else None,
        "held if blind": round(float(np.mean([abs(run["measured"] - run["mrr"]) <= run["blind"] for run in told])), 3)
        if told
        else None,
        "error": round(float(np.mean([abs(run["measured"] - run["mrr"]) for run in told])), 4) if told else None,
        "error of the reference": round(float(np.mean([abs(run["measured"] - run["reference"]) for run in told])), 4)
        if told
        else None,
        "half width": round(float(np.mean([(run["high"] - run["low"]) / 2 for run in told])), 4) if told else None,
    }


def table(results: dict[str, Any]) -> list[str]:
    """The table of docs/shifts.md."""
    lines = [
        "| graph | shifts | refused | interval holds | blind holds | mean error | of the reference | half width |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for graph, found in results.items():
        one = found["all"]
        lines.append(
            f"| {graph} | {one['shifts']} | {one['refused']} | {one['held']:.0%} "
            f"| {one['held if blind']:.0%} | {one['error']:.3f} | {one['error of the reference']:.3f} "
            f"| {one['half width']:.3f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--shifts", type=int, default=42)
    asked = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for graph in asked.graphs or GRAPHS:
        began, world = time.perf_counter(), World(graph)
        kinds = world.kinds()
        runs = [world.simulate(kinds[turn % len(kinds)], turn) for turn in range(asked.shifts)]
        by_kind = defaultdict(list)
        for run in runs:
            by_kind[run["kind"]].append(run)
        results[graph] = {"all": summary(runs), "kinds": {kind: summary(some) for kind, some in by_kind.items()}}
        print(graph, results[graph], round(time.perf_counter() - began), "s", flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
