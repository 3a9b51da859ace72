"""Documents about experiments: the prose is written by hand, tables and figures are made from the cells.

A document has marks. What is between a mark and the next <!-- end --> is replaced:

    <!-- table NAME TITLE -->     the tables of an experiment whose titles begin with TITLE; without TITLE all tables
    <!-- table claims TITLE -->   the paper's claims, compared with all experiments
    <!-- figure NAME FIGURE -->   one figure of an experiment
    <!-- missing NAME -->         the cells that have not been run, with the reason

Options may come before TITLE: split=valid, reference="small nodecor", methods=small,drum.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from stablerule.errors import InputError, spell_closest
from stablerule_lab.experiments.cells import cell_name, read_cells
from stablerule_lab.experiments.claims import CLAIMS, claims_tables
from stablerule_lab.experiments.experiment import CACHE
from stablerule_lab.experiments.specs import EXPERIMENTS
from stablerule_lab.pages.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from stablerule_lab.experiments.cells import Cell
    from stablerule_lab.experiments.experiment import Experiment, Options
    from stablerule_lab.pages.results_page import Drawing

BEGIN = re.compile(r"^<!-- (table|figure|missing) ([\w-]+)(?: ([^>]*?))? -->", re.MULTILINE)
MARK = re.compile(BEGIN.pattern + r"\n(?:(?!<!-- ).)*?<!-- end -->", re.DOTALL | re.MULTILINE)  # no mark inside
OPTION = re.compile(r"(\w+)=(\S.*)")  # of a mark
METHODS = "methods"  # an option of every experiment: some methods, in the order of the lines
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@dataclass(frozen=True)
class Results:
    """The results of all experiments: a folder with a file of cells for each."""

    folder: Path
    _read: dict[tuple[str, ...], list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    def tables(self, name: str, title: str) -> str:
        """Return tables as Markdown, or a note that the experiment has not been run.

        title: how the titles of the tables begin; options of the experiment may come first.
        """
        words, given = split_options(title)
        if name == CLAIMS:
            made = claims_tables(self._rows)
        else:
            spec, own = self._spec(name, given)
            made = spec.tables(self._rows(name, given), own)
        found = [table for table in made if table.title.startswith(words)]
        return markdown(found).strip() if found else nothing(name, title)

    def figure(self, name: str, which: str) -> Drawing | None:
        """Return a figure, or None if there is nothing to draw yet."""
        spec, own = self._spec(name)
        drawn = spec.figures(self._rows(name), own)
        found = [one for one in drawn if one.name == which]
        if drawn and not found:
            raise InputError(
                f"Experiment {name!r} has no figure {which!r}.{spell_closest(which, [d.name for d in drawn])}"
            )
        return found[0] if found else None

    def missing(self, name: str) -> str:
        """List the cells that have not been run: skipped methods with the reason, other methods, missing seeds.

        Graphs with the same missing cells share a line.
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
            parts += [f"Skipped ({reason}):" if reason else "Not run yet:", "\n".join(lines)]
        if in_part:
            parts += ["Fewer seeds than planned (run of planned):", "\n".join(_together(in_part))]
        return "\n\n".join(parts) or "All planned cells have been run."

    def _spec(self, name: str, given: Mapping[str, str] = MappingProxyType({})) -> tuple[Experiment, Options]:
        if name not in EXPERIMENTS:
            raise InputError(f"No experiment {name!r}.{spell_closest(name, EXPERIMENTS)}")
        spec = EXPERIMENTS[name]
        for option in given:
            if option not in (METHODS, *spec.options):
                raise InputError(f"Experiment {name!r} has no option {option!r}.{spell_closest(option, spec.options)}")
        return spec, spec.options | dict(given) | {CACHE: spec.cache(self.folder)}

    def _rows(self, name: str, given: Mapping[str, str] = MappingProxyType({})) -> list[dict[str, Any]]:
        """Read an experiment once for all of its tables."""
        key = (name, *(f"{option}={value}" for option, value in given.items()))
        if key not in self._read:
            spec, own = self._spec(name, given)
            cells = spec.own(read_cells(spec.cell_file(self.folder)), own)
            if METHODS in given:
                order = given[METHODS].split(",")
                cells = [one for one in cells if one["cell"]["method"] in order]
                cells.sort(key=lambda one: order.index(one["cell"]["method"]))
            self._read[key] = spec.summarise(cells, own)
        return self._read[key]


