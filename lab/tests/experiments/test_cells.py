"""The file of an experiment's cells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stablerule.errors import ReadError
from stablerule_lab.experiments.cells import FORMAT, add_cell, cell_name, read_cells

ADDING = """
import itertools, sys
from pathlib import Path
from stablerule_lab.experiments.cells import add_cell
path, method, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for seed in range(count):
    cell = {"graph": "umls", "method": method, "seed": seed}
    add_cell(path, {"format": 1, "cell": cell, "result": {"ranks": [seed] * 1000}})
    print(seed, flush=True)
"""


def finished(seed: int, **result: Any) -> dict[str, Any]:
    return {"format": FORMAT, "cell": {"graph": "a b", "seed": seed}, "made_with": {}, "result": result}


def writer(path: Path, method: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ADDING, str(path), method, str(count)], stdout=subprocess.PIPE, text=True
    )


def test_lines_are_sorted_by_cell_and_a_new_result_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "results" / "methods.jsonl"
    assert read_cells(path) == []
    for seed in (2, 0, 1):
        add_cell(path, finished(seed, mrr=0.1 * seed, by_group={"paths 1": 0.5, "paths 0": 1e-12}))
    before = path.read_text().splitlines()
    assert [json.loads(line)["cell"]["seed"] for line in before] == [0, 1, 2]
    assert before[2] == (
        '{"format":1,"cell":{"graph":"a b","seed":2},"made_with":{},'
        '"result":{"mrr":0.2,"by_group":{"paths 1":0.5,"paths 0":1e-12}}}'
    )
    add_cell(path, finished(1, mrr=0.9))
    after = path.read_text().splitlines()
    assert [after[0], after[2]] == [before[0], before[2]]
    assert [one["result"]["mrr"] for one in read_cells(path)] == [0, 0.9, 0.2]


def test_two_runs_that_share_a_file_lose_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "methods.jsonl"
    writers = [writer(path, method, 40) for method in ("ncrl", "tabular")]
    for one in writers:
        one.communicate()
        assert one.returncode == 0
    found = [(one["cell"]["method"], one["cell"]["seed"]) for one in read_cells(path)]
    assert sorted(found) == [(method, seed) for method in ("ncrl", "tabular") for seed in range(40)]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows knows no SIGKILL")
def test_a_kill_loses_no_cell_that_was_added_and_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "methods.jsonl"
    running = writer(path, "ncrl", 10**6)
    assert running.stdout is not None
    said = [int(running.stdout.readline()) for _ in range(50)]
    running.kill()
    said += [int(line) for line in running.communicate()[0].split()]
    count = len(read_cells(path))
    assert count - len(said) in (0, 1)  # one more where the kill came between the rename and the print
    add_cell(path, finished(0))
    assert len(read_cells(path)) == count + 1


def test_an_interrupt_before_the_rename_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "methods.jsonl"
    add_cell(path, finished(0, mrr=0.5))
    before = path.read_bytes()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "replace", interrupt)
        add_cell(path, finished(1))
    assert path.read_bytes() == before
    assert {found.name for found in tmp_path.iterdir()} <= {path.name, f".{path.name}.lock"}
    add_cell(path, finished(1))
    assert len(read_cells(path)) == 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"format":1,"cell":{"gra', "damaged line (Unterminated string"),
        (b'{"format":1,"cell":"\xff"}', "damaged line ('utf-8' codec can't decode"),
        (b"", "damaged line (Expecting value"),
        (b"[]", "expected a cell of format 1, found None: another version wrote it. Delete the line and run its cell"),
        (b'{"format":2,"cell":{}}', "expected a cell of format 1, found 2: another version wrote it"),
        (b'{"format":1}', "expected a cell of format 1"),
        (json.dumps(finished(0)).encode(), "a second line for the cell graph=a_b,seed=0. Delete one of the two"),
    ],
)
def test_a_line_that_can_not_be_used_is_named(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "methods.jsonl"
    add_cell(path, finished(0))
    path.write_bytes(path.read_bytes() + line + b"\n")
    for use in (read_cells, lambda path: add_cell(path, finished(1))):
        with pytest.raises(ReadError) as caught:
            use(path)
        assert f"methods.jsonl, line 2: {problem}" in str(caught.value)
        assert path.read_bytes().endswith(line + b"\n")


def test_names_of_cells_are_safe_as_names_of_files() -> None:
    assert cell_name({"graph": "a/b c", "bias": 0.5}) == "graph=a_b_c,bias=0.5"
