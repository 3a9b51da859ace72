"""World: a made-up dataset with its true rules and groups of test facts; and how to add noise and missing facts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from stablerule.datasets.arguments import check_count
from stablerule.errors import OptionError
from stablerule.graph import Dataset

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from stablerule.rules import Rule

Fact = tuple[str, str, str]
Item = TypeVar("Item")
GROUPINGS = ("pathway", "density")


class WorldFacts(NamedTuple):
    """The facts of a world by name, in three splits."""

    train: list[Fact]
    valid: list[Fact]
    test: list[Fact]

    def spoil(self, missing: float, noise: float, rng: np.random.Generator) -> WorldFacts:
        """Remove true facts and add wrong ones, in train only, so that validation and test stay correct."""
        kept = drop_world_facts(self.train, missing, [*self.valid, *self.test], rng)
        truth = {*self.train, *self.valid, *self.test}
        return self._replace(train=kept + make_wrong_facts(kept, noise, truth, rng))


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """A dataset with its true rules and a group for each test fact, which are usually unknown.

    >>> from stablerule.rules import Rule
    >>> facts = WorldFacts(
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
    def from_facts(cls, name: str, facts: WorldFacts, rules: Sequence[Rule], groups: Sequence[str]) -> World:
        """Make a world from facts by name."""
        return cls(Dataset.from_names(name, *facts), tuple(rules), tuple(groups))

    def __repr__(self) -> str:
        groups = ", ".join(f"{count:,} {group}" for group, count in sorted(Counter(self.groups).items()))
        sizes = ", ".join(f"{split} {len(part):,}" for split, part in self.dataset.splits.items())
        return f"World({self.dataset.name}, {len(self.rules)} rules, {sizes}{': ' * bool(groups)}{groups})"


def make_world_generator(seed: object) -> np.random.Generator:
    """Return the generator of a world from a seed, or the one that was passed."""
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng(check_count("seed", seed, least=0))
    except OptionError:
        must = "a whole number of at least 0, or a numpy Generator"
        raise OptionError(f"Argument 'seed' must be {must}, got {seed!r}.") from None


def pick_world_item(items: Sequence[Item], rng: np.random.Generator) -> Item:
    """Choose one item uniformly at random."""
    return items[int(rng.integers(len(items)))]


def drop_world_facts(
    facts: Sequence[Fact], share: float, held_out: Iterable[Fact], rng: np.random.Generator
) -> list[Fact]:
    """Remove a share of the facts, but never the last one with an entity or relation of a held-out fact.

    >>> rng = np.random.default_rng(0)
    >>> facts = [("a", "r", "b"), ("a", "r", "c"), ("b", "r", "c")]
    >>> drop_world_facts(facts, 1.0, held_out=[("a", "r", "b")], rng=rng)
    [('a', 'r', 'b')]
    """
    needed = set(chain.from_iterable(map(list_mentions_in_world, held_out)))
    left = Counter(chain.from_iterable(map(list_mentions_in_world, facts)))
    gone: set[int] = set()
    most = min(round(share * len(facts)), len(facts) - 1)
    for at in rng.permutation(len(facts)).tolist():
        if len(gone) >= most:
            break
        if not any(thing in needed and left[thing] == 1 for thing in list_mentions_in_world(facts[at])):
            left.subtract(list_mentions_in_world(facts[at]))
            gone.add(at)
    return [fact for at, fact in enumerate(facts) if at not in gone]


def make_wrong_facts(
    facts: Sequence[Fact], share: float, truth: Collection[Fact], rng: np.random.Generator
) -> list[Fact]:
    """Make wrong facts, a share of the number of given ones, by replacing the tail by that of another fact.

    They look like true facts, because the tail occurs elsewhere with the relation. If there are not enough such tails,
    there are fewer wrong facts.

    >>> rng = np.random.default_rng(0)
    >>> facts = [("Paris", "in", "France"), ("Berlin", "in", "Germany")]
    >>> sorted(make_wrong_facts(facts, 1.0, truth=set(facts), rng=rng))
    [('Berlin', 'in', 'France'), ('Paris', 'in', 'Germany')]
    """
    tails: dict[str, list[str]] = {}
    for _, relation, tail in dict.fromkeys(("", relation, tail) for _, relation, tail in facts):
        tails.setdefault(relation, []).append(tail)
    wanted = round(share * len(facts))
    wrong: dict[Fact, None] = {}
    for _ in range(wanted * 50):  # random tries may never find the last possible fact
        if len(wrong) == wanted:
            break
        head, relation, _ = pick_world_item(facts, rng)
        fact = (head, relation, pick_world_item(tails[relation], rng))
        if fact[2] != head and fact not in truth:
            wrong[fact] = None
    return list(wrong)


def list_mentions_in_world(fact: Fact) -> set[tuple[str, str]]:
    """Return the entities and relation of a fact, each with its kind, since their names may be equal."""
    head, relation, tail = fact
    return {("entity", head), ("relation", relation), ("entity", tail)}
