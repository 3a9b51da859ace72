"""How accurate are answers, and what does each lever give? MRR with realistic ties, from the file to the last rank.

    python -m benchmarks.accuracy [GRAPH ...]

Needs the graphs of the catalog (STABLERULE_DATA). Everything is chosen on validation facts. Each row runs in a fresh
process, which may find compiled kernels in numba's cache. With `--cold` the cache is empty, and both times are kept.
The differences of the rows are paired, query by query, with the first row of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
GRAPHS = ("family", "umls", "kinship", "wn18rr", "fb15k-237")

POPULARITY = "popularity"  # no option of a learner: see `forget_popularity`

# name -> method and its options; the first row is the one that the others are compared with.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "stablerule": ("stablerule", {}),
    "tabular": ("tabular", {}),
    "plain confidence (max_plus, chains)": ("tabular", {"constants": False, "aggregation": "max_plus"}),
    "the paper's aggregation (count, chains)": (
        "stablerule",
        {"constants": False, "aggregation": "count", "by": "score"},
    ),
    "fixed aggregation max_plus": ("tabular", {"aggregation": "max_plus"}),
    "fixed aggregation noisy_or of 5": ("tabular", {"aggregation": "noisy_or", "top": 5}),
    "fixed aggregation noisy_or of all": ("tabular", {"aggregation": "noisy_or"}),
    "fixed aggregation count": ("tabular", {"aggregation": "count"}),
    "fixed aggregation max_plus, equals not by popularity": ("tabular", {"aggregation": "max_plus", POPULARITY: False}),
    "learned, without constants": ("tabular", {"constants": False, "aggregation": "learned"}),
    "learned, constants without chains": ("tabular", {"rules_per_relation": 1, "aggregation": "learned"}),
    "learned, chains to length 2": ("tabular", {"max_length": 2, "aggregation": "learned"}),
    "learned, without length 1": ("tabular", {"mining.min_length": 2, "aggregation": "learned"}),
    "learned, chains to length 4": ("tabular", {"max_length": 4, "aggregation": "learned"}),
    "learned, chains to length 5": ("tabular", {"max_length": 5, "aggregation": "learned"}),
    "learned, twice as many chains": ("tabular", {"rules_per_relation": 800, "aggregation": "learned"}),
    "the network alone scores": ("stablerule", {"training.smoothing": None}),
}

# Other seeds of the first row: one run says little where queries are few.
SEEDS = {f"stablerule, seed {seed}": ("stablerule", {"seed": seed}) for seed in (1, 2, 3, 4)}


def run_one(graph: str, row: str, split: str, folder: str) -> None:
    """One row, in this process: the result as JSON on standard output, the reciprocal ranks as a file."""
    began = time.perf_counter()
    import numpy as np  # noqa: PLC0415  # the clock runs while packages are imported

    import stablerule  # noqa: PLC0415
    from stablerule.evaluation import evaluate  # noqa: PLC0415
    from stablerule.registry import MODELS  # noqa: PLC0415

    method, given = (ROWS | SEEDS)[row]
    options = {name: value for name, value in given.items() if name != POPULARITY}
    if not given.get(POPULARITY, True):
        forget_popularity()
    dataset = stablerule.load(graph)
    model = MODELS[method].with_options(options).fit(dataset.graph, dataset.valid)
    learned = time.perf_counter()
    found = evaluate(model, dataset, split=split, resamples=200)
    ended = time.perf_counter()
    ranks = found.ranks.form("realistic")
    order = np.lexsort(found.queries.rows.T)
    np.save(Path(folder) / "ranks.npy", 1 / ranks[order])
    values = found.to_json()
    aggregation = model.learned_.aggregation
    if aggregation is None:
        raise SystemExit(f"{method} does not answer by rules")
    answer = {
        "mrr": values["mrr"],
        "hits@1": values["hits@1"],
        "hits@10": values["hits@10"],
        "coverage": values["coverage"],
        "interval": values["intervals"]["mrr"],
        "aggregation": aggregation.name,
        "rules": len(model.rules),
        "seconds": {"learn": round(learned - began, 1), "rank": round(ended - learned, 1)},
        "data": dataset.sha256,
    }
    print(json.dumps(answer))


def forget_popularity() -> None:
    """Let equal candidates stay equal."""
    import numpy as np  # noqa: PLC0415

    from stablerule.reasoning.rule_searcher import RuleSearcher  # noqa: PLC0415

    asked = RuleSearcher.gather_asked

    def without(self: RuleSearcher, relation: int) -> Any:
        found = asked(self, relation)
        return found._replace(tails=np.zeros(0, np.int32), popular=np.zeros(0, np.int32))

    RuleSearcher.gather_asked = without  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--split", default="test")
    parser.add_argument("--cold", action="store_true", help="time only, with nothing compiled before")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        run_one(*asked.one)
        return
    import numpy as np  # noqa: PLC0415

    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for graph in asked.graphs or GRAPHS:
        first = None
        for row in asked.rows:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "benchmarks.accuracy", "--one", graph, row, asked.split, folder]
                began = time.perf_counter()
                cache = {"NUMBA_CACHE_DIR": folder} if asked.cold else {}
                done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | cache)
                if asked.cold:
                    cold = round(time.perf_counter() - began, 1)
                    results[graph][row]["seconds"]["process, nothing compiled before"] = cold
                    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
                    print(graph, row, cold, flush=True)
                    continue
                answer = json.loads(done.stdout.splitlines()[-1])
                answer["seconds"]["process"] = round(time.perf_counter() - began, 1)
                ranks = np.load(Path(folder) / "ranks.npy")
            if first is None:
                first = ranks
                answer = results.get(graph, {}).get(row, answer)  # what it was compared with before is kept
            else:
                answer["difference"] = paired(first, ranks)
            results.setdefault(graph, {})[row] = answer
            print(graph, row, answer, flush=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def paired(first: Any, other: Any) -> dict[str, float]:
    """MRR of the first row minus that of another on the same queries, with its bootstrap standard error."""
    import numpy as np  # noqa: PLC0415

    random, gain = np.random.default_rng(0), first - other
    means = [gain[random.integers(len(gain), size=len(gain))].mean() for _ in range(1000)]
    low, high = np.quantile(means, [0.025, 0.975])
    return {
        "mrr": round(float(gain.mean()), 5),
        "standard_error": round(float(np.std(means)), 5),
        "low": round(float(low), 5),
        "high": round(float(high), 5),
    }


if __name__ == "__main__":
    main()
