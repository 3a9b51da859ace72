"""A document about experiments: the words are written by hand, tables and figures come from the cells.

A comment <!-- table NAME TITLE --> and the next <!-- end --> hold the tables of an experiment whose title begins so,
all without a title; <!-- table claims --> the claims of the paper, held against all experiments; <!-- figure NAME
FIGURE --> one of the figures; <!-- missing NAME --> what has not been run yet.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stablerule.errors import InputError, closest
from stablerule_lab.experiments.cells import cell_name, read_cells
from stablerule_lab.experiments.claims import CLAIMS, claims_table
from stablerule_lab.experiments.experiment import CACHE
from stablerule_lab.experiments.specs import EXPERIMENTS
from stablerule_lab.pages.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from stablerule_lab.experiments.cells import Cell
    from stablerule_lab.experiments.experiment import Experiment, Options
    from stablerule_lab.pages.results_page import Drawing

BEGIN = re.compile(r"<!-- (table|figure|missing) ([\w-]+)(?: ([^>]*?))? -->")
MARK = re.compile(BEGIN.pattern + r"\n(?:(?!<!-- ).)*?<!-- end -->", re.DOTALL)  # nothing marked stands inside
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@dataclass(frozen=True)
class Results:
    """The results of all experiments, in the folder that has a file of cells for each."""

    folder: Path
    _read: dict[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    def tables(self, name: str, title: str) -> str:
        """Return tables as Markdown; a text that says so where there are none."""
        if name == CLAIMS:
            return markdown([claims_table(self._rows)]).strip()
        spec, own = self._spec(name)
        found = [table for table in spec.tables(self._rows(name), own) if table.title.startswith(title)]
        return markdown(found).strip() if found else nothing(name, title)

    def figure(self, name: str, which: str) -> Drawing | None:
        """Return a figure, if there is anything to draw."""
        spec, own = self._spec(name)
        drawn = spec.figures(self._rows(name), own)
        found = [one for one in drawn if one.name == which]
        if drawn and not found:
            raise InputError(f"Experiment {name!r} has no figure {which!r}.{closest(which, [d.name for d in drawn])}")
        return found[0] if found else None

    def missing(self, name: str) -> str:
        """List what has not been run: methods that are left out, with the reason, others, and cells of some seeds.

        Graphs that lack the same stand together.
        """
        spec, own = self._spec(name)
        there = {cell_name(one["cell"]) for one in spec.own(read_cells(spec.cell_file(self.folder)), own)}
        with_all_seeds = _by_row(spec.cells(spec.graphs, spec.methods, spec.seeds, own), there)
        planned = _by_row(spec.asked_cells((), (), (), own), there)
        why: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))  # methods by reason and graph
        in_part: dict[str, list[str]] = defaultdict(list)
        for (graph, method), ran in with_all_seeds.items():
            cells = planned[graph, method]
            if not any(ran):
                why[spec.left_out.get((graph, method), "")][graph].append(method)
            elif not all(cells):
                in_part[graph].append(f"{method} {sum(cells)} of {len(cells)}")
        parts = []
        for reason, by_graph in sorted(why.items()):
            lines = _together(by_graph, len(spec.methods))
            parts += [f"Left out, because {reason}:" if reason else "Not run yet:", "\n".join(lines)]
        if in_part:
            parts += ["Run in part, cells that are there of those that are planned:", "\n".join(_together(in_part))]
        return "\n\n".join(parts) or "All that is planned has been run."

    def _spec(self, name: str) -> tuple[Experiment, Options]:
        if name not in EXPERIMENTS:
            raise InputError(f"There is no experiment {name!r}.{closest(name, EXPERIMENTS)}")
        spec = EXPERIMENTS[name]
        return spec, spec.options | {CACHE: spec.cache(self.folder)}

    def _rows(self, name: str) -> list[dict[str, Any]]:
        """One experiment is asked for several tables, and read once."""
        if name not in self._read:
            spec, own = self._spec(name)
            self._read[name] = spec.summarise(spec.own(read_cells(spec.cell_file(self.folder)), own), own)
        return self._read[name]


def _by_row(cells: list[Cell], there: set[str]) -> dict[tuple[str, str], list[bool]]:
    """Say by graph and method which cells are there."""
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for cell in cells:
        found[str(cell["graph"]), str(cell["method"])].append(cell_name(cell) in there)
    return found


def _together(by_graph: Mapping[str, list[str]], everything: int = 0) -> list[str]:
    """Write a line for all graphs that lack the same methods; everything: how many are `all`."""
    lacking: dict[str, list[str]] = defaultdict(list)
    for graph, absent in by_graph.items():
        lacking["all" if len(absent) == everything else ", ".join(absent)].append(graph)
    return [f"- {', '.join(graphs)}: {absent}" for absent, graphs in lacking.items()]


def nothing(name: str, what: str) -> str:
    """Say that there is nothing to show yet.

    >>> nothing("completion", "umls")
    '*completion, umls: not run yet.*'
    """
    return f"*{', '.join(word for word in (name, what) if word)}: not run yet.*"


def figure_path(page: Path, name: str, which: str) -> Path:
    """Say where the figure of a page is: beside the page, for it is shown wherever the page is.

    >>> from pathlib import PurePosixPath
    >>> print(figure_path(PurePosixPath("docs/paper.md"), "training", "curves"))
    docs/images/paper/training-curves.svg
    """
    return page.parent / "images" / page.stem / f"{name}-{which}.svg"


def figures_of(text: str, results: Results, page: Path) -> dict[Path, Drawing]:
    """Return the figures that a page links to, by their files."""
    asked = [(name, which.strip()) for kind, name, which in BEGIN.findall(text) if kind == "figure"]
    found = {figure_path(page, name, which): results.figure(name, which) for name, which in asked}
    return {path: drawing for path, drawing in found.items() if drawing is not None}


def fill(text: str, results: Results, page: Path) -> str:
    """Put the newest tables and links to figures between the marks of a page."""

    def linked(name: str, which: str, drawing: Drawing) -> str:
        path = figure_path(page, name, which).relative_to(page.parent).as_posix()
        return f"![{drawing.caption}]({path})\n\n*{drawing.caption}*"

    return _filled(text, results, linked, "{mark}\n\n{content}\n\n<!-- end -->")


def inlined(text: str, results: Results, page: Path, alone: Path) -> str:
    """Put tables and the figures themselves in the place of the marks: for a page that stands alone, elsewhere."""

    def drawn(name: str, which: str, drawing: Drawing) -> str:
        svg = re.sub(r"\n\s*\n", "\n", drawing.svg)  # at an empty line Markdown would end the element
        return f"<figure>\n{svg}<figcaption>{drawing.caption}</figcaption>\n</figure>"

    here, there = page.resolve().parent, alone.resolve().parent
    moved = LINK.sub(lambda link: f"]({os.path.relpath(here / link.group(1), there)}", MARK.sub(_bare, text))
    return _filled(moved, results, drawn, "\n{content}\n")


def _bare(mark: re.Match[str]) -> str:
    """Leave out what was filled in before, links to figures above all."""
    found = BEGIN.match(mark.group(0))
    return f"{found.group(0) if found else ''}\n<!-- end -->"


def _filled(text: str, results: Results, shown: Callable[[str, str, Drawing], str], form: str) -> str:
    if len(BEGIN.findall(text)) != len(MARK.findall(text)):
        raise InputError("A comment of the page that begins a table or a figure has no <!-- end --> before the next.")

    def made(mark: re.Match[str]) -> str:
        kind, name, which = mark.group(1), mark.group(2), (mark.group(3) or "").strip()
        if kind == "table":
            content = results.tables(name, which)
        elif kind == "missing":
            content = results.missing(name)
        else:
            drawing = results.figure(name, which)
            content = nothing(name, which) if drawing is None else shown(name, which, drawing)
        words = " ".join(word for word in (kind, name, which) if word)
        return form.format(mark=f"<!-- {words} -->", content=content)

    return MARK.sub(made, text)
