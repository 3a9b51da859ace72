"""Sentences about what was skipped in a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter

# In the order of the notes; a count of 0 has no sentence.
SENTENCES = {
    "of no known year": "{:,} papers without a year were skipped.",
    "of other years": "{:,} papers of other years were skipped.",
    "of other venues": "{:,} papers of other venues were skipped.",
    "of other countries": "{:,} papers without an author from one of the largest countries were skipped.",
    "without authors": "{:,} papers have no authors.",
    "nameless": "{:,} authors without name and id were skipped.",
    "without venue": "{:,} papers have no venue.",
    "unknown citations": "{:,} citations of papers outside the graph were skipped.",
    "rare authors": "{:,} authors with too few papers were skipped.",
    "unaligned": "{:,} papers have another number of affiliations than of authors; these were ignored.",
}


def tell(counts: Counter[str], first_damage: str, *, countries: bool) -> list[str]:
    """Return the counts as sentences.

    >>> from collections import Counter
    >>> counts = Counter({"without venue": 3, "authors": 10, "affiliations": 4, "placed": 2, "tied": 1})
    >>> tell(counts, "", countries=True)
    ['3 papers have no venue.', '2 of 10 authors have a country; 1 have none because two are equally frequent.']
    """
    notes = []
    if damaged := counts["damaged"]:
        notes.append(
            f"{damaged:,} damaged records were skipped. {'The first' if damaged > 1 else 'It is'}: {first_damage}"
        )
    notes += [sentence.format(counts[key]) for key, sentence in SENTENCES.items() if counts[key]]
    if counts["not held out"]:
        held, asked = counts["held out"], counts["held out"] + counts["not held out"]
        notes.append(f"valid and test have {held:,} facts instead of {asked:,}, so that every entity is in train.")
    if countries:
        notes.append(_tell_countries(counts))
    return notes


def _tell_countries(counts: Counter[str]) -> str:
    if not counts["affiliations"]:
        return "No author has a country: the dump has no affiliations. Versions 8, 9 and from 11 on have them."
    told = f"{counts['placed']:,} of {counts['authors']:,} authors have a country"
    if counts["unplaced"]:
        told += f"; {counts['unplaced']:,} of {counts['affiliations']:,} affiliations name none"
    if counts["tied"]:
        told += f"; {counts['tied']:,} have none because two are equally frequent"
    return f"{told}."
