"""The country of an affiliation. The last part decides first; an ambiguous affiliation has none."""

from __future__ import annotations

import re
from functools import lru_cache

from stablerule_lab.aminer.places import ALSO_WORDS, BIGGER, CODE, LONGEST_NAME, WORD, Places, fold, known_places

Codes = frozenset[str]
NONE: Codes = frozenset()
# "#TAB#" replaces tabs in the versions made from the Microsoft Academic Graph.
PARTS = re.compile(r"#TAB#|[,;|()\t\n]|\s[-\u2013/]\s")
STATE_AND_ZIP = re.compile(r"\b([A-Z]{2})\s+\d{5}(?:-\d{4})?\W*$")
# Affiliations add China behind these; here they are labels of their own.
NAMED_BEFORE_CHINA = frozenset({"HK", "MO", "TW"})
# Short country names that mean nothing else, in any case.
OWN_CODES = frozenset({"us", "usa", "uk", "uae", "prc"})


@lru_cache(maxsize=1 << 18)
def country_of(affiliation: str) -> str | None:
    """Return the country of an affiliation, or None if it names none or is ambiguous.

    The parts between commas are compared with countries, US states and large cities, from the last to the first. Parts
    before it resolve a name with two meanings. If no single country remains, words inside the parts count. Needs the
    extra `countries`.

    >>> country_of("Computer Laboratory, University of Cambridge, Cambridge, U.K.")
    'country/united_kingdom'
    >>> country_of("MIT, Cambridge, MA 02139"), country_of("Atlanta, Georgia"), country_of("Tbilisi, Georgia")
    ('country/united_states', 'country/united_states', 'country/georgia')
    >>> country_of("National University of Singapore"), country_of("Cambridge"), country_of("Bell Labs")
    ('country/singapore', None, None)
    """
    places = known_places()
    parts = [part.strip() for part in PARTS.split(affiliation) if part.strip()]
    parts.reverse()
    left = NONE
    for meaning in (_whole, _within):
        left = _narrow(left, [meaning(part, places) for part in parts], parts, places)
        if len(left) == 1:
            return places.countries[next(iter(left))]
    return None


def _narrow(left: Codes, candidates: list[Codes], parts: list[str], places: Places) -> Codes:
    """Return the country that all parts allow; each part narrows the choice until one country is left."""
    for codes, part in zip(candidates, parts, strict=True):
        if len(left) == 1:
            break
        # A small town does not decide alone, but can resolve an ambiguous name.
        hints = codes or (places.towns.get(fold(part), NONE) if left else NONE)
        left = left & hints or left or hints
    if "CN" in left:
        inner = frozenset(code for codes in candidates for code in codes & NAMED_BEFORE_CHINA)
        left = inner if len(inner) == 1 else left
    return left


def _whole(part: str, places: Places) -> Codes:
    """Return the countries that a whole part may mean."""
    name = fold(part)
    if name in places.names:
        return places.names[name]
    if name in places.codes and (name in OWN_CODES or part.replace(".", "").split()[0].isupper()):
        return places.codes[name]
    if zipped := STATE_AND_ZIP.search(part):
        return places.codes.get(zipped[1].casefold(), NONE)
    return places.cities.get(name, (NONE, 0))[0]


def _within(part: str, places: Places) -> Codes:
    """Return the countries of the last place name inside a part."""
    words = WORD.findall(part)
    for end in range(len(words), 0, -1):
        # Longest name first: New Mexico before Mexico.
        for begin in range(max(0, end - LONGEST_NAME), end):
            if codes := _named(words[begin:end], places):
                return codes
    return NONE


def _named(words: list[str], places: Places) -> Codes:
    name = fold(" ".join(words))
    if not words[0][0].isupper() or name in ALSO_WORDS:
        return NONE
    if len(name) <= CODE:
        capitals = all(word.isupper() for word in words)
        return places.codes[name] if capitals and name in OWN_CODES else NONE
    codes, people = places.cities.get(name, (NONE, 0))
    return places.names.get(name) or (codes if people >= BIGGER and len(codes) == 1 else NONE)
