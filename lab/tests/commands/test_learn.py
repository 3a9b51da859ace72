"""`stablerule learn` with the methods of the laboratory."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablerule import households, write_dataset
from tests.terminal import fails, run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_dataset(households(families=2, seed=0).dataset, tmp_path / "umls")
    return tmp_path / "umls"


@pytest.mark.parametrize(
    ("words", "printed", "not_printed"),
    [
        (["--method", "drum"], "max_length=2, training.epochs=12", "zzz"),
        (["--method", "drum", "--max-length", "3"], "epochs=12", "max_length"),  # what is asked for goes first
        (["--method", "drum", "--set", "max_length=3"], "epochs=12", "max_length"),
        (["--method", "ncrl"], "learning_rate=0.02", "zzz"),
        (["--method", "ncrl", "--set", "variant=faithful"], "umls", "settings for"),  # it has its own
    ],
)
def test_settings_of_a_known_graph_are_printed(words: list[str], printed: str, not_printed: str, data: Path) -> None:
    result = run("learn", data, *words, "--dry-run")
    assert result.exit_code == 0, result.output
    assert printed in result.stderr
    assert not_printed not in result.stderr


def test_bad_options_are_refused_before_any_work(data: Path, tmp_path: Path) -> None:
    learn = ("learn", data, "-o", tmp_path / "m", "--method")
    assert "no option 'max_length'" in fails(*learn, "transe", "--max-length", "3")
    assert "'minutes' must be a number of at least 0" in fails(*learn, "rotate", "--minutes", "-1")
    assert not (tmp_path / "m").exists()
