"""Tables and figures as one HTML page without network or scripts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stablerule.reports.rendering import render_template
from stablerule_lab.pages.plots import to_svg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.figure import Figure

    from stablerule_lab.pages.tables import Table


@dataclass(frozen=True)
class Drawing:
    """A figure with its file name and caption."""

    name: str
    caption: str
    figure: Figure

    @cached_property
    def svg(self) -> str:
        """The figure as one SVG element, drawn once: drawing it again would move things slightly."""
        return to_svg(self.figure)


def results_page(title: str, lead: str, figures: Iterable[Drawing], tables: Iterable[Table]) -> str:
    """Return the HTML page: figures, then tables.

    >>> from stablerule_lab.pages.tables import Table
    >>> table = Table("a < b", ("method", "MRR"), (("x", "1"),))
    >>> page = results_page("Ranks", "How good?", [], [table])
    >>> "<td>1</td>" in page, "a &lt; b" in page
    (True, True)
    """
    return render_template(
        "page.html.jinja",
        {"title": title, "lead": lead, "figures": figures, "tables": tables},
        package="stablerule_lab.pages",
    )
