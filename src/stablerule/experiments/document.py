"""A document about experiments: the words are written by hand, tables and figures come from the cells.

<!-- table NAME TITLE --> ... <!-- end --> holds the tables of an experiment whose title begins so, all without a title;
<!-- figure NAME FIGURE --> ... <!-- end --> one of its figures.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stablerule.errors import InputError, closest
from stablerule.experiments.cells import read_folder
from stablerule.experiments.experiment import CACHE
from stablerule.experiments.specs import EXPERIMENTS
from stablerule.reports.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stablerule.experiments.experiment import Experiment, Options
    from stablerule.reports.results_page import Drawing

MARK = re.compile(r"<!-- (table|figure) ([\w-]+)(?: ([^>]*?))? -->\n.*?<!-- end -->", re.DOTALL)


@dataclass(frozen=True)
class Results:
    """The results of all experiments, in the folder that has a folder for each."""

    folder: Path

    def tables(self, name: str, title: str) -> str:
        """Return tables as Markdown; a text that says so where there are none."""
        spec, rows, own = self._rows(name)
        found = [table for table in spec.tables(rows, own) if table.title.startswith(title)]
        return markdown(found).strip() if found else nothing(name, title)

    def figure(self, name: str, which: str) -> Drawing | None:
        """Return a figure, if there is anything to draw."""
        spec, rows, own = self._rows(name)
        drawn = spec.figures(rows, own)
        found = [one for one in drawn if one.name == which]
        if drawn and not found:
            raise InputError(f"Experiment {name!r} has no figure {which!r}.{closest(which, [d.name for d in drawn])}")
        return found[0] if found else None

    def path_of(self, name: str, which: str) -> Path:
        """Say where the file of a figure is."""
        return self.folder / EXPERIMENTS[name].folder / f"{name}-{which}.svg"

    def _rows(self, name: str) -> tuple[Experiment, list[dict[str, Any]], Options]:
        if name not in EXPERIMENTS:
            raise InputError(f"There is no experiment {name!r}.{closest(name, EXPERIMENTS)}")
        spec = EXPERIMENTS[name]
        own = spec.options | {CACHE: self.folder / spec.folder / CACHE}
        return spec, _summarised(name, self.folder / spec.folder), own


def nothing(name: str, what: str) -> str:
    """Say that there is nothing to show yet.

    >>> nothing("completion", "umls")
    '*completion, umls: not run yet.*'
    """
    return f"*{', '.join(word for word in (name, what) if word)}: not run yet.*"


@lru_cache(maxsize=32)
def _summarised(name: str, folder: Path) -> list[dict[str, Any]]:
    """One experiment is asked for several tables."""
    spec = EXPERIMENTS[name]
    return spec.summarise(spec.own(read_folder(folder)), spec.options | {CACHE: folder / CACHE})


def fill(text: str, results: Results, page: Path) -> str:
    """Put the newest tables and links to figures between the marks of a page."""

    def figure(name: str, which: str) -> str:
        drawing = results.figure(name, which)
        if drawing is None:
            return nothing(name, which)
        path = os.path.relpath(results.path_of(name, which), page.parent)
        return f"![{drawing.caption}]({path})\n\n*{drawing.caption}*"

    return _filled(text, results.tables, figure, keep=True)


def inlined(text: str, results: Results) -> str:
    """Put tables and the figures themselves in the place of the marks: for a page that stands alone."""

    def figure(name: str, which: str) -> str:
        drawing = results.figure(name, which)
        if drawing is None:
            return nothing(name, which)
        # Without empty lines, at which Markdown would end the element.
        svg = re.sub(r"\n\s*\n", "\n", drawing.svg)
        return f"<figure>\n{svg}<figcaption>{drawing.caption}</figcaption>\n</figure>"

    return _filled(text, results.tables, figure, keep=False)


def _filled(text: str, table: Callable[[str, str], str], figure: Callable[[str, str], str], *, keep: bool) -> str:
    def made(mark: re.Match[str]) -> str:
        kind, name, which = mark.group(1), mark.group(2), (mark.group(3) or "").strip()
        content = table(name, which) if kind == "table" else figure(name, which)
        words = " ".join(word for word in (kind, name, which) if word)
        return f"<!-- {words} -->\n\n{content}\n\n<!-- end -->" if keep else f"\n{content}\n"

    return MARK.sub(made, text)
