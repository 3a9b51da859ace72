"""Figures and tables on a page of their own."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from stablerule.errors import MissingExtra
from stablerule.reports import rendering
from stablerule_lab.pages import plots
from stablerule_lab.pages.plots import INK, legend_below, new_figure, series, to_svg
from stablerule_lab.pages.results_page import Drawing, results_page
from stablerule_lab.pages.tables import Table


def drawing() -> Drawing:
    figure, panels = new_figure(2)
    for place, panel in enumerate(panels):
        panel.plot([1, 2, 3], [1, 4, 9], **series(place), label=f"series {place}")
        panel.set_title("a < b")
    legend_below(figure, panels[0])
    return Drawing("squares", "Squares & more.", figure)


def test_a_figure_is_well_formed_and_always_the_same() -> None:
    first, second = drawing().svg, drawing().svg
    assert first == second
    ElementTree.fromstring(first)
    assert "a &lt; b" in first  # text stays text


def test_all_ink_has_the_colour_of_the_page() -> None:
    svg = drawing().svg
    assert INK not in svg
    # Text without a colour of its own would be black on a dark page.
    assert all("fill: currentColor" in text for text in re.findall(r"<text [^>]*>", svg))
    assert "prefers-color-scheme:dark" in svg


def test_a_page_needs_nothing_from_elsewhere() -> None:
    table = Table("umls <1>", ("method", "MRR"), (("`r(X, Y) <- s(X, Y)`", "0.5"), ("tabular", "")))
    page = results_page("Title", "Lead & more", [drawing()], [table])
    assert "umls &lt;1&gt;" in page
    assert "r(X, Y) &lt;- s(X, Y)" in page
    assert "`" not in page
    assert "Squares &amp; more." in page
    assert page.count("<svg") == 1
    links = re.findall(r'(?:src|href)="([^"#][^"]*)"', page)
    assert links == []


@pytest.mark.parametrize(
    ("module", "package", "extra"), [(plots, "matplotlib", "figures"), (rendering, "jinja2", "report")]
)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, module: object, package: str, extra: str) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=rf"{package}.*\[{extra}\]|\[{extra}\]"):
        drawing() if module is plots else results_page("a", "b", [], [])


def test_black_that_was_asked_for_is_ink_too() -> None:
    figure, (panel,) = new_figure()
    panel.text(0, 0, "note", color="black")
    assert "fill: currentColor" in to_svg(figure)
