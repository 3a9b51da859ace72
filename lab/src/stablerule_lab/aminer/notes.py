"""What was left out of a dump, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter

# In the order in which they are told; each is said only if there is something to say.
SENTENCES = {
    "of no known year": "{:,} papers without a year were left out.",
    "of other years": "{:,} papers of other years were left out.",
    "of other venues": "{:,} papers of other venues were left out.",
    "of other countries": "{:,} papers without an author of one of the largest countries were left out.",
    "without authors": "{:,} papers have no authors.",
    "nameless": "{:,} authors without name and id were left out.",
    "without venue": "{:,} papers have no venue.",
    "unknown citations": "{:,} citations of papers that are not in the graph were left out.",
    "rare authors": "{:,} authors with too few papers were left out.",
    "unaligned": "{:,} papers don't have one affiliation for each author, so theirs were not read.",
}


def tell(counts: Counter[str], first_damage: str, *, countries: bool) -> list[str]:
    """Word the counts.

    >>> from collections import Counter
    >>> counts = Counter({"without venue": 3, "authors": 10, "affiliations": 4, "placed": 2, "tied": 1})
    >>> tell(counts, "", countries=True)
    ['3 papers have no venue.', '2 of 10 authors have a country; 1 have several as often, and so none.']
    """
    notes = []
    if damaged := counts["damaged"]:
        notes.append(
            f"{damaged:,} damaged records were left out. {'The first' if damaged > 1 else 'It is'}: {first_damage}"
        )
    notes += [sentence.format(counts[key]) for key, sentence in SENTENCES.items() if counts[key]]
    if counts["not held out"]:
        held, asked = counts["held out"], counts["held out"] + counts["not held out"]
        notes.append(
            f"valid and test have {held:,} facts instead of {asked:,}: train needs the others to know every entity."
        )
    if countries:
        notes.append(_tell_countries(counts))
    return notes


def _tell_countries(counts: Counter[str]) -> str:
    if not counts["affiliations"]:
        return "No author has a country: there are no affiliations in it, which versions 8, 9 and from 11 on have."
    told = f"{counts['placed']:,} of {counts['authors']:,} authors have a country"
    if counts["unplaced"]:
        told += f"; {counts['unplaced']:,} of {counts['affiliations']:,} affiliations name none"
    if counts["tied"]:
        told += f"; {counts['tied']:,} have several as often, and so none"
    return f"{told}."
