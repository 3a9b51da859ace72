"""Lines of rules and facts that are longer than a terminal is wide."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from stablerule.cli import output
from stablerule.cli.output import wrap_atoms

words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)


def test_rules_break_between_atoms_and_go_on_further_in() -> None:
    line = " 98%  capital_of(X, Y) <- in_time_zone(X, A), in_time_zone(B, A), city_in(B, Y)"
    assert wrap_atoms(line, 60) == [
        " 98%  capital_of(X, Y) <- in_time_zone(X, A),",
        "          in_time_zone(B, A), city_in(B, Y)",
    ]
    assert wrap_atoms("      in('New York', 'A (big) country'), of('a', 'b')", 45) == [
        "      in('New York', 'A (big) country'),",
        "          of('a', 'b')",
    ]
    assert wrap_atoms("short(X, Y)", 80) == ["short(X, Y)"]


@given(st.lists(words, min_size=1, max_size=12), st.integers(0, 8), st.integers(30, 100))
def test_nothing_is_lost_and_every_line_fits(atoms: list[str], indent: int, width: int) -> None:
    line = " " * indent + " ".join(atoms)
    lines = wrap_atoms(line, width)
    assert "".join("".join(lines).split()) == "".join(line.split())
    assert all(cell_len(part) <= width for part in lines)
    assert all(part.startswith(" " * indent) for part in lines)


@pytest.mark.parametrize("width", [40, 80])
def test_messages_break_at_words_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = "  about 0.0 GB of memory beside the program and 15,000 rules, and a count of them twice or thrice, they say"
    for terminal in (True, False):
        screen = io.StringIO()
        monkeypatch.setattr(
            output, "errors", Console(file=screen, width=width, force_terminal=terminal, color_system=None)
        )
        output.print_message(text)
        lines = screen.getvalue().rstrip("\n").split("\n")
        assert " ".join(" ".join(lines).split()) == " ".join(text.split())
        assert all(word in text.split() for line in lines for word in line.split())
        assert (len(lines) > 1) == terminal
        assert all(line.startswith("  ") and (len(line.rstrip()) <= width or not terminal) for line in lines)
