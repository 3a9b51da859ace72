"""`serve` and `explore` answer until Ctrl-C, and say what is missing in one line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.explorer.small import learn_small
from tests.terminal import fails, program


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "small"
    learn_small().model.save(place)
    return place


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs Ctrl-C for one process")
def test_the_api_is_served_until_ctrl_c(model: Path) -> None:
    words = program("serve", model, "--port", "0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        address = running.stderr.readline().split()[2]
        with urlopen(f"{address}api/v1/model") as answer:
            assert json.load(answer)["name"] == "small"
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130


@pytest.mark.parametrize("command", ["serve"])
def test_a_missing_extra_is_one_line(model: Path, command: str, monkeypatch: Any) -> None:
    find = util.find_spec
    monkeypatch.setattr("stablerule.explorer.extras.find_spec", lambda name: None if name == "fastapi" else find(name))
    assert fails(command, model).endswith(
        "needs the package 'fastapi'. Install it with: pip install 'stablerule[explore]'"
    )


def test_a_token_that_can_be_guessed_is_refused(model: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("STABLERULE_TOKEN", "abc")
    assert "at least 16 characters" in fails("serve", model, "--host", "0.0.0.0")


def test_the_core_stays_light() -> None:
    script = "import sys, stablerule.explorer.explored, stablerule.cli.serve; print('fastapi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
