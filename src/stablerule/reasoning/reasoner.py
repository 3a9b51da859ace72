"""What every learner of rules can do."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from stablerule.errors import InputError, OptionError, closest
from stablerule.reasoning.chaining import Chaining
from stablerule.reasoning.folder import DataMark, SavedModel
from stablerule.reasoning.option_types import check_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from stablerule.graph import Graph, Triples, Vocabulary
    from stablerule.reasoning.answers import Answer, Explanation
    from stablerule.rules import RuleSet


class RuleReasoner(ABC):
    """A learner: `fit(graph)` learns, `rules` are what it learned, `answer` and `explain` use them, `save` keeps it.

    `__init__` of a learner stores its arguments and does nothing else; `fit` looks at them. What is learned has a name
    that ends in `_`.
    """

    method: ClassVar[str]
    rules_: RuleSet
    vocabulary_: Vocabulary
    data_: DataMark
    learned_: dict[str, Any]
    folder_: Path | None = None  # where the model was taken up from

    @abstractmethod
    def _learn(self, graph: Graph, valid: Triples | None) -> RuleSet:
        """Learn rules from a graph."""

    def fit(self, graph: Graph, valid: Triples | None = None) -> Self:
        """Learn from a graph. `valid`, facts that are not in it, may serve to choose settings."""
        if not graph.n_facts:
            raise InputError(f"Graph {graph.name!r} has no facts to learn from.")
        check_types(type(self), self.options)
        self.learned_ = {}
        self.rules_ = self._learn(graph, valid)
        self.graph_ = graph
        self.vocabulary_ = graph.vocabulary
        self.data_ = DataMark(graph.name, graph.sha256, graph.n_entities, graph.n_relations, graph.n_facts)
        return self

    @property
    def rules(self) -> RuleSet:
        """The learned rules."""
        self._check_fitted()
        return self.rules_

    def answer(
        self, queries: Iterable[tuple[str, str]], k: int = 10, *, graph: Graph | None = None
    ) -> Iterator[list[Answer]]:
        """Yield the k best answers to each query (head, relation); ("Paris", "~r") asks for the heads of r.

        graph: where to look; None is the graph that the model learned from, if it is still at hand.
        """
        chaining = self._chaining(graph)
        for head, relation in queries:
            yield chaining.answer(head, relation, k)

    def score(self, triples: Iterable[tuple[str, str, str]], *, graph: Graph | None = None) -> list[float]:
        """Return the score of each triple, 0 where no rule reaches its tail."""
        chaining = self._chaining(graph)
        return [chaining.score(*triple) for triple in triples]

    def explain(self, triple: tuple[str, str, str], *, graph: Graph | None = None) -> list[Explanation]:
        """Return the rules that fired for a triple with their share of its score, the largest first."""
        return self._chaining(graph).explain(*triple)

    def _chaining(self, graph: Graph | None) -> Chaining:
        self._check_fitted()
        graph = graph if graph is not None else getattr(self, "graph_", None)
        if graph is None:
            raise InputError(
                f"This model was taken up from disk, without a graph (it learned from {self.data_.name!r}). "
                "Pass graph=... to say where to look."
            )
        known = getattr(self, "_asked", None)
        if known is None or known.graph is not graph:
            self._asked = known = Chaining(self.rules_, graph)
        return known

    @classmethod
    def option_names(cls) -> list[str]:
        """The arguments of the learner."""
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    @property
    def options(self) -> dict[str, Any]:
        """The arguments that this learner was made with."""
        return {name: getattr(self, name) for name in self.option_names()}

    @classmethod
    def with_options(cls, options: dict[str, Any]) -> Self:
        """Make a learner from a mapping; an unknown option is an error that says the closest."""
        for name in options:
            if name not in cls.option_names():
                raise OptionError(f"{cls.__name__} has no option {name!r}.{closest(name, cls.option_names())}")
        return cls(**check_types(cls, options))

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False, source: str | None = None) -> None:
        """Keep the model in a folder. `source` is what the data was called, to find it again."""
        self._check_fitted()
        mark = DataMark(**{**vars(self.data_), "source": source or self.data_.source})
        saved = SavedModel(self.method, self.options, mark, self.rules_, self.vocabulary_, self.learned_)
        saved.write(Path(folder), overwrite=overwrite, tensors=self._tensors())

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Take up a model that was kept."""
        model = cls.with_options(saved.options)
        model.rules_, model.vocabulary_, model.data_ = saved.rules, saved.vocabulary, saved.data
        model.learned_, model.folder_ = saved.learned, saved.folder
        return model

    def _tensors(self) -> dict[str, Any] | None:
        """Arrays to keep beside the rules."""
        return None

    def _check_fitted(self) -> None:
        if not hasattr(self, "rules_"):
            raise InputError(f"This {type(self).__name__} has not learned anything yet. Call fit(graph) first.")

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = ", ".join(f"{n}={v!r}" for n, v in self.options.items() if v != defaults[n])
        return f"{type(self).__name__}({changed})"
