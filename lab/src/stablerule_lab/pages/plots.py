"""Vector figures for print, light and dark pages, and colour-blind readers.

Lines and text have the colour of the page's text. Series differ by colour (the palette of Okabe and Ito) and by marker.
"""

from __future__ import annotations

import io
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from stablerule.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#888888")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK = "#010203"  # replaced by the colour of the surrounding text when the figure is written
STYLE: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.size": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "svg.fonttype": "none",  # text stays text: searchable, in the reader's font
    "svg.hashsalt": "stablerule",  # the same figure gives the same file
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
MEAN: dict[str, Any] = {
    "color": INK,
    "marker": "|",
    "markersize": 11,
    "linestyle": "none",
}  # a mark for means
ON_A_PAGE = "svg.plot{color:#1b1b1b}@media(prefers-color-scheme:dark){svg.plot{color:#e6e6e6}}"


def new_figure(
    columns: int = 1, rows: int = 1, *, width: float = 4.2, height: float = 2.8
) -> tuple[Figure, list[Axes]]:
    """Make a figure of rows * columns panels with the given size in inches; panels come row by row."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("Drawing a figure", package="matplotlib", extra="figures", distribution="./lab")
    import matplotlib as mpl  # noqa: PLC0415  # an extra
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415  # without pyplot: no window, no state

    with mpl.rc_context(STYLE):
        figure = NewFigure(figsize=(width * columns, height * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
    return figure, list(panels.ravel())


def new_grid(count: int, columns: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Make a figure with `count` panels, at most `columns` in a row, without empty ones at the end."""
    columns = min(columns, count)
    figure, panels = new_figure(columns, -(-count // columns), width=width, height=height)
    for panel in panels[count:]:
        panel.remove()
    return figure, panels[:count]


def to_svg(figure: Figure) -> str:
    """Return a figure as one SVG element, for a file or a page.

    >>> figure, (panel,) = new_figure()
    >>> _ = panel.plot([1, 2], [1, 4])
    >>> text = to_svg(figure)
    >>> text.startswith('<svg class="plot"'), "currentColor" in text, INK in text
    (True, True, False)
    """
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.colors import to_hex  # noqa: PLC0415
    from matplotlib.text import Text  # noqa: PLC0415

    for label in figure.findobj(Text):
        if to_hex(label.get_color()) == "#000000":  # legends and notes added without the style
            label.set_color(INK)
    file = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = text.replace("<svg", '<svg class="plot" role="img"', 1).replace(INK, "currentColor")
    return text.replace("<defs>", f"<style>{ON_A_PAGE}</style>\n <defs>", 1) + "\n"


def legend_below(figure: Figure, panel: Axes, columns: int = 4) -> None:
    """Add the legend of a panel below all panels."""
    shown = panel.get_legend_handles_labels()
    figure.legend(*shown, loc="outside lower center", ncols=columns, fontsize=8, frameon=False, labelcolor=INK)


def series(place: int, *, line: bool = True) -> dict[str, Any]:
    """Return the style of the series at a place.

    >>> series(0)["color"] != series(1)["color"], series(0)["marker"] != series(1)["marker"]
    (True, True)
    """
    shown = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
    return shown if line else shown | {"linestyle": "none"}
