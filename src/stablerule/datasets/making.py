"""What made-up worlds share: checked arguments, facts left out, and wrong facts put in."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Fact = tuple[str, str, str]
Item = TypeVar("Item")


def check_count(argument: str, value: object, least: int) -> int:
    """Return a whole number that is large enough.

    >>> check_count("people", -5, least=1)
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'people' must be a whole number from 1 on, got -5.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise OptionError(f"Argument {argument!r} must be a whole number from {least} on, got {value!r}.")
    return int(value)


def check_number(argument: str, value: object, least: float, most: float = float("inf")) -> float:
    """Return a number that lies between two others.

    >>> check_number("noise", 1.5, least=0, most=1)
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'noise' must be a number from 0 to 1, got 1.5.
    """
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or not least <= value <= most:  # type: ignore[call-overload, operator]
        bounds = f"from {least} on" if most == float("inf") else f"from {least} to {most}"
        raise OptionError(f"Argument {argument!r} must be a number {bounds}, got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def check_choice(argument: str, value: object, choices: Collection[str]) -> str:
    """Return a word that is one of a few."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"Argument {argument!r} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value


def make_generator(seed: object) -> np.random.Generator:
    """Return the source of all randomness of a world, from a seed or as it was passed."""
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng(check_count("seed", seed, least=0))
    except OptionError:
        must = "a whole number from 0 on, or a numpy Generator"
        raise OptionError(f"Argument 'seed' must be {must}, got {seed!r}.") from None


def pick(items: Sequence[Item], rng: np.random.Generator) -> Item:
    """Choose one, each with the same chance."""
    return items[int(rng.integers(len(items)))]


def drop_facts(facts: Sequence[Fact], share: float, held_out: Iterable[Fact], rng: np.random.Generator) -> list[Fact]:
    """Leave out a share of the facts, but never the last one about something that held-out facts ask for.

    >>> rng = np.random.default_rng(0)
    >>> facts = [("a", "r", "b"), ("a", "r", "c"), ("b", "r", "c")]
    >>> drop_facts(facts, 1.0, held_out=[("a", "r", "b")], rng=rng)
    [('a', 'r', 'b')]
    """
    needed = set(chain.from_iterable(map(mentions, held_out)))
    left = Counter(chain.from_iterable(map(mentions, facts)))
    gone: set[int] = set()
    most = min(round(share * len(facts)), len(facts) - 1)
    for at in rng.permutation(len(facts)).tolist():
        if len(gone) >= most:
            break
        if not any(thing in needed and left[thing] == 1 for thing in mentions(facts[at])):
            left.subtract(mentions(facts[at]))
            gone.add(at)
    return [fact for at, fact in enumerate(facts) if at not in gone]


def make_wrong_facts(
    facts: Sequence[Fact], share: float, truth: Collection[Fact], rng: np.random.Generator
) -> list[Fact]:
    """Make wrong facts, as many as a share of the given ones, by exchanging the tail for that of another fact.

    They look like true ones: the tail is one that the relation has elsewhere. Where there are not
    enough such tails, there are fewer wrong facts.

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
    for _ in range(wanted * 50):  # random tries may never meet the last free place
        if len(wrong) == wanted:
            break
        head, relation, _ = pick(facts, rng)
        fact = (head, relation, pick(tails[relation], rng))
        if fact[2] != head and fact not in truth:
            wrong[fact] = None
    return list(wrong)


def mentions(fact: Fact) -> set[tuple[str, str]]:
    """Return what a fact is about; an entity may be called like a relation, so the kind stands with it."""
    head, relation, tail = fact
    return {("entity", head), ("relation", relation), ("entity", tail)}