def split_options(title: str) -> tuple[str, dict[str, str]]:
    """Return a title without the options before it, and the options.

    >>> split_options('split=valid methods="small,small nodecor" Bias 0.9')
    ('Bias 0.9', {'split': 'valid', 'methods': 'small,small nodecor'})
    """
    given = {}
    words = shlex.split(title) if "=" in title else []
    while words and (found := OPTION.fullmatch(words[0])):
        given[found.group(1)] = found.group(2)
        words.pop(0)
    return (" ".join(words) if given else title), given


def _by_row(cells: list[Cell], there: set[str]) -> dict[tuple[str, str], list[bool]]:
    """Return for each graph and method which of its cells have been run."""
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for cell in cells:
        found[str(cell["graph"]), str(cell["method"])].append(cell_name(cell) in there)
    return found


def _together(by_graph: Mapping[str, list[str]], everything: int = 0) -> list[str]:
    """Return a line for the graphs that lack the same methods.

    everything: the number of methods that is written as `all`.
    """
    lacking: dict[str, list[str]] = defaultdict(list)
    for graph, absent in by_graph.items():
        lacking["all" if len(absent) == everything else ", ".join(absent)].append(graph)
    return [f"- {', '.join(graphs)}: {absent}" for absent, graphs in lacking.items()]


def nothing(name: str, what: str) -> str:
    """Return a note that a table or figure has no cells yet.

    >>> nothing("completion", "umls")
    '*completion, umls: not run yet.*'
    """
    return f"*{', '.join(word for word in (name, what) if word)}: not run yet.*"


def figure_path(page: Path, name: str, which: str) -> Path:
    """Return the file of a page's figure, in the folder images/PAGE beside the page.

    >>> from pathlib import PurePosixPath
    >>> print(figure_path(PurePosixPath("docs/paper.md"), "training", "curves"))
    docs/images/paper/training-curves.svg
    """
    return page.parent / "images" / page.stem / f"{name}-{which}.svg"


def figures_of(text: str, results: Results, page: Path) -> dict[Path, Drawing]:
    """Return the figures that a page links to, by file."""
    asked = [(name, which.strip()) for kind, name, which in BEGIN.findall(text) if kind == "figure"]
    found = {figure_path(page, name, which): results.figure(name, which) for name, which in asked}
    return {path: drawing for path, drawing in found.items() if drawing is not None}


def has_marks(page: Path) -> bool:
    """Tell whether a page has tables or figures to fill."""
    return BEGIN.search(page.read_text(encoding="utf-8")) is not None


def fill(text: str, results: Results, page: Path) -> str:
    """Fill the marks of a page with the newest tables and links to figures."""

    def linked(name: str, which: str, drawing: Drawing) -> str:
        path = figure_path(page, name, which).relative_to(page.parent).as_posix()
        return f"![{drawing.caption}]({path})\n\n*{drawing.caption}*"

    return _filled(text, results, linked, "{mark}\n\n{content}\n\n<!-- end -->")


def inlined(text: str, results: Results, page: Path, alone: Path) -> str:
    """Replace the marks of a page by tables and drawn figures, so that the page needs no other file.

    alone: where the page will be; links are rewritten for that place.
    """

    def drawn(name: str, which: str, drawing: Drawing) -> str:
        svg = re.sub(r"\n\s*\n", "\n", drawing.svg)  # an empty line would end the HTML element in Markdown
        return f"<figure>\n{svg}<figcaption>{drawing.caption}</figcaption>\n</figure>"

    here, there = page.resolve().parent, alone.resolve().parent
    moved = LINK.sub(lambda link: f"]({os.path.relpath(here / link.group(1), there)}", MARK.sub(_bare, text))
    return _filled(moved, results, drawn, "\n{content}\n")


def _bare(mark: re.Match[str]) -> str:
    """Remove what was filled in before."""
    found = BEGIN.match(mark.group(0))
    return f"{found.group(0) if found else ''}\n<!-- end -->"


def _filled(text: str, results: Results, shown: Callable[[str, str, Drawing], str], form: str) -> str:
    if len(BEGIN.findall(text)) != len(MARK.findall(text)):
        raise InputError("A mark of the page (<!-- table ... -->) has no <!-- end --> before the next mark. Add one.")

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
