"""A made-up world: a dataset, the rules that are true in it, and who the test asks about."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from stablerule.datasets.making import Fact, drop_facts, make_wrong_facts
from stablerule.errors import OptionError
from stablerule.graph import Dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from stablerule.rules import Rule

GROUPINGS = ("pathway", "density")


class Facts(NamedTuple):
    """The facts of a world in their three splits, by name."""

    train: list[Fact]
    valid: list[Fact]
    test: list[Fact]

    def spoil(self, missing: float, noise: float, rng: np.random.Generator) -> Facts:
        """Leave out true facts and put in wrong ones, in train only: the questions stay right."""
        kept = drop_facts(self.train, missing, [*self.valid, *self.test], rng)
        truth = {*self.train, *self.valid, *self.test}
        return self._replace(train=kept + make_wrong_facts(kept, noise, truth, rng))


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """A dataset with what is usually not known: its true rules and a group for each test fact.

    >>> from stablerule.rules import Rule
    >>> facts = Facts(
    ...     train=[("Ann", "born_in", "Paris"), ("Paris", "city_of", "France")],
    ...     valid=[],
    ...     test=[("Ann", "nationality", "France")],
    ... )
    >>> World.from_facts("tiny", facts, [Rule("nationality", ("born_in", "city_of"))], groups=["sparse"])
    World(tiny, 1 rules, train 2, valid 0, test 1: 1 sparse)
    """

    dataset: Dataset
    rules: tuple[Rule, ...]
    groups: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.groups) != len(self.dataset.test):
            must = f"one name for each of the {len(self.dataset.test):,} test facts"
            raise OptionError(f"Argument 'groups' of World must be {must}, got {len(self.groups):,} names.")

    @classmethod
    def from_facts(cls, name: str, facts: Facts, rules: Sequence[Rule], groups: Sequence[str]) -> World:
        """Give the facts their ids."""
        return cls(Dataset.from_names(name, *facts), tuple(rules), tuple(groups))

    def __repr__(self) -> str:
        groups = ", ".join(f"{count:,} {group}" for group, count in sorted(Counter(self.groups).items()))
        sizes = ", ".join(f"{split} {len(part):,}" for split, part in self.dataset.splits.items())
        return f"World({self.dataset.name}, {len(self.rules)} rules, {sizes}{': ' * bool(groups)}{groups})"
