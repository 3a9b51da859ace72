"""How long groups by paths take on FB15k-237, and how much memory.

    STABLERULE_DATA=... python -m benchmarks.grouping      # writes benchmarks/results/grouping.json

A fresh process, with its kernels compiled before; the peak is that of the whole process, libraries included.
"""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

import numpy as np

from stablerule import load
from stablerule.shifts import by_paths, make_path_signatures

RESULTS = Path(__file__).parent / "results" / "grouping.json"
GRAPH = "fb15k-237"


def main() -> None:
    dataset = load(GRAPH)
    make_path_signatures(dataset.test.take(np.arange(100)), dataset.graph)  # compiles
    began = time.perf_counter()
    made = by_paths(dataset.test, dataset.graph)
    found = {
        "graph": GRAPH,
        "facts": len(made),
        "groups": made.sizes,
        "seconds": round(time.perf_counter() - began, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(found)


if __name__ == "__main__":
    main()
