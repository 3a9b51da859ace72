"""Reading a million triples, against PyKEEN on the same file in the same run; and twenty million, for the memory.

    pip install pykeen
    python benchmarks/reading.py            # writes benchmarks/results/reading.json

CPU time of the whole process, threads included, best of several repeats, each in a process of its own, taken in turns.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

RESULTS = Path(__file__).parent / "results" / "reading.json"
MILLION = {"triples": 1_000_000, "entities": 200_000, "relations": 500}
TWENTY_MILLION = {"triples": 20_000_000, "entities": 5_000_000, "relations": 800}


def make_up(path: Path, triples: int, entities: int, relations: int) -> None:
    """Hubs and rare entities, as real graphs have them."""
    rng = np.random.default_rng(0)
    heads, tails = ((rng.random(triples) ** 3 * entities).astype(np.int64) * 7919 % entities for _ in range(2))
    labels = (rng.random(triples) ** 2 * relations).astype(np.int64)
    frame = pl.DataFrame({"h": heads, "r": labels, "t": tails})
    frame.select(
        pl.format("entity/{}", "h"), pl.format("relation/{}", "r").alias("r"), pl.format("entity/{}", "t").alias("t")
    ).write_csv(path, separator="\t", include_header=False)


def read_with(reader: str, path: str) -> dict[str, float]:
    """Import first, then read: only the reading is measured."""
    if reader == "stablerule":
        from stablerule import read_dataset  # noqa: PLC0415

        def read() -> int:
            return read_dataset(path).graph.nbytes

    else:
        from pykeen.triples import TriplesFactory  # noqa: PLC0415

        def read() -> int:
            return int(TriplesFactory.from_path(path).num_triples)

    cpu, wall = time.process_time(), time.perf_counter()
    size = read()
    return {
        "cpu_seconds": time.process_time() - cpu,
        "seconds": time.perf_counter() - wall,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "graph_bytes": size if reader == "stablerule" else 0,
    }


def in_a_process(reader: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--read", reader, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(repeats: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.tsv"
        make_up(path, **MILLION)
        runs: dict[str, list[dict[str, float]]] = {"stablerule": [], "pykeen": []}
        for _ in range(repeats):
            for reader, results in runs.items():
                results.append(in_a_process(reader, path))
        best = {reader: min(results, key=lambda r: r["cpu_seconds"]) for reader, results in runs.items()}
        large = Path(folder) / "twenty.tsv"
        make_up(large, **TWENTY_MILLION)
        twenty = in_a_process("stablerule", large)
    return {
        "million": {
            **MILLION,
            "stablerule": best["stablerule"],
            "pykeen": best["pykeen"],
            "times_faster": best["pykeen"]["cpu_seconds"] / best["stablerule"]["cpu_seconds"],
        },
        "twenty_million": {**TWENTY_MILLION, "stablerule": twenty},
        "repeats": repeats,
        "versions": {name: version(name) for name in ("stablerule", "pykeen", "polars", "numpy", "pandas")},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", nargs=2, metavar=("READER", "PATH"), help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.read:
        print(json.dumps(read_with(*arguments.read)))
        return
    results = measure(arguments.repeats)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
