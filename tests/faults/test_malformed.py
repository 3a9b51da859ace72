"""Damaged files end in an answer or in an error of ours: never in a traceback, nor in a wait without end."""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Rule, read_dataset
from stablerule.errors import StableRuleError
from stablerule.rules import read_rules
from tests.faults.campaign import RESULTS
from tests.faults.malformed import read_damaged
from tests.faults.mutations import damage_bytes
from tests.faults.readers import WORLD, make_readers
from tests.faults.report import PAGE, fill_page, make_tables

QUICK = 500


def test_damaged_files(tmp_path: Path) -> None:
    found = read_damaged(make_readers(tmp_path), QUICK, seed=0)
    assert found.faults == []
    assert found.inputs == QUICK
    # It would be no test if nothing were ever read, or nothing ever refused.
    assert found.read.total() > QUICK / 20
    assert found.refused.total() > QUICK / 4


def test_a_fault_is_found_and_named(tmp_path: Path) -> None:
    readers = make_readers(tmp_path)[:1]

    def fails() -> None:
        raise ZeroDivisionError("by zero")

    broken = [type(readers[0])("broken", readers[0].file, fails)]
    found = read_damaged(broken, 3, seed=0)
    assert found.faults == [f"broken {number}: ZeroDivisionError: by zero" for number in range(3)]


def test_damage_is_made_again_by_its_seed() -> None:
    data = b"a\tr\tb\n" * 9
    one, other = ([damage_bytes(data, random.Random(seed)) for seed in range(50)] for _ in range(2))
    assert one == other
    assert sum(damaged != data for damaged in one) > 40


CELLS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["", "?", "#", '"', "~r", "X", "\ufeff", "\0"]
)
LINES = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6)


@given(lines=LINES, separator=st.sampled_from("\t,"), end=st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=60)
def test_any_cells_are_facts_or_an_error(lines: list[list[str]], separator: str, end: str) -> None:
    text = end.join(separator.join(cells) for cells in lines)
    with TemporaryDirectory() as folder:
        for suffix in (".csv", ".tsv"):
            path = Path(folder) / f"facts{suffix}"
            path.write_bytes(text.encode())
            try:
                dataset = read_dataset(path)
            except StableRuleError:
                continue
            assert all(all(row[:3]) for row in dataset.frame("train").rows())


@given(data=st.binary(max_size=200))
@settings(max_examples=60)
def test_any_bytes_are_rules_or_an_error(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rules.txt"
        path.write_bytes(data)
        try:
            rules = read_rules(path).rules
        except StableRuleError:
            return
        assert [Rule.parse(str(one.rule)) for one in rules] == [one.rule for one in rules]


def test_a_very_long_name_does_not_fill_the_screen() -> None:
    with pytest.raises(StableRuleError) as told:
        WORLD.vocabulary.entity_id("x" * 100_000)
    assert len(str(told.value)) < 1000
    assert str(told.value).startswith("No entity 'xxx")
    assert f"{len(WORLD.vocabulary.entities):,} entities" in str(told.value)


def test_the_page_has_the_figures_of_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    assert fill_page(page, make_tables(results)) == page
    assert results["malformed"]["inputs"] >= 10_000
    assert sum(results["kills"]["ended"].values()) >= 1_000
