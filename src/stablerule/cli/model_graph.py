"""A model and the graph that it is asked about, for commands that take a MODEL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from stablerule.cli.output import note
from stablerule.datasets import open_dataset
from stablerule.datasets.catalog import CATALOG
from stablerule.errors import InputError, StableRuleError
from stablerule.graph import Dataset, Graph
from stablerule.registry import load_model

if TYPE_CHECKING:
    from stablerule.reasoning import DataMark, Reasoner
    from stablerule.reasoning.rule_searcher import RuleSearcher
    from stablerule.reasoning.searcher import Searcher

ModelArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")]
DataOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="DATA",
        help="The graph to look in, if not the one that the model learned from. A file is read as that one was.",
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

    @cached_property
    def known(self) -> Graph:
        """The facts of all splits."""
        return Graph.build(self.dataset.everything, self.dataset.vocabulary, self.dataset.name)

    def split_with(self, head: int, relation: int, tail: int) -> str | None:
        """Name the split that has a fact, if any has it."""
        n = self.graph.n_relations
        fact = (head, relation, tail) if relation < n else (tail, relation - n, head)
        for name, part in self.dataset.splits.items():
            if ((part.heads == fact[0]) & (part.relations == fact[1]) & (part.tails == fact[2])).any():
                return name
        return None


def open_model(folder: Path, data: str | None) -> ModelOnGraph:
    """Take up a model with its graph: the one at `data`, or where it says that it learned."""
    model = load_model(folder)
    mark = model.data_
    found = ModelOnGraph(model, _where_it_learned(model, folder) if data is None else _elsewhere(data, mark))
    if mark.sha256 != found.graph.sha256:
        note(
            f"the model learned from {mark.name!r} ({mark.facts:,} facts), which is not the train of "
            f"{found.dataset.name!r} ({found.graph.n_facts:,} facts). Its rules are used on the latter."
        )
        if data is None and "split" in mark.reading:
            note(
                f"{mark.source} has changed, so train, valid and test were drawn from it again: facts that were in "
                "test then may now be among those that answer."
            )
    return found


def _elsewhere(data: str, mark: DataMark) -> Dataset:
    """Open another graph. A file is read as the model's own was, and cut only if it turns out to be that one."""
    if data.lower() in CATALOG:
        return open_dataset(data)
    dataset = open_dataset(data, **mark.reading)
    if "split" in mark.reading and dataset.graph.sha256 != mark.sha256:
        whole = {name: value for name, value in mark.reading.items() if name not in ("split", "seed")}
        return open_dataset(data, **whole)
    return dataset


def _where_it_learned(model: Reasoner, folder: Path) -> Dataset:
    mark = model.data_
    learned = f"{folder}: it learned from {mark.name!r} ({mark.facts:,} facts)"
    cure = "Pass the graph with --data: a name of the catalog, a folder or a file."
    if mark.source is None:
        raise InputError(f"{learned}, and does not say where that is. {cure}")
    try:
        return open_dataset(mark.source, **mark.reading)
    except StableRuleError as error:
        raise InputError(f"{learned}, which can't be opened any more ({str(error).rstrip('.')}). {cure}") from error
