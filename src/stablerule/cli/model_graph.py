"""A model and the graph that it is asked about, for commands that take a MODEL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from stablerule.cli.output import note
from stablerule.cli.reading import open_as_learned
from stablerule.errors import InputError
from stablerule.registry import load_model

if TYPE_CHECKING:
    from stablerule.graph import Dataset, Graph
    from stablerule.reasoning import Reasoner
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.reasoning.searcher import Searcher

ModelArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")]
GraphOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="DATA",
        help="Another graph to look in than the one in the model's folder. A file is read as that one was.",
    ),
]


@dataclass(frozen=True)
class ModelOnGraph:
    """A model, and the dataset whose training facts it answers from."""

    model: Reasoner
    dataset: Dataset

    @property
    def graph(self) -> Graph:
        """The facts that the model answers from."""
        return self.dataset.graph

    @property
    def searcher(self) -> Searcher:
        """What answers, ready for the graph."""
        return self.model.searcher(self.graph)

    @property
    def search(self) -> RuleSearcher:
        """The model's rules, ready for the graph; an error for a model that has none."""
        return self.model.rule_searcher(self.graph)

    @property
    def known(self) -> Graph:
        """The facts of all splits."""
        return self.dataset.known

    def split_with(self, head: int, relation: int, tail: int) -> str | None:
        """Name the split that has a fact, if any has it."""
        if tail in self.graph.tails(head, relation):
            return "train"
        n = self.graph.n_relations
        fact = (head, relation, tail) if relation < n else (tail, relation - n, head)
        for name in ("valid", "test"):
            if (self.dataset.split(name).rows == fact).all(axis=1).any():
                return name
        return None


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
