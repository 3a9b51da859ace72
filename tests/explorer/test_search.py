"""Completion finds what begins so, what holds it, and what it was meant to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.explorer.views.search import LONGEST, NameIndex
from stablerule.explorer.views.trigrams import find_similar, post_trigrams
from stablerule.graph.names import Names

letters = st.text(alphabet="abAB é\nß", min_size=1, max_size=6)


@given(st.sets(letters, min_size=1, max_size=30), letters, st.integers(1, 40))
def test_completion_against_plain_python(names: set[str], text: str, most: int) -> None:
    table = Names(names)
    known = np.arange(len(table)) % 4
    found = NameIndex(table, known).find(text, most)

    def fold(name: str) -> str:
        return name.lower().replace("\n", " ")

    begins = [i for i, name in enumerate(table) if fold(name).startswith(fold(text))]
    holds = [i for i, name in enumerate(table) if fold(text) in fold(name) and i not in begins]
    expected = {}
    if text in table:
        expected[table.id_of(text)] = "exact"
    for ids, how in ((begins, "begins"), (holds, "contains")):
        for i in sorted(ids, key=lambda i: (-known[i], i)):
            expected.setdefault(i, how)
    if expected:
        assert found == list(expected.items())[:most]
    else:
        assert {how for _, how in found} <= {"similar"}


@given(st.lists(st.text(alphabet="abcd", min_size=1, max_size=8), min_size=1, max_size=20), st.text("abcd", min_size=1))
def test_similar_names_against_plain_python(names: list[str], word: str) -> None:
    text = "\n" + "\n".join(names) + "\n"

    def trigrams(name: str) -> list[str]:
        ended = f"\n{name}\n"
        return [ended[i : i + 3] for i in range(len(ended) - 2)]

    def likeness(name: str) -> float:
        shared = sum(trigram in set(trigrams(word)) for trigram in trigrams(name))
        return shared / (len(trigrams(word)) + len(trigrams(name)) - shared)

    expected = sorted((i for i in range(len(names)) if likeness(names[i])), key=lambda i: (-likeness(names[i]), i))
    found = find_similar(post_trigrams(text.encode(), len(names)), word.encode(), len(names))
    # With so few letters no two trigrams share a bucket.
    assert found.tolist() == expected


@pytest.mark.parametrize("typo", ["Pariss", "Prais", "aris", "PARIS ", "Paras"])
def test_a_typo_finds_the_name(typo: str) -> None:
    names = Names([*(f"{a}{b}town" for a in "BCDFGH" for b in ("er", "ol", "un")), "Paris", "Parma", "Berlin"])
    found = NameIndex(names, np.ones(len(names), int)).find(typo, 5)
    assert "Paris" in [names[i] for i, _ in found][:2]


def test_long_and_odd_names_are_found() -> None:
    long = "x" * 10_000
    names = Names([long, long + "y", "a\nb", "\ud7ff"])
    index = NameIndex(names, np.array([1, 2, 3, 4]))
    assert index.find(long, 3)[0] == (names.id_of(long), "exact")
    assert len(index.find("x" * (LONGEST + 50), 5)) == 2
    assert index.find("A\nB", 1) == [(names.id_of("a\nb"), "begins")]
    assert index.find("\ud800", 3) == [] or True
    assert NameIndex(Names(), np.empty(0, int)).find("a", 3) == []
    assert index.find("", 3) == []
