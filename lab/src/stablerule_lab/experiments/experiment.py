"""The spec of an experiment: cells to run, and how results become tables and figures."""

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

Options: TypeAlias = dict[str, Any]  # options of one experiment, by name
CACHE, BUILT = "cache", "built"  # folders beside the results: reusable intermediate files, and files built from cells


def grid(graphs: tuple[str, ...], methods: tuple[str, ...], seeds: tuple[int, ...], own: Options) -> list[Cell]:
    """List all cells, seed by seed and graph by graph.

    >>> grid(("umls",), ("tabular", "ncrl"), (0,), {})[1]
    {'graph': 'umls', 'method': 'ncrl', 'seed': 0}
    """
    return [{"graph": g, "method": m, "seed": s} for s in seeds for g in graphs for m in methods]


@dataclass(frozen=True)
class Experiment:
    """The spec of an experiment.

    store: the name of its file of cells, which several experiments may share.
    graphs, methods: the default; more_graphs, more_methods: run only on request.
    options: the experiment's own options with their defaults.
    cells: makes cells from graphs, methods, seeds and options. run: runs a cell, with a folder for intermediate files.
    summarise: results to rows of data; tables, figures: rows to tables and figures. All three get the options, and the
        folder of intermediate files as CACHE.
    made_with: what a result depends on besides its cell, such as settings; results made with something else are stale.
    left_out: the reason, by (graph, method), why a cell runs only if its method is requested.
    is_cheap: whether (graph, method) runs with all seeds by default, or with the first one only.
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
        """Return the file of finished cells in the folder of all results."""
        return results / f"{self.store}.jsonl"

    def cache(self, results: Path) -> Path:
        """Return the folder for intermediate files that take a while to make."""
        return results / CACHE / self.store

    @property
    def all_graphs(self) -> tuple[str, ...]:
        """All graphs that can be requested."""
        return (*self.graphs, *self.more_graphs)

    @property
    def all_methods(self) -> tuple[str, ...]:
        """All methods that can be requested."""
        return (*self.methods, *self.more_methods)

    def asked_cells(
        self, graphs: tuple[str, ...], methods: tuple[str, ...], seeds: tuple[int, ...], own: Options
    ) -> list[Cell]:
        """List the requested cells; an empty argument means the default of the spec.

        By default, cells of `left_out` are skipped, and slow cells have the first seed only.
        """
        cells = self.cells(graphs or self.graphs, methods or self.methods, seeds or self.seeds, own)
        return [
            cell
            for cell in cells
            if (methods or (cell["graph"], cell["method"]) not in self.left_out)
            and (seeds or cell["seed"] == self.seeds[0] or self.is_cheap(str(cell["graph"]), str(cell["method"])))
        ]

    def own(self, results: list[dict[str, Any]], options: Options) -> list[dict[str, Any]]:
        """Return the fresh results of this experiment from a shared file, in the order of the spec."""
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
