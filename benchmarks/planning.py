"""What `learn` foretells against what it takes, stage by stage: made-up graphs of 10,000 to 10 million facts.

    python -m benchmarks.planning            # all but the largest
    python -m benchmarks.planning 10000000 fb15k-237   # some sizes and graphs, added to the results
    python -m benchmarks.planning foretell   # what the present plan says of the graphs that were measured

CPU seconds of all threads, after a run on a tiny graph that compiles the kernels (or loads them). A made-up graph has
half as many relations as thousands of facts, within 10 and 200; popular entities; a tenth of its facts for
validation. The graphs that are at hand come along with their own splits.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule import Dataset, Tabular, Triples, Vocabulary, load
from stablerule.datasets.loading import is_dataset_at_hand
from stablerule.graph import Names
from stablerule.learning import fitting
from stablerule.learning.plan import plan_counting
from stablerule.paths.threads import count_cores

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).parent / "results" / "planning.json"
SIZES = (10_000, 100_000, 1_000_000)
GRAPHS = ("geography", "family", "umls", "wn18rr")
STAGES = {
    "walking": "sample_paths",
    "measuring": "measure_chains",
    "constants": "find_constant_rules",
    "choosing": "choose_aggregation",
    "calibrating": "calibrate",
}


def make_graph(facts: int, seed: int = 0) -> Dataset:
    """Make a graph whose entities have degrees by a power law and whose relations have domains and ranges."""
    random = np.random.default_rng(seed)
    entities, relations = max(facts // 5, 50), int(np.clip(facts // 2000, 10, 200))
    share = 1 / np.arange(1, relations + 1)
    which = random.choice(relations, facts, p=share / share.sum()).astype(np.int32)
    spans, starts = random.uniform(0.02, 0.5, (2, relations)), random.uniform(0, 1, (2, relations))
    ends = [
        ((starts[end][which] + spans[end][which] * random.power(0.4, facts)) % 1 * entities).astype(np.int32)
        for end in (0, 1)
    ]
    keys = np.unique((ends[0].astype(np.int64) * relations + which) * entities + ends[1])
    keys = keys[random.permutation(len(keys))]
    rows = np.stack([keys // entities // relations, keys // entities % relations, keys % entities], 1).astype(np.int32)
    words = Vocabulary(Names([f"e{i:08}" for i in range(entities)]), Names([f"r{i:03}" for i in range(relations)]))
    cut = len(rows) // 10
    return Dataset(f"made-up {facts:,}", words, Triples(rows[cut:]), Triples(rows[:cut]), Triples.empty())


def measure(dataset: Dataset) -> dict[str, Any]:
    """Plan and learn, and note the CPU seconds of each stage."""
    seconds: dict[str, float] = defaultdict(float)
    first = {name: getattr(fitting, name) for name in STAGES.values()}

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                seconds[stage] += time.process_time() - began

        return run

    learner = Tabular()
    began = time.process_time()
    foretold = foretell(dataset)
    planning = time.process_time() - began
    for stage, name in STAGES.items():
        setattr(fitting, name, timed(stage, first[name]))
    try:
        began, wall = time.process_time(), time.perf_counter()
        learner.fit(dataset.graph, dataset.valid)
        total, wall = time.process_time() - began, time.perf_counter() - wall
    finally:
        for name, function in first.items():
            setattr(fitting, name, function)
    return {
        "graph": dataset.name,
        "facts": dataset.graph.n_facts,
        "entities": dataset.graph.n_entities,
        "relations": dataset.graph.n_relations,
        "rules": len(learner.rules),
        "planning": round(planning, 2),
        "foretold": foretold,
        "measured": {**{stage: round(value, 2) for stage, value in seconds.items()}, "all": round(total, 2)},
        "wall": round(wall, 2),
    }


def foretell(dataset: Dataset) -> dict[str, float]:
    work = plan_counting(dataset.graph, Tabular()).work
    return {stage: round(seconds, 2) for stage, seconds in {**work, "all": sum(work.values())}.items()}


def foretell_again(machine: dict[str, Any]) -> None:
    """Renew what is foretold, after the constants of the plan have changed; nothing is measured."""
    rows = json.loads(RESULTS.read_text())["rows"]
    for row in rows:
        size = row["graph"].removeprefix("made-up ").replace(",", "")
        row["foretold"] = foretell(make_graph(int(size)) if size.isdecimal() else load(row["graph"]))
        print(row["graph"], row["foretold"]["all"], row["measured"]["all"], flush=True)
    RESULTS.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


def main(asked: list[str]) -> None:
    Tabular(walks=1000).fit(make_graph(500).graph, make_graph(500).valid)
    machine = {"cores": count_cores(), "python": platform.python_version()}
    known = [name for name in GRAPHS if is_dataset_at_hand(name)]
    if asked == ["foretell"]:
        foretell_again(machine)
        return
    for one in asked or [*known, *map(str, SIZES)]:
        row = measure(make_graph(int(one)) if one.isdecimal() else load(one))
        print(json.dumps(row), flush=True)
        kept = json.loads(RESULTS.read_text())["rows"] if RESULTS.is_file() else []
        rows = [other for other in kept if other["graph"] != row["graph"]] + [row]
        RESULTS.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
