"""What `import stablerule` gives, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import stablerule


def test_all_is_what_is_visible() -> None:
    rooms = {
        "baselines",
        "cli",
        "datasets",
        "errors",
        "evaluation",
        "experiments",
        "graph",
        "io",
        "learning",
        "paths",
        "progress",
        "reasoning",
        "reports",
        "rules",
        "samples",
        "shifts",
    }
    visible = {name for name in vars(stablerule) if not name.startswith("_")} - rooms
    assert visible == set(stablerule.__all__)
    assert list(stablerule.__all__) == sorted(stablerule.__all__)
    assert len(stablerule.__all__) <= 25


def test_using_it_loads_no_extras() -> None:
    script = (
        "import sys, stablerule; stablerule.describe(stablerule.load('geography')); "
        "print([m for m in ('torch', 'pandas', 'pyoxigraph', 'pyarrow', 'sklearn') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
