"""The long fault campaign, whose figures are in docs/reliability.md: python -m tests.faults.campaign --help."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from stablerule.reasoning.model_folder import list_installed_versions

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "faults.json"


def run_part(name: str, count: int, seed: int) -> dict[str, Any]:
    """Run a part in a process of its own, so that one that is killed by a fault is a finding and not the end."""
    began = time.perf_counter()
    sys.stdout.write(f"{name}: {count:,}, seed {seed}\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", f"tests.faults.{name}", str(count), str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    if done.returncode:
        found["faults"] = [f"the campaign itself ended with exit code {done.returncode}"]
    return {"seed": seed, **found, "seconds": round(time.perf_counter() - began)}


def main() -> int:
    """Run both parts, write the results, and end with 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="scripts/faults", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="damaged files (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=1_000, help="kills and other faults (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the results go")
    asked = parser.parse_args()
    result: dict[str, Any] = {"versions": list_installed_versions(), "system": platform.system()}
    if asked.inputs:
        result["malformed"] = run_part("malformed", asked.inputs, asked.seed)
    if asked.kills:
        result["kills"] = run_part("kills", asked.kills, asked.seed)
    asked.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    faults = [fault for part in ("malformed", "kills") for fault in result.get(part, {}).get("faults", [])]
    sys.stdout.write("\n".join([f"{len(faults)} faults. Results: {asked.output}", *faults]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
