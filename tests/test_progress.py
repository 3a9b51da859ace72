"""What is said while one waits."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import progress
from stablerule.paths.compiling import compiled
from stablerule.progress import CompilingNotice, TimeLeft, announce_by, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@compiled
def add_one(number: int) -> int:
    return number + 1


def test_a_bar_shows_stage_share_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("measuring rules", 4) as advance:
        advance(1)
        with progress_bar("counting", 2) as inner:  # a bar inside of a bar says its name there
            inner(1, "here")
        advance(2, "parent_of")
    shown = screen.getvalue()
    assert "measuring rules" in shown
    assert "75%" in shown
    assert "parent_of" in shown
    assert progress._Shown.bars is None


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("measuring rules", 4) as advance:
        advance(1, "x")
    assert capsys.readouterr() == ("", "")


@given(st.floats(10, 1000), st.integers(5, 50))
def test_a_steady_pace_has_a_time_left_that_is_right(whole: float, steps: int) -> None:
    left = TimeLeft()
    for step in range(1, steps + 1):
        seconds = whole * step / steps
        told = left.update(seconds, step / steps)
        assert told == pytest.approx(whole - seconds, abs=1e-6) if seconds >= 3 else told is None


@given(st.lists(st.floats(0.001, 0.2), min_size=2, max_size=40))
def test_a_time_left_never_jumps(amounts: list[float]) -> None:
    """Two that are shown one second after the other are of wholes that differ by no more than what counts as steady."""
    left, share, before = TimeLeft(), 0.0, None
    for second, amount in enumerate(amounts, 1):
        share = min(1.0, share + amount)
        told = left.update(second, share)
        if told is not None and before is not None:
            assert (told + second) / (before + second - 1) == pytest.approx(1, abs=0.31)
        before = told


def test_compiling_is_said_once_and_only_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    now = iter([0.0, 0.1, 0.5, 10.0, 10.1, 12.0, 12.1, 13.0, 20.0])
    monkeypatch.setattr("stablerule.progress.time.monotonic", lambda: next(now))
    monkeypatch.setattr(progress._Shown, "announce", None)
    announce_by(said.append)
    compiling = CompilingNotice()
    compiling.begin()
    compiling.end()  # half a second
    assert said == []
    compiling.begin()  # a kernel,
    assert said == []
    compiling.begin()  # and its parts
    assert said == [progress.COMPILING]
    compiling.begin()
    assert len(said) == 1
    assert compiling.parts == 4


def test_what_is_compiled_is_noticed_and_what_was_is_not() -> None:
    assert add_one(1) == 2
    before = progress.COMPILING_NOW.parts
    assert add_one(2) == 3
    assert progress.COMPILING_NOW.parts == before
    assert add_one(np.float32(2)) == 3  # type: ignore[arg-type]
    assert progress.COMPILING_NOW.depth == 0
