"""The world `households`: families over generations, where all kinship follows from parents and spouses."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations, count, permutations, product
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from stablerule.datasets.arguments import check_choice, check_count, check_number
from stablerule.datasets.worlds.making import GROUPINGS, Fact, World, WorldFacts, make_world_generator, pick_world_item
from stablerule.errors import OptionError
from stablerule.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

RULES = tuple(
    map(
        Rule.parse,
        (
            "child_of(X, Y) <- parent_of(Y, X)",
            "sibling_of(X, Y) <- child_of(X, A), parent_of(A, Y)",
            "grandparent_of(X, Y) <- parent_of(X, A), parent_of(A, Y)",
            "grandchild_of(X, Y) <- child_of(X, A), child_of(A, Y)",
            "great_grandparent_of(X, Y) <- parent_of(X, A), grandparent_of(A, Y)",
            "great_grandchild_of(X, Y) <- child_of(X, A), grandchild_of(A, Y)",
            "uncle_or_aunt_of(X, Y) <- sibling_of(X, A), parent_of(A, Y)",
            "uncle_or_aunt_of(X, Y) <- spouse_of(X, A), sibling_of(A, B), parent_of(B, Y)",
            "niece_or_nephew_of(X, Y) <- child_of(X, A), sibling_of(A, Y)",
            "niece_or_nephew_of(X, Y) <- child_of(X, A), sibling_of(A, B), spouse_of(B, Y)",
            "cousin_of(X, Y) <- child_of(X, A), sibling_of(A, B), parent_of(B, Y)",
            "parent_in_law_of(X, Y) <- parent_of(X, A), spouse_of(A, Y)",
            "child_in_law_of(X, Y) <- spouse_of(X, A), child_of(A, Y)",
            "sibling_in_law_of(X, Y) <- sibling_of(X, A), spouse_of(A, Y)",
            "sibling_in_law_of(X, Y) <- spouse_of(X, A), sibling_of(A, Y)",
        ),
    )
)
# The relation of a fact with head and tail exchanged.
MIRRORS = {
    "parent_of": "child_of",
    "spouse_of": "spouse_of",
    "sibling_of": "sibling_of",
    "grandparent_of": "grandchild_of",
    "great_grandparent_of": "great_grandchild_of",
    "uncle_or_aunt_of": "niece_or_nephew_of",
    "cousin_of": "cousin_of",
    "parent_in_law_of": "child_in_law_of",
    "sibling_in_law_of": "sibling_in_law_of",
}
BASE = ("parent_of", "spouse_of")
MOST_PEOPLE = 200_000


class Couple(NamedTuple):
    """Two people and all their children; nobody has children with two partners."""

    partners: tuple[str, str]
    children: list[str]


class Kinship(NamedTuple):
    """The relation of two people, seen from the elder; `pathway` is "blood", or "marriage" if a spouse is between."""

    head: str
    relation: str
    tail: str
    pathway: str

    @property
    def facts(self) -> list[Fact]:
        """The fact in both directions; one would leak the other, so a split must not separate them."""
        return [(self.head, self.relation, self.tail), (self.tail, MIRRORS[self.relation], self.head)]


def households(
    *,
    families: int = 20,
    test_families: int = 10,
    generations: int = 4,
    children: float = 2.5,
    test_children: float | None = None,
    marrying: float = 0.8,
    test_mix: float | None = None,
    missing: float = 0.0,
    noise: float = 0.0,
    valid: float = 0.1,
    test: float = 0.2,
    group_by: str = "density",
    seed: int | np.random.Generator = 0,
) -> World:
    """Make families in which all kinship follows exactly from parents and spouses.

    On paths of distinct people, the rules are exact in both directions: every prediction of a rule is a fact, and every
    fact follows from a rule, except those of `parent_of` and `spouse_of`. For this, couples stay together and have all
    their children with each other (so there are no half siblings), and people marry from outside (so no pair is related
    in two ways). Uncles, aunts, nieces and nephews are by blood or by marriage. Siblings in law are the siblings of a
    spouse and the spouses of siblings. Rules that follow from the true ones are also correct, but not listed.

    A fact and its mirror (grandparent and grandchild) are always in the same split, and parents, children and spouses
    stay in train. The last fact of a relation is not held out.

    Arguments:
        families: number of families to learn from; valid has some of their kinship.
        test_families: number of families for the test; their other facts are in train.
        generations: from the founding couple to the youngest.
        children: mean number of children of a couple, which has at least one.
        test_children: the same for test families (a density shift if it differs); None is no difference.
        marrying: share of people who marry and have children, except in the last generation.
        test_mix: share of test facts by marriage, the others by blood (a pathway shift if it differs from train); None
            samples without this condition.
        missing: share of true training facts to remove.
        noise: number of wrong training facts to add, as a share of the true ones.
        valid: share of the kinship of families to hold out for valid.
        test: share of the kinship of test families to hold out for test.
        group_by: the groups of the test facts: by "density" ("small" families with at most as many people as the median
            training family, otherwise "large"), or by "pathway" ("blood" or "marriage").
        seed: a number, or a numpy Generator.

    >>> world = households(families=3, test_families=2)
    >>> print(world.rules[1])
    sibling_of(X, Y) <- child_of(X, A), parent_of(A, Y)
    >>> sorted(set(households(group_by="pathway").groups))
    ['blood', 'marriage']
    """
    check_count("families", families, least=1)
    check_count("test_families", test_families, least=1)
    check_count("generations", generations, least=2)
    test_children = children if test_children is None else test_children
    for argument, mean in {"children": children, "test_children": test_children}.items():
        check_number(argument, mean, least=1, most=100)
    shares = {"marrying": marrying, "missing": missing, "noise": noise, "valid": valid, "test": test}
    for argument, share in {**shares, "test_mix": 0 if test_mix is None else test_mix}.items():
        check_number(argument, share, least=0, most=1)
    check_choice("group_by", group_by, GROUPINGS)
    check_household_size(families + test_families, generations, max(children, test_children), marrying)
    rng = make_world_generator(seed)

    trees = [make_family(n + 1, generations, children, marrying, rng) for n in range(families)]
    asked = [make_family(families + n + 1, generations, test_children, marrying, rng) for n in range(test_families)]
    kinship, asked_kinship = ([kin for tree in part for kin in relate_family(tree)] for part in (trees, asked))
    spare = Counter(kin.relation for kin in kinship + asked_kinship)
    spare -= Counter(spare.keys())
    to_valid = hold_out_kinship(kinship, valid, None, spare, rng)
    to_test = hold_out_kinship(asked_kinship, test, test_mix, spare, rng)
    held_out = {*to_valid, *to_test}
    known = [kin for kin in kinship + asked_kinship if kin not in held_out]
    facts = WorldFacts(*(list(chain.from_iterable(kin.facts for kin in part)) for part in (known, to_valid, to_test)))
    usual = median(len(list_family_people(tree)) for tree in trees)
    large = {person for tree in asked if len(list_family_people(tree)) > usual for person in list_family_people(tree)}
    size = ["large" if kin.head in large else "small" for kin in to_test for _ in kin.facts]
    pathway = [kin.pathway for kin in to_test for _ in kin.facts]
    relations = {relation for _, relation, _ in chain(*facts)}
    rules = [rule for rule in RULES if rule.head_relation in relations]
    return World.from_facts(
        "households", facts.spoil(missing, noise, rng), rules, size if group_by == "density" else pathway
    )


def check_household_size(families: int, generations: int, children: float, marrying: float) -> None:
    """Raise an error for too many people: the youngest generation grows with a power of the number of children."""
    people, couples = 0.0, float(families)
    for _ in range(generations - 1):
        people += couples * (2 + children)
        couples *= max(children * marrying, 1)  # one always marries
        if people > MOST_PEOPLE:
            raise OptionError(
                f"Arguments 'families', 'generations' and 'children' must give at most about {MOST_PEOPLE:,} people, "
                f"got {families:,} families, {generations:,} generations and {children:g} children."
            )


def make_family(
    number: int, generations: int, children: float, marrying: float, rng: np.random.Generator
) -> list[Couple]:
    """Make one family from its founders; at least one person of each generation marries, so it does not die out."""
    people = (f"person_{number}_{nth}" for nth in count(1))
    couples = [Couple((next(people), next(people)), [])]
    youngest = couples[:]
    for generation in range(2, generations + 1):
        for couple in youngest:
            couple.children.extend(next(people) for _ in range(1 + int(rng.poisson(children - 1))))
        born = [child for couple in youngest for child in couple.children]
        married = [child for child in born if rng.random() < marrying] or [pick_world_item(born, rng)]
        youngest = [Couple((child, next(people)), []) for child in married] if generation < generations else []
        couples += youngest
    return couples


def list_family_people(couples: Sequence[Couple]) -> set[str]:
    """Return all people of a family, including those who married into it."""
    return {person for couple in couples for person in (*couple.partners, *couple.children)}


def relate_family(couples: Sequence[Couple]) -> Iterator[Kinship]:
    """Yield the relation of each pair once, from the definitions of the words and not from the rules."""
    home = {child: couple for couple in couples for child in couple.children}
    spouse = {one: other for couple in couples for one, other in permutations(couple.partners)}
    children = {partner: couple.children for couple in couples for partner in couple.partners}

    def parents(person: str) -> tuple[str, ...]:
        return home[person].partners if person in home else ()

    def siblings(person: str) -> list[str]:
        return [other for other in home[person].children if other != person] if person in home else []

    for couple in couples:
        yield Kinship(couple.partners[0], "spouse_of", couple.partners[1], "marriage")
        for one, other in permutations(couple.partners):
            yield from (Kinship(elder, "parent_in_law_of", other, "marriage") for elder in parents(one))
            yield from (Kinship(sibling, "sibling_in_law_of", other, "marriage") for sibling in siblings(one))
        yield from (Kinship(a, "sibling_of", b, "blood") for a, b in combinations(couple.children, 2))
        for parent, child in product(couple.partners, couple.children):
            yield Kinship(parent, "parent_of", child, "blood")
            for grandparent in parents(parent):
                yield Kinship(grandparent, "grandparent_of", child, "blood")
                for elder in parents(grandparent):
                    yield Kinship(elder, "great_grandparent_of", child, "blood")
            for uncle in siblings(parent):
                yield Kinship(uncle, "uncle_or_aunt_of", child, "blood")
                if uncle in spouse:
                    yield Kinship(spouse[uncle], "uncle_or_aunt_of", child, "marriage")
                # Each pair of cousins occurs from both sides.
                cousins = (cousin for cousin in children.get(uncle, []) if child < cousin)
                yield from (Kinship(child, "cousin_of", cousin, "blood") for cousin in cousins)


def hold_out_kinship(
    kinship: Sequence[Kinship], share: float, mix: float | None, spare: Counter[str], rng: np.random.Generator
) -> list[Kinship]:
    """Choose the kinship to hold out; `spare` counts how much of each relation train can spare, and is reduced."""
    free = [kin for kin in kinship if kin.relation not in BASE]
    wanted = round(share * len(free))
    quota = Counter({"any": wanted})
    if mix is not None:
        quota = Counter({"blood": wanted - round(mix * wanted), "marriage": round(mix * wanted)})
        there = Counter(kin.pathway for kin in free)
        if not quota <= there:
            raise OptionError(
                f"Argument 'test_mix' must not need more kinship than the test families have ({there['blood']:,} by "
                f"blood, {there['marriage']:,} by marriage), got {mix!r}, which needs {quota['blood']:,} by blood "
                f"and {quota['marriage']:,} by marriage. Make 'test' smaller."
            )
    chosen = []
    for at in rng.permutation(len(free)).tolist():
        kin = free[at]
        pathway = "any" if mix is None else kin.pathway
        if quota[pathway] and spare[kin.relation]:
            quota[pathway] -= 1
            spare[kin.relation] -= 1
            chosen.append(kin)
    return chosen
