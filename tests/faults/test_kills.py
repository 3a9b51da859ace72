"""Kills, interrupts and a full disk at named points: what was there is still there, or what was asked for is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

QUICK = 8


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_faults_while_commands_write() -> None:
    """In a process of its own: it forks, and this one may have threads."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.kills", str(QUICK), "0"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert sum(found["ended"].values()) == QUICK
