"""What an experiment is: cells to run, and tables of what they say together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from stablerule_lab.experiments.cells import is_fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from stablerule_lab.experiments.cells import Cell
    from stablerule_lab.pages.results_page import Drawing
    from stablerule_lab.pages.tables import Table

Options: TypeAlias = dict[str, Any]  # an experiment's own, by name
CACHE, BUILT = "cache", "built"  # folders in that of all results: what can be made again, and what is made from cells


def grid(graphs: tuple[str, ...], methods: tuple[str, ...], seeds: tuple[int, ...], own: Options) -> list[Cell]:
    """List all cells, seed by seed and graph by graph.

    >>> grid(("umls",), ("tabular", "ncrl"), (0,), {})[1]
    {'graph': 'umls', 'method': 'ncrl', 'seed': 0}
    """
    return [{"graph": g, "method": m, "seed": s} for s in seeds for g in graphs for m in methods]


@dataclass(frozen=True)
class Experiment:
    """A spec.

    store: the name of the file of its cells; experiments that read the same cells share it.
    graphs, methods: those that are run unless some are asked for; more_graphs, more_methods: what may be asked for,
    too. options: an experiment's own options with their values; a tuple of numbers is several.
    cells: from graphs, methods, seeds and options to cells; run: one cell, with a folder for what is not kept;
    summarise: results to rows for machines; tables, figures: rows to what people look at. All three know the options,
    and the folder of what is not kept as CACHE. made_with: what a cell depends on beside its name, such as settings: a
    result that was made with something else is not used. left_out: by graph and method, why a cell is run only if its
    method is asked for. is_cheap: by graph and method, whether all seeds are run or the first alone, unless seeds are
    asked for.
    """

    name: str
    store: str
    about: str
    needs: str
    graphs: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    run: Callable[[Cell, Path], dict[str, Any]]
    summarise: Callable[[list[dict[str, Any]], Options], list[dict[str, Any]]]
    tables: Callable[[list[dict[str, Any]], Options], list[Table]]
    figures: Callable[[list[dict[str, Any]], Options], list[Drawing]] = lambda rows, own: []
    cells: Callable[[tuple[str, ...], tuple[str, ...], tuple[int, ...], Options], list[Cell]] = grid
    made_with: Callable[[Cell], Mapping[str, Any]] = lambda cell: {}
    more_graphs: tuple[str, ...] = ()
    more_methods: tuple[str, ...] = ()
    options: Options = field(default_factory=dict)
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)
    is_cheap: Callable[[str, str], bool] = lambda graph, method: True

    def cell_file(self, results: Path) -> Path:
        """Say where its finished cells are, in the folder of all results."""
        return results / f"{self.store}.jsonl"

    def cache(self, results: Path) -> Path:
        """Say where its runs put what can be made again and takes a while."""
        return results / CACHE / self.store

    @property
    def all_graphs(self) -> tuple[str, ...]:
        """Those that may be asked for."""
        return (*self.graphs, *self.more_graphs)

    @property
    def all_methods(self) -> tuple[str, ...]:
        """Those that may be asked for."""
        return (*self.methods, *self.more_methods)

    def asked_cells(
        self, graphs: tuple[str, ...], methods: tuple[str, ...], seeds: tuple[int, ...], own: Options
    ) -> list[Cell]:
        """List the cells that somebody asks for; where nothing is named, what the spec has.

        Without methods what is left out is not run, without seeds what is dear has the first seed alone.
        """
        cells = self.cells(graphs or self.graphs, methods or self.methods, seeds or self.seeds, own)
        return [
            cell
            for cell in cells
            if (methods or (cell["graph"], cell["method"]) not in self.left_out)
            and (seeds or cell["seed"] == self.seeds[0] or self.is_cheap(str(cell["graph"]), str(cell["method"])))
        ]

    def own(self, results: list[dict[str, Any]], options: Options) -> list[dict[str, Any]]:
        """Of results that others may share, those that this one is about, in its order."""
        graphs, methods = self.all_graphs, self.all_methods
        mine = [
            one
            for one in results
            if one["cell"]["graph"] in graphs
            and one["cell"]["method"] in methods
            and one["cell"].get("split") == options.get("split")
            and is_fresh(one, self.made_with)
        ]
        return sorted(mine, key=lambda one: (graphs.index(one["cell"]["graph"]), methods.index(one["cell"]["method"])))
