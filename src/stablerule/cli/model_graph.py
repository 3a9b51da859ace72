"""A model and the graph that it is asked about, for commands that take a MODEL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from stablerule.cli.output import note
from stablerule.cli.reading import open_as_learned
from stablerule.errors import InputError
from stablerule.reasoning.model_on_graph import ModelOnGraph
from stablerule.registry import load_model

if TYPE_CHECKING:
    from stablerule.graph import Dataset
    from stablerule.reasoning import Reasoner

ModelArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")]
GraphOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="DATA",
        help="Another graph to look in than the one in the model's folder. A file is read as that one was.",
    ),
]


def open_model_argument(folder: Path, graph: str | None) -> ModelOnGraph:
    """Load a model with a graph: the one in its folder, or the one that the user names."""
    model = load_model(folder)
    if graph is None:
        return ModelOnGraph(model, open_dataset_of_model_argument(model, folder))
    mark = model.data_
    found = ModelOnGraph(model, open_as_learned(mark, graph))
    if mark.sha256 != found.graph.sha256:
        note(
            f"the model learned from {mark.name!r} ({mark.facts:,} facts), which is not the train of "
            f"{found.dataset.name!r} ({found.graph.n_facts:,} facts). Its rules are used on the latter."
        )
    return found


def open_dataset_of_model_argument(model: Reasoner, folder: Path) -> Dataset:
    """Return the dataset in a model's folder. Where else it may be is only said: no path of a folder is opened."""
    if model.dataset_ is not None:
        return model.dataset_
    mark = model.data_
    source = "" if mark.source is None else f", then at {mark.source!r}"
    raise InputError(
        f"{folder}: there is no graph in it (it learned from {mark.name!r}, {mark.facts:,} facts{source}). "
        "Pass one with --graph: a name of the catalog, a folder or a file."
    )
