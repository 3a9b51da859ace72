"""The page says what the report says, needs nothing but itself, and takes names for text whatever they hold."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from stablerule.errors import MissingExtra
from stablerule.reports.shift_page import render_shift_page
from stablerule.shifts.advice import QueryReach, Thresholds
from stablerule.shifts.causes import ShiftCause
from stablerule.shifts.distances import Distance
from stablerule.shifts.expected import ExpectedAccuracy
from stablerule.shifts.report import ShiftReport
from stablerule.shifts.weak_spots import WeakSpot

NOBODY: dict[str, list[tuple[str, int]]] = {"entities": [], "relations": []}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a'b\"c&amp;d",
    "]]></style><b>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202eevil\x00\x1b[31m\u2066\n\ud800\uffff",
    "عاصمة",
    "http://example.org/" + "very_long" * 30,
]

SHIFTED = ShiftReport(
    verdict="shifted",
    reasons=["degrees: distance 0.30 (by chance 0.05 on average, up to 0.10)"],
    thresholds=Thresholds(outside=0.25, distance=0.07),
    reach=QueryReach(
        454, 31, 17, 9, 0.0123, {"entities": [("Atlantis", 21), ("Mu", 10)], "relations": [("sinks_in", 17)]}
    ),
    distances=(
        Distance("relation mix", 0.1234, 0.0981, 0.1311, 0.1592, 0.07),
        Distance("degrees", 0.3005, 0.0648, 0.1022, 0.004975, 0.07),
        Distance("bodies that fire", 0.1456, 0.0912, 0.1401, 0.0149, 0.07),
    ),
    causes=[
        ShiftCause("body", "a <- ~b, c", 0.3742, 1.0000000000000007, 0.07),
        ShiftCause("degree", "about entities of degree 3 or less", 0.18, 0.61, 0.01),
        ShiftCause("relation", "for neighbour_of", 0.0189, 0.0485, 0.005),
    ],
    expected=ExpectedAccuracy(0.7308, 0.6719, 0.7897, 0.95, 1281.1, 0.7759),
    measured_mrr=0.7925,
    labelled=454,
    weak_spots=[
        WeakSpot("relation", "~speaks", 16, 0.0352, 0.2368, 0.2538),
        WeakSpot("degree", "degree >100", 61, 0.1344, 0.4499, None),
        WeakSpot("signature", "~speaks <- ~speaks, neighbour_of", 1016, 0.0463, 0.2783, 0.4196),
    ],
    advice=["Review answers where the model is weak: ~speaks.", "Add facts & learn again."],
    about={
        "reference_queries": 2228,
        "current_queries": 454,
        "method": "tabular",
        "model": "models/geography",
        "queries": "africa.tsv",
        "reference": "test",
        "data": "geography",
    },
)
REFUSED = replace(
    SHIFTED,
    verdict="outside",
    reasons=["expected accuracy cannot be estimated: only 3 of these queries have a candidate; at least 10 are needed"],
    expected=ExpectedAccuracy(
        None, None, None, 0.95, 0.0, 0.7759, "only 3 of these queries have a candidate; at least 10 are needed"
    ),
    measured_mrr=None,
    labelled=0,
    weak_spots=[],
)
NOWHERE = replace(
    REFUSED,
    reach=QueryReach(12, 5, 7, 0, 0.0, {"entities": [("x", 5)], "relations": [("r", 7)]}),
    distances=(),
    causes=[],
)
SIMILAR = replace(
    SHIFTED,
    verdict="similar",
    reasons=["no distance is clearly larger than by chance, and few queries are out of reach"],
    reach=QueryReach(454, 0, 0, 0, 0.0, NOBODY),
    causes=[],
    measured_mrr=None,
    labelled=0,
    weak_spots=[],
    advice=["Nothing: these queries look like the ones that the model was evaluated on."],
    about={"reference_queries": 2228, "current_queries": 454, "method": "tabular"},
)
REPORTS = {"shifted": SHIFTED, "refused": REFUSED, "nowhere": NOWHERE, "similar": SIMILAR}


class Page(HTMLParser):
    """What a browser makes of it: tags that are balanced, their attributes, and the text of each section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.section = "header"
        self.texts: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "section":
            self.section = dict(attrs)["id"] or ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts[self.section] = self.texts.get(self.section, "") + data

    def text(self, section: str | None = None) -> str:
        found = self.texts[section] if section else " ".join(self.texts.values())
        return re.sub(r"\s+", " ", found)

    def classes(self, section_tag: str) -> list[str]:
        return [attributes.get("class") or "" for tag, attributes in self.tags if tag == section_tag]


