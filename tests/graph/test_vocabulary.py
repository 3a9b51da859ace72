"""Names become ids and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset
from stablerule.errors import InputError, UnknownEntity, UnknownRelation
from stablerule.graph import Interner, Names
from tests.worlds import Fact, fact_lists

# Not surrogates: those are no text.
any_name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(any_name, max_size=30), any_name)
def test_names_are_sorted_and_look_up_agrees_with_a_list(texts: list[str], other: str) -> None:
    names = Names(texts)
    expected = sorted(set(texts))
    assert list(names) == expected
    for name in {*texts, other}:
        assert names.id_of(name) == (expected.index(name) if name in expected else None)
    assert names.ids_of([*texts, other]).tolist() == [
        expected.index(n) if n in expected else -1 for n in [*texts, other]
    ]
    assert names.names_of(np.arange(len(expected))).to_list() == expected


@given(fact_lists, st.randoms())
def test_ids_do_not_depend_on_the_order_of_facts(facts: list[Fact], random: object) -> None:
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, two = Dataset.from_names("a", train=facts), Dataset.from_names("b", train=shuffled)
    assert one.vocabulary == two.vocabulary
    assert one.sha256 == two.sha256


@given(fact_lists)
def test_decode_undoes_encode(facts: list[Fact]) -> None:
    dataset = Dataset.from_names("g", train=facts)
    frame = dataset.frame("train")
    assert frame.rows() == facts
    assert dataset.vocabulary.encode(frame) == dataset.train


def test_the_hash_tells_facts_and_splits_apart() -> None:
    a = Dataset.from_names("a", train=[("a", "r", "b"), ("b", "r", "c")])
    b = Dataset.from_names("a", train=[("a", "r", "b")], test=[("b", "r", "c")])
    c = Dataset.from_names("a", train=[("ab", "r", "b"), ("b", "r", "c")])
    twice = Dataset.from_names("a", train=[("a", "r", "b"), ("b", "r", "c"), ("a", "r", "b")])
    assert len({a.sha256, b.sha256, c.sha256}) == 3
    assert twice.sha256 == a.sha256


def test_unknown_names_say_the_closest() -> None:
    words = Dataset.from_names("g", train=[("Barack_Obama", "born_in", "Honolulu")]).vocabulary
    with pytest.raises(UnknownEntity, match="No entity 'barack_obama' among 2 entities. Closest: 'Barack_Obama'"):
        words.entity_id("barack_obama")
    with pytest.raises(UnknownRelation, match="No relation 'born_inn'.* Closest: 'born_in'"):
        words.relation_id("~born_inn")
    asked = pl.DataFrame({"head": ["Honolulu"], "relation": ["born_in"], "tail": ["Honolul"]})
    with pytest.raises(UnknownEntity, match="Closest: 'Honolulu'"):
        words.encode(asked)


def test_unknown_names_with_none_close_say_which_there_are() -> None:
    words = Dataset.from_names("g", train=[(f"a{i}", f"r{i:02}", "b") for i in range(12)]).vocabulary
    with pytest.raises(UnknownEntity, match=r"Some are 'a0', 'a1', 'a10'. For all, in Python: list\(dataset.vocab"):
        words.entity_id("Honolulu")
    with pytest.raises(UnknownRelation, match="among 12 relations. They are: 'r00', .*, 'r09' and 2 others."):
        words.relation_id("born_in")


@pytest.mark.parametrize("name", [5, None, b"a"])
def test_names_are_text(name: Any) -> None:
    words = Dataset.from_names("g", train=[("a", "r", "b")]).vocabulary
    with pytest.raises(InputError, match=f"The name of an entity must be a string, got {name!r}"):
        words.entity_id(name)
    with pytest.raises(InputError, match=f"The name of a relation must be a string, got {name!r}"):
        words.relation_id(name)


def test_half_of_a_surrogate_pair_is_nobodys_name() -> None:
    names = Names([f"person number {i}" for i in range(3_000)])
    assert "person\ud800" not in names
    assert names.closest("person number 7\ud800")
    with pytest.raises(UnknownEntity):
        Dataset.from_names("g", train=[("a", "r", "b")]).vocabulary.entity_id("\ud800")
    with pytest.raises(InputError, match="facts must be"):
        Dataset.from_names("g", train=[("a\ud800", "r", "b")])


def test_closest_names_are_found_among_many() -> None:
    names = Names([f"person number {i}" for i in range(50_000)] + ["Charles Babbage"])
    assert "'Charles Babbage'" in names.closest("charles babage")


def test_a_relation_that_looks_like_an_inverse_is_refused() -> None:
    with pytest.raises(InputError, match="'~r' starts with '~'"):
        Dataset.from_names("g", train=[("a", "~r", "b")])


def test_empty_names_and_no_facts_are_refused() -> None:
    with pytest.raises(InputError, match="Column 'tail' has an empty name"):
        Dataset.from_names("g", train=[("a", "r", "")])
    with pytest.raises(InputError, match="no training facts"):
        Dataset.from_names("g", train=[])


def test_interning_in_blocks_equals_interning_at_once() -> None:
    rows = [("b", "s", "a"), ("c", "r", "b"), ("a", "r", "d"), ("d", "s", "b")]
    frame = pl.DataFrame(rows, schema=["head", "relation", "tail"], orient="row")
    whole, parts = Interner(), Interner()
    at_once = whole.add(frame)
    pieces = [parts.add(frame[i : i + 1]) for i in range(len(frame))]
    (one, first), (two, second) = whole.finish(), parts.finish()
    assert one == two
    assert first.apply(at_once).rows.tolist() == [second.apply(piece).rows[0].tolist() for piece in pieces]
