"""A model on its graph, and what is made ready once and then looked at by many."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from stablerule.errors import UnknownName
from stablerule.explorer.views.search import GraphIndex
from stablerule.graph import Graph
from stablerule.graph.behaviour import find_behaviour
from stablerule.reasoning import RuleReasoner
from stablerule.reasoning.model_folder import ABOUT
from stablerule.reasoning.model_on_graph import ModelOnGraph
from stablerule.rules import Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from stablerule.graph import Dataset
    from stablerule.graph.behaviour import Behaviour
    from stablerule.reasoning import Reasoner
    from stablerule.reasoning.completing import Completion
    from stablerule.reasoning.wanted import WantedFacts
    from stablerule.rules import ScoredRule

K = TypeVar("K")
V = TypeVar("V")
NUMBERED = re.compile(r"id:(\d{1,9})")
KEPT = 4  # of what takes long to make ready


class Explored:
    """A model and the dataset that it is asked about, with the name that people know it by.

    sha256: of the model's index, which has the checksums of all of its files; what a decision says that it was about.
    """

    def __init__(
        self, opened: ModelOnGraph, name: str = "model", sha256: str = "", learned_at: float | None = None
    ) -> None:
        self.opened, self.name, self.sha256, self.learned_at = opened, name, sha256, learned_at
        self.index = GraphIndex(opened.graph)
        self._without: Recent[tuple[str, ...], ModelOnGraph] = Recent()
        self._remembered: Recent[str, Any] = Recent()
        self._completions: Recent[tuple[WantedFacts, str], Completion] = Recent()

    @classmethod
    def from_folder(cls, opened: ModelOnGraph, folder: Path) -> Explored:
        """Take the name, the hash and the time from the folder that a model was loaded from."""
        index = folder / ABOUT
        digest = hashlib.sha256(index.read_bytes()).hexdigest()
        return cls(opened, folder.resolve().name, digest, index.stat().st_mtime)

    @property
    def model(self) -> Reasoner:
        """The model."""
        return self.opened.model

    @property
    def dataset(self) -> Dataset:
        """Its facts of all splits."""
        return self.opened.dataset

    @property
    def graph(self) -> Graph:
        """The facts that it answers from."""
        return self.opened.graph

    @property
    def known(self) -> Graph:
        """The facts of all splits."""
        return self.opened.known

    @property
    def has_rules(self) -> bool:
        """Whether there are rules to look at."""
        return isinstance(self.model, RuleReasoner) or self.model.learned_.rules is not None

    @property
    def rules(self) -> RuleSet:
        """The rules; none for a model that learns none."""
        return self.model.rules if self.has_rules else RuleSet()

    @cached_property
    def held_out(self) -> dict[str, Graph]:
        """The validation and the test facts as graphs, those that have some."""
        words, splits = self.graph.vocabulary, self.dataset.splits
        return {name: Graph.build(splits[name], words) for name in ("valid", "test") if len(splits[name])}

    @cached_property
    def behaviour(self) -> Behaviour:
        """Which relations are one-valued."""
        return find_behaviour(self.graph)

    def completion(self, wanted: WantedFacts, relation: str) -> Completion:
        """Make ready what finds the new facts of a relation; the last few are kept ready."""
        return self._completions.get((wanted, relation), lambda: self.opened.completion(wanted, [relation]))

    def remember(self, what: str, make: Callable[[], V]) -> V:
        """Return what is the same for everybody, such as the findings of the data check, made once."""
        found: V = self._remembered.get(what, make)
        return found

    def prepare(self) -> None:
        """Make ready what the first visitors would wait for."""
        self.index.prepare()
        _ = self.known, self.held_out, self.behaviour
        _ = self.opened.searcher

    def entity_id(self, text: str) -> int:
        """Return the id of an entity by its name, or by `id:7` where a name is too long for an address."""
        words = self.graph.vocabulary
        numbered = NUMBERED.fullmatch(text)
        if numbered and text not in words.entities and int(numbered[1]) < self.graph.n_entities:
            return int(numbered[1])
        return words.entity_id(text)

    def entity_name(self, text: str) -> str:
        """Return the full name of an entity that was given by its name or as `id:7`."""
        return self.graph.vocabulary.entity_name(self.entity_id(text))

    def find_rule(self, text: str) -> ScoredRule:
        """Return a rule of the model by its text."""
        found = self.rules.find(Rule.parse(text))
        if found is None:
            raise UnknownName(f"The model has no rule {text!r}. The page Rules lists those that it has.")
        return found

    def without(self, rules: Iterable[str]) -> ModelOnGraph:
        """Return the same model without some rules, by their texts; the last few are kept ready."""
        off = tuple(sorted({str(self.find_rule(text).rule) for text in rules}))
        if not off:
            return self.opened
        return self._without.get(off, lambda: self._drop_rules(off))

    def _drop_rules(self, off: Iterable[str]) -> ModelOnGraph:
        left = self.rules.diff(RuleSet(map(Rule.parse, off))).only_this
        return ModelOnGraph(self.model.with_learned(self.model.learned_.with_rules(left)), self.dataset)


class Recent(Generic[K, V]):
    """The few things that were asked for last, each made once.

    >>> recent = Recent(most=1)
    >>> recent.get("a", lambda: 1), recent.get("a", lambda: 2), recent.get("b", lambda: 3), recent.get("a", lambda: 4)
    (1, 1, 3, 4)
    """

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._kept, self._making = most, OrderedDict[K, V](), threading.Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return what is kept, or make it; whoever asks meanwhile waits."""
        with self._making:
            if key not in self._kept:
                self._kept[key] = make()
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return self._kept[key]
