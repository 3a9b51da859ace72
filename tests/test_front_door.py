"""What `import stablerule` gives, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import stablerule
from stablerule import extending


def test_all_is_what_is_visible() -> None:
    rooms = {
        "cli",
        "datasets",
        "errors",
        "evaluation",
        "explorer",
        "extending",
        "graph",
        "importing",
        "io",
        "learning",
        "paths",
        "progress",
        "reasoning",
        "registry",
        "reports",
        "rules",
        "samples",
        "shifts",
    }
    visible = {name for name in dir(stablerule) if not name.startswith("_")} - rooms
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


def test_what_others_extend_is_named_and_comes_without_torch() -> None:
    visible = {name for name in vars(extending) if not name.startswith("_")}
    assert visible == set(extending.__all__)
    script = "import sys, stablerule.extending; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
