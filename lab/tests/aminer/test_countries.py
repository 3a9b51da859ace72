"""Countries from affiliations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule_lab.aminer import country_of
from stablerule_lab.aminer.places import ALIASES, OTHER_CITIES, REGIONS, known_places


@pytest.mark.parametrize(
    ("country", "affiliations"),
    [
        (
            "united_states",
            (
                "Stanford University, Stanford, CA, USA",
                "Stanford University, Stanford, CA",
                "MIT, Cambridge, MA 02139-4307",
                "Univ. of Illinois, Urbana IL 61801",
                "Bell Labs, Murray Hill, New Jersey",
                "IBM, Yorktown Heights, N.Y., U.S.A.",
                "University of California, San Diego",
                "University of California, Berkeley#TAB#",
                "University of New Mexico",
                "U. S. Naval Research Laboratory",
                "seattle, usa",
                "Washington, D.C.",
                "University of Georgia, Athens",
                "IBM Almaden, San Jose, California",
                "St. Petersburg, FL",
            ),
        ),
        (
            "united_kingdom",
            ("Cambridge, UK", "Oxford, England", "Univ. of Edinburgh, Scotland", "London", "Queen's, Northern Ireland"),
        ),
        (
            "china",
            ("Tsinghua University, Beijing, PR China 100084", "Wuhan, P. R. China", "P.R.C.", "Peking University"),
        ),
        ("south_korea", ("KAIST, Daejeon, Korea", "Seoul, Republic of Korea", "Pohang Univ.")),
        ("north_korea", ("Pyongyang, DPRK",)),
        ("taiwan", ("Taipei, Taiwan, R.O.C.", "Hsinchu", "Taiwan, China")),
        ("hong_kong", ("HKUST, Hong Kong, China", "The Chinese University of Hong Kong")),
        ("germany", ("TU München, Germany", "Technische Universität München", "Informatik (Berlin)", "80333 Munich")),
        ("netherlands", ("Eindhoven, The Netherlands", "Amsterdam, Holland")),
        ("switzerland", ("ETH Zurich", "EPFL, Lausanne")),
        ("canada", ("Waterloo, ON", "London, Ontario", "University of British Columbia, Vancouver")),
        ("australia", ("University of New South Wales", "Sydney, NSW")),
        ("israel", ("Technion - Israel Institute of Technology", "Tel Aviv University")),
        ("georgia", ("Tbilisi State University, Tbilisi, Georgia",)),
        ("brazil", ("Universidade de São Paulo", "São Paulo, Brasil")),
        ("russia", ("St. Petersburg", "Moscow, Russian Federation")),
        ("singapore", ("National University of Singapore",)),
    ],
)
def test_countries_that_are_named(country: str, affiliations: tuple[str, ...]) -> None:
    assert {text: country_of(text) for text in affiliations} == dict.fromkeys(affiliations, f"country/{country}")


@pytest.mark.parametrize(
    "affiliation",
    [
        "",
        "-",
        "12345",
        ", ,;",
        "Bell Labs",
        "CNRS",
        "contact us",
        "Work in progress, in",
        "Cambridge",
        "Harvard University, Cambridge",
        "San Jose",
        "Georgia",
        "Georgia Institute of Technology",
        "George Mason University",
        "University of Surrey, Guildford",
        "York University",
        "Mobile Computing Lab",
    ],
)
def test_ambiguous_ones_and_others_give_nothing(affiliation: str) -> None:
    assert country_of(affiliation) is None


def test_own_tables_name_countries_that_exist() -> None:
    for table in (ALIASES, REGIONS, OTHER_CITIES):
        assert set(table) <= set(known_places().countries)
        for code, others in table.items():
            for other in others:
                assert country_of(other) == known_places().countries[code]


def test_every_country_is_known_by_its_name_but_for_two_meanings() -> None:
    places = known_places()
    double = {name for name, codes in places.names.items() if len(codes) > 1}
    assert double == {"georgia"}


@given(st.text(max_size=40))
def test_any_text_is_an_affiliation(text: str) -> None:
    found = country_of(text)
    assert found is None or found in known_places().countries.values()