def page_of(report: ShiftReport) -> Page:
    return Page(render_shift_page(report.to_json()))


def hostile_report(name: str) -> ShiftReport:
    return replace(
        SHIFTED,
        reasons=[f"reason {name}"],
        reach=QueryReach(9, 3, 3, 1, 0.0, {"entities": [(name, 3)], "relations": [(name, 3)]}),
        causes=[
            ShiftCause("relation", f"for {name}", 0.1, 0.2, 0.01),
            ShiftCause("body", f"{name} <- ~{name}", 0.1, 0.2, 0.01),
        ],
        weak_spots=[WeakSpot(kind, name, 16, 0.03, 0.2, 0.3) for kind in ("relation", "degree", "signature")],
        advice=[f"advice {name}"],
        about=SHIFTED.about | dict.fromkeys(("model", "queries", "reference", "data", "method", name), name),
    )


@pytest.mark.parametrize("name", REPORTS)
def test_it_is_well_formed_also_as_xml(name: str) -> None:
    text = render_shift_page(REPORTS[name].to_json())
    assert text.startswith("<!DOCTYPE html>")
    Page(text)
    ids = [element.get("id") for element in Xml.fromstring(text).iter() if element.get("id")]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", REPORTS)
def test_it_needs_nothing_but_itself(name: str) -> None:
    text = render_shift_page(REPORTS[name].to_json())
    assert not re.search(r"https?:|//|url\(|@import|@font-face", text)
    page = Page(text)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe", "object", "base", "form"})
    attributes = {attribute for _, found in page.tags for attribute in found}
    assert attributes.isdisjoint({"src", "href", "xlink:href", "srcset", "style"})
    assert not [attribute for attribute in attributes if attribute.startswith("on")]
    policies = [found["content"] for tag, found in page.tags if tag == "meta" and "http-equiv" in found]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


@pytest.mark.parametrize("name", REPORTS)
def test_every_sentence_of_the_report_is_there(name: str) -> None:
    report = REPORTS[name]
    page = page_of(report)
    assert f"badge {report.verdict}" in page.classes("span")
    assert page.text("header").count(report.verdict) >= 3
    for reason in report.reasons:
        assert reason in page.text("header")
    for cause in report.causes:
        assert str(cause) in page.text("causes")
    for text in report.advice:
        assert text in page.text("advice")
    for value in report.about.values():
        assert (f"{value:,}" if isinstance(value, int) else value) in page.text("about")


def test_the_numbers_are_those_of_the_report() -> None:
    page = page_of(SHIFTED)
    expected = page.text("expected")
    for number in ("0.731", "0.672 to 0.790", "95% interval", "0.776", "0.792", "sample of 1,281", "454 of 454"):
        assert number in expected
    reach = page.text("reach")
    in_reach, shares = "397 (87.4%)", ("31 (6.8%)", "17 (3.7%)", "9 (2.0%)", "12.6%", "1.2%")
    for number in (in_reach, *shares, "Atlantis 21 queries", "Mu 10 queries", "sinks_in 17 queries"):
        assert number in reach
    distances = page.text("distances")
    for one in SHIFTED.distances:
        assert f"{one.value:.3f}; chance {one.null:.3f}, up to {one.null_high:.3f}; p = {one.p:.3f}" in distances
    causes = page.text("causes")
    for cause in SHIFTED.causes:
        assert f"From {cause.before:.1%} to {cause.now:.1%}" in causes
    spots = page.text("spots")
    for spot in SHIFTED.weak_spots:
        assert spot.name in spots
        assert f"{spot.n:,} {spot.share:.1%}" in spots
        assert f"{spot.expected_mrr:.3f}" in spots
        assert spot.measured_mrr is None or f"{spot.measured_mrr:.3f}" in spots
    assert "no answers" in spots


def test_the_marks_stand_where_the_numbers_say() -> None:
    page = page_of(SHIFTED)

    def found(name: str) -> dict[str, str | None]:
        return next(one for _, one in page.tags if one.get("class") == name and "%" in "".join(map(str, one.values())))

    interval = found("interval")
    assert (interval["x"], interval["width"]) == ("67.19%", "11.78%")
    assert found("expected")["cx"] == "73.08%"
    assert found("reference")["x1"] == "77.59%"
    assert found("placed")["x"] == "79.25%"
    assert (found("chance")["x"], found("chance")["width"]) == ("19.62%", "6.6%")  # on a scale to 0.5
    assert (found("before")["cx"], found("now")["cx"]) == ("37.42%", "100%")
    assert found("part in_reach")["width"] == "87.44%"


