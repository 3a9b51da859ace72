"""A bibliography as a graph, with the countries of its authors as groups, not as edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import InputError
from stablerule.extending import narrow_to_split
from stablerule.shifts import Grouping

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Dataset

WROTE, COUNTRY = "wrote", "author_country"
COUNTRIES = 5


@dataclass(frozen=True)
class Bibliography:
    """The graph without countries; its test facts are about authors from the countries with the most papers.

    groups: the country of the author of each test fact.
    """

    dataset: Dataset
    groups: Grouping


def read_bibliography(everything: Dataset, countries: int = COUNTRIES) -> Bibliography:
    """Remove the countries from the graph, and keep the test facts with authors from the most frequent ones.

    Countries were inferred from authorship, so they would reveal answers.
    """
    words = everything.vocabulary
    for name in (WROTE, COUNTRY):
        if name not in words.relations:
            raise InputError(f"Dataset {everything.name!r} has no relation {name!r}, so it is not a bibliography.")
    wrote, country = words.relation_id(WROTE), words.relation_id(COUNTRY)
    country_of = _countries(everything, country)
    papers = everything.train.take(everything.train.relations == wrote)
    volume = np.bincount(country_of[papers.heads][country_of[papers.heads] >= 0], minlength=len(words.entities))
    most = np.argsort(-volume, kind="stable")[:countries]
    most = most[volume[most] > 0]
    asked = everything.test.take(everything.test.relations == wrote).distinct()
    asked = asked.take(np.isin(country_of[asked.heads], most))
    if not len(asked):
        raise InputError(f"No test fact of {WROTE!r} in dataset {everything.name!r} has an author with a country.")
    valid = everything.valid.take(everything.valid.relations == wrote)
    train = everything.train.take(everything.train.relations != country)
    places = {int(entity): place for place, entity in enumerate(most)}
    labels = np.array([places[int(entity)] for entity in country_of[asked.heads]], np.int64)
    names = tuple(words.entities.names_of(most.astype(np.int32)).to_list())
    return Bibliography(
        narrow_to_split(everything, everything.name, train, valid, asked), Grouping("country", names, labels)
    )


def _countries(everything: Dataset, relation: int) -> NDArray[np.int64]:
    """Return the country of each author (E,), -1 if unknown; the first by name of several."""
    facts = everything.everything
    own = facts.take(facts.relations == relation)
    found = np.full(len(everything.vocabulary.entities), -1, np.int64)
    order = np.argsort(-own.tails, kind="stable")  # ids are in the order of names; the first name is written last
    found[own.heads[order]] = own.tails[order]
    return found
