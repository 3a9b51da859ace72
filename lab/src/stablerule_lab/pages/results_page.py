"""Tables and figures as one page for a browser, which needs nothing else: no network and no script."""

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
    """A figure with a name for its file, and what there is to see."""

    name: str
    caption: str
    figure: Figure

    @cached_property
    def svg(self) -> str:
        """The figure as one SVG element; drawn once, for drawing it again would move things a little."""
        return to_svg(self.figure)


def results_page(title: str, lead: str, figures: Iterable[Drawing], tables: Iterable[Table]) -> str:
    """Return the page: figures, then tables.

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
