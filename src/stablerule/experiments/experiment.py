"""What an experiment is: cells to run, and tables of what they say together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stablerule.experiments.cells import Cell
    from stablerule.experiments.tables import Table

Options: TypeAlias = dict[str, Any]  # an experiment's own, by name


@dataclass(frozen=True)
class Experiment:
    """A spec.

    graphs, methods: those that are run unless some are asked for; more_graphs, more_methods: what may be asked for,
    too. options: an experiment's own options with their values; a tuple of numbers is several.
    cells: from graphs, methods, seeds and options to cells; run: one cell, with a folder for what is not kept;
    summarise: results to rows for machines; tables: rows to tables for people.
    """

    name: str
    about: str
    needs: str
    graphs: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    cells: Callable[[tuple[str, ...], tuple[str, ...], tuple[int, ...], Options], list[Cell]]
    run: Callable[[Cell, Path], dict[str, Any]]
    summarise: Callable[[list[dict[str, Any]], Path, Options], list[dict[str, Any]]]
    tables: Callable[[list[dict[str, Any]], Options], list[Table]]
    more_graphs: tuple[str, ...] = ()
    more_methods: tuple[str, ...] = ()
    options: Options = field(default_factory=dict)
