"""What the laboratory imports of the library: few rooms, and internals in one place only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "stablerule_lab"
EXTENDING = "stablerule.extending"
MOST = 20
# Modules that are no packages of their own, and made for use.
PUBLIC = {
    *("stablerule.errors", "stablerule.progress", "stablerule.registry", EXTENDING),
    *("stablerule.shifts.splits", "stablerule.reports.rendering", "stablerule.cli.output", "stablerule.cli.reading"),
}


def imports(path: Path) -> list[tuple[str, str]]:
    """Modules and names of the library that a file imports, those for types alone as well."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return [(module, name) for module, name in found if module.split(".")[0] == "stablerule"]


def test_few_modules_of_the_library_are_imported() -> None:
    modules = {module for path in SOURCE.rglob("*.py") for module, _ in imports(path)} - {EXTENDING}
    assert len(modules) <= MOST, sorted(modules)


def test_internals_are_imported_in_one_place_only() -> None:
    for path in SOURCE.rglob("*.py"):
        inside = path.parent == SOURCE / "inside"
        for module, name in imports(path):
            assert not name.startswith("_"), (path, name)
            assert inside or module in PUBLIC or module.count(".") == 1, (path, module)


def test_every_name_is_given_by_the_room_that_it_is_imported_from() -> None:
    """A room says in `__all__` what is public; `errors`, `progress` and what prints have no such list."""
    for path in SOURCE.rglob("*.py"):
        for module, name in imports(path):
            public = getattr(sys.modules.get(module) or __import__(module, fromlist=["x"]), "__all__", None)
            assert public is None or name in public, (path, module, name)


def test_what_lists_methods_and_reads_data_comes_without_torch() -> None:
    script = (
        "import sys, stablerule_lab.methods.records, stablerule_lab.aminer, stablerule_lab.experiments.specs; "
        "print('torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
