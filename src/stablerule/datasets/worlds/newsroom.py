"""The world `newsroom`: journalists and footballers, whose employers follow from different paths."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import count
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from stablerule.datasets.arguments import check_choice, check_count, check_number
from stablerule.datasets.worlds.making import GROUPINGS, Fact, World, WorldFacts, make_world_generator, pick_world_item
from stablerule.errors import OptionError
from stablerule.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

RULES = {
    "footballer": (
        Rule.parse("works_for(X, Y) <- plays_in(X, A), squad_of(A, Y)"),
        Rule.parse("works_for(X, Y) <- trained_by(X, A), manages(A, Y)"),
        Rule.parse("works_for(X, Y) <- scored(X, A), scored_for(A, B), squad_of(B, Y)"),
    ),
    "journalist": (
        Rule.parse("works_for(X, Y) <- writes_column(X, A), column_of(A, Y)"),
        Rule.parse("works_for(X, Y) <- reports_to(X, A), edits(A, Y)"),
        Rule.parse("works_for(X, Y) <- writes_story(X, A), printed_in(A, B), issue_of(B, Y)"),
    ),
}
DECOYS = ("lives_in", "interviewed_by", "fan_of")
EMPLOYER = {"footballer": "club", "journalist": "newspaper"}
# The parts of each employer: the relation to it, the kind of part, and how many.
PARTS = {
    "club": (("squad_of", "squad", 2), ("manages", "trainer", 2)),
    "newspaper": (("column_of", "column", 3), ("edits", "editor", 2), ("issue_of", "issue", 4)),
}
ITEMS = {"scored": "goal", "writes_story": "story"}


class NewsroomPerson(NamedTuple):
    """A person with an employer, and the split of this fact."""

    name: str
    kind: str
    number: int  # of the employer
    split: str

    @property
    def employer(self) -> str:
        """The name of the club or newspaper."""
        return f"{EMPLOYER[self.kind]}_{self.number}"


def newsroom(
    *,
    people: int = 500,
    employers: int = 10,
    train_mix: float = 0.2,
    test_mix: float = 0.8,
    density: float = 3.0,
    test_density: float | None = None,
    spurious: float = 0.8,
    missing: float = 0.0,
    noise: float = 0.0,
    valid: float = 0.1,
    test: float = 0.2,
    group_by: str = "pathway",
    seed: int | np.random.Generator = 0,
) -> World:
    """Make a world with mostly journalists in training and mostly footballers in the test.

    Each person works for one newspaper or club, and has at least one path to it, by one of the three rules of their
    kind. Decoys agree with the employer only for one kind of people: journalists live where their newspaper is
    published and are interviewed by colleagues, footballers are fans of their own club. For the other kind, these
    relations are unrelated to the employer. So a decoy that is a good rule under one mix is a bad one under another,
    while the true rules are correct for everyone.

    Rules that follow from the true ones (colleagues share an employer) are also correct, but not listed.

    Arguments:
        people: number of people with an employer.
        employers: number of newspapers, and of clubs.
        train_mix: share of footballers in the training and validation facts.
        test_mix: share of footballers in test (a pathway shift if it differs).
        density: mean number of facts about a person besides the first path and the employer, half of them decoys.
        test_density: the same for people in test (a density shift if it differs); None is no difference.
        spurious: how often a decoy agrees with the employer, for the kind of people that it fits.
        missing: share of true training facts to remove.
        noise: number of wrong training facts to add, as a share of the true ones.
        valid: share of people whose employer is a validation fact.
        test: share of people whose employer is in test.
        group_by: the groups of the test facts: by "pathway" ("footballer" or "journalist"), or by "density" ("sparse"
            with at most as many facts in train as the median training person, otherwise "dense").
        seed: a number, or a numpy Generator.

    >>> world = newsroom(people=50, train_mix=0.2, test_mix=0.8)
    >>> Counter(world.groups)
    Counter({'footballer': 8, 'journalist': 2})
    >>> for rule in world.rules[3:]:
    ...     print(rule)
    works_for(X, Y) <- writes_column(X, A), column_of(A, Y)
    works_for(X, Y) <- reports_to(X, A), edits(A, Y)
    works_for(X, Y) <- writes_story(X, A), printed_in(A, B), issue_of(B, Y)
    """
    check_count("people", people, least=1)
    check_count("employers", employers, least=2)
    shares = {"train_mix": train_mix, "test_mix": test_mix, "spurious": spurious, "missing": missing, "noise": noise}
    for argument, share in {**shares, "valid": valid, "test": test}.items():
        check_number(argument, share, least=0, most=1)
    test_density = density if test_density is None else test_density
    for argument, mean in {"density": density, "test_density": test_density}.items():
        check_number(argument, mean, least=0, most=1000)
    check_choice("group_by", group_by, GROUPINGS)
    rng = make_world_generator(seed)

    sizes = {"valid": round(valid * people), "test": round(test * people)}
    sizes["train"] = people - sum(sizes.values())
    if sizes["train"] < 1:
        must = f"leave at least one of {people:,} people to learn from"
        raise OptionError(f"Arguments 'valid' and 'test' must {must}, got {valid!r} and {test!r}.")
    staff = hire_newsroom_staff(sizes, {"train": train_mix, "valid": train_mix, "test": test_mix}, employers, rng)
    office = NewsroomOffice.of(staff, employers, spurious, rng)
    facts = list(describe_newsroom_employers(employers))
    for person in staff:
        extra = rng.poisson(test_density if person.split == "test" else density)
        facts += office.describe(person, int(extra))
    work = {s: [(p.name, "works_for", p.employer) for p in staff if p.split == s] for s in ("train", "valid", "test")}
    known = list(dict.fromkeys(facts)) + work["train"]
    spoiled = WorldFacts(known, work["valid"], work["test"]).spoil(missing, noise, rng)
    groups = (
        [p.kind for p in staff if p.split == "test"]
        if group_by == "pathway"
        else label_newsroom_densities(spoiled, staff)
    )
    return World.from_facts("newsroom", spoiled, [rule for kind in RULES.values() for rule in kind], groups)


def hire_newsroom_staff(
    sizes: dict[str, int], mix: dict[str, float], employers: int, rng: np.random.Generator
) -> list[NewsroomPerson]:
    """Assign each person a kind, an employer and a split, in random order."""
    roles: list[tuple[str, str]] = []
    for split, size in sizes.items():
        footballers = round(mix[split] * size)
        roles += [("footballer", split)] * footballers + [("journalist", split)] * (size - footballers)
    numbers = {kind: count(1) for kind in RULES}
    staff = []
    for at in rng.permutation(len(roles)).tolist():
        kind, split = roles[at]
        name = f"{kind}_{next(numbers[kind])}"
        staff.append(NewsroomPerson(name, kind, int(rng.integers(1, employers + 1)), split))
    return staff


def describe_newsroom_employers(employers: int) -> Iterator[Fact]:
    """Yield the parts of each club and newspaper, and where newspapers are published."""
    for number in range(1, employers + 1):
        for employer, parts in PARTS.items():
            for relation, part, how_many in parts:
                for nth in range(1, how_many + 1):
                    yield f"{part}_{number}_{nth}", relation, f"{employer}_{number}"
        yield f"newspaper_{number}", "published_in", f"city_{number}"


class NewsroomOffice(NamedTuple):
    """The state for making facts about people."""

    journalists: dict[int, list[str]]  # by employer; 0 for all
    employers: int
    spurious: float
    serial: Iterator[int]
    rng: np.random.Generator

    @classmethod
    def of(
        cls, staff: Sequence[NewsroomPerson], employers: int, spurious: float, rng: np.random.Generator
    ) -> NewsroomOffice:
        """Prepare the journalists of each employer."""
        journalists: defaultdict[int, list[str]] = defaultdict(list)
        for person in (person for person in staff if person.kind == "journalist"):
            journalists[0].append(person.name)
            journalists[person.number].append(person.name)
        return cls(journalists, employers, spurious, count(1), rng)

    def describe(self, person: NewsroomPerson, extra: int) -> Iterator[Fact]:
        """Yield one path from which the employer follows, and `extra` further ones, half of them decoys."""
        yield from self.ground(person, pick_world_item(RULES[person.kind], self.rng))
        for _ in range(extra):
            if self.rng.random() < 0.5:
                yield from self.ground(person, pick_world_item(RULES[person.kind], self.rng))
            else:
                yield from self.mislead(person, pick_world_item(DECOYS, self.rng))

    def ground(self, person: NewsroomPerson, rule: Rule) -> Iterator[Fact]:
        """Yield facts that, with those about the employer, are one grounding of a rule."""
        parts = PARTS[EMPLOYER[person.kind]]
        part, how_many = next((part, how_many) for relation, part, how_many in parts if relation == rule.body[-1])
        here = person.name
        for relation in rule.body[:-2]:
            there = f"{ITEMS[relation]}_{next(self.serial)}"
            yield here, relation, there
            here = there
        yield here, rule.body[-2], f"{part}_{person.number}_{self.rng.integers(1, how_many + 1)}"

    def mislead(self, person: NewsroomPerson, decoy: str) -> Iterator[Fact]:
        """Yield a decoy, which often agrees with the employer for one kind of people, and by chance for the other."""
        fits = person.kind == ("footballer" if decoy == "fan_of" else "journalist")
        agrees = fits and self.rng.random() < self.spurious
        if decoy == "interviewed_by":
            others = self.journalists.get(person.number if agrees else 0, [])
            if (asking := pick_world_item(others, self.rng) if others else person.name) != person.name:
                yield person.name, decoy, asking
        else:
            number = person.number if agrees else self.rng.integers(1, self.employers + 1)
            yield person.name, decoy, f"{'club' if decoy == 'fan_of' else 'city'}_{number}"


def label_newsroom_densities(facts: WorldFacts, staff: Sequence[NewsroomPerson]) -> list[str]:
    """Label the people of the test by their number of facts in train."""
    said = Counter(head for head, relation, _ in facts.train if relation != "works_for")
    usual = median(said[person.name] for person in staff if person.split == "train")
    return ["sparse" if said[p.name] <= usual else "dense" for p in staff if p.split == "test"]