def test_a_distance_is_called_what_it_is() -> None:
    page = page_of(SHIFTED)
    assert [name for name in page.classes("span") if name.startswith("pill")] == [
        "pill chance",
        "pill shifted",
        "pill small",
    ]
    # From the larger of the 99% point and the least that matters.
    limits = [one["x1"] for _, one in page.tags if one.get("class") == "limit" and "%" in str(one["x1"])]
    assert limits == ["33.62%", "26.96%", "32.24%"]


def test_what_used_answers_is_marked() -> None:
    page = page_of(SHIFTED)
    for section in ("expected", "spots", "reading"):
        assert "uses answers" in page.text(section)
    assert "is above the interval" in page.text("expected")
    inside = page_of(replace(SHIFTED, measured_mrr=0.7))
    assert "is inside the interval" in inside.text("expected")
    below = page_of(replace(SHIFTED, measured_mrr=0.6))
    assert "is below the interval" in below.text("expected")
    some = page_of(replace(SHIFTED, labelled=100)).text("expected")
    assert "the measured value for 100 of them" in some
    assert "interval." not in some


def test_without_answers_nothing_is_measured() -> None:
    spots = [replace(spot, measured_mrr=None) for spot in SHIFTED.weak_spots]
    page = page_of(replace(SHIFTED, measured_mrr=None, labelled=0, weak_spots=spots))
    for section in ("expected", "spots"):
        assert "easured" not in page.text(section)
        assert "uses answers" not in page.text(section)
    assert "placed" not in page.classes("svg")


def test_a_refusal_says_why() -> None:
    page = page_of(REFUSED)
    expected = page.text("expected")
    assert "It cannot be estimated: only 3 of these queries have a candidate; at least 10 are needed." in expected
    assert "0.776" in expected
    assert "Effective sample: 0 of 2,228" in expected
    assert "interval" not in page.classes("rect")
    assert "None is listed" in page.text("spots")
    measured = page_of(replace(REFUSED, measured_mrr=0.4321, labelled=3)).text("expected")
    assert "0.432 uses answers" in measured


def test_where_nothing_can_be_compared_it_says_so() -> None:
    page = page_of(NOWHERE)
    assert "100.0% of the 12 queries are out of reach" in page.text("reach")
    assert "Not measured" in page.text("distances")
    assert "Nothing to compare" in page.text("causes")
    assert not page.classes("table")
    assert "No share" in page_of(SIMILAR).text("causes")
    assert "None: no kind" in page_of(SIMILAR).text("spots")


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_is_text_whatever_it_holds(name: str) -> None:
    text = render_shift_page(hostile_report(name).to_json())
    usual = Page(render_shift_page(hostile_report("plain").to_json()))
    page = Page(text)
    tags, usual_tags = ([(tag, set(found)) for tag, found in one.tags if tag != "bdi"] for one in (page, usual))
    assert tags == usual_tags
    Xml.fromstring(text.encode("utf-8"))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
    shown = "\\u202eevil\\x00\\x1b[31m\\u2066\\n\\ud800\\uffff" if "evil" in name else name
    for section in ("header", "reach", "causes", "spots", "advice", "about"):
        assert shown in page.text(section)


def test_names_from_right_to_left_do_not_turn_the_rule() -> None:
    text = render_shift_page(hostile_report("عاصمة").to_json())
    assert "<code><bdi>عاصمة</bdi> &lt;- ~<bdi>عاصمة</bdi></code>" in text


def test_the_file_gives_the_same_page_and_the_report_stays_as_it_is() -> None:
    found = SHIFTED.to_json()
    before = json.dumps(found)
    page = render_shift_page(found)
    assert json.dumps(found) == before
    assert render_shift_page(json.loads(before)) == page


def test_kinds_that_come_later_are_shown_by_their_name() -> None:
    report: dict[str, Any] = SHIFTED.to_json()
    report["causes"][0]["kind"] = report["weak_spots"][0]["kind"] = "season"
    page = Page(render_shift_page(report))
    assert "season" in page.text("causes")
    assert "season" in page.text("spots")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'stablerule\[report\]'"):
        render_shift_page(SHIFTED.to_json())
