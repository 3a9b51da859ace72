"""Who wrote a paper? A bibliography as a graph, and the countries of its authors, which make groups and no edges."""

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
    """The graph without countries; its test asks about authors of the countries with the most papers.

    groups: the country of the author of each test fact.
    """

    dataset: Dataset
    groups: Grouping


def read_bibliography(everything: Dataset, countries: int = COUNTRIES) -> Bibliography:
    """Take the countries out of the graph, and keep the test facts whose author is of one with the most papers.

    Countries were inferred from authorship, so a graph that has them says something about the answers.
    """
    words = everything.vocabulary
    for name in (WROTE, COUNTRY):
        if name not in words.relations:
            raise InputError(f"Dataset {everything.name!r} has no relation {name!r}: it is no bibliography.")
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
    """(E,): the country of each author, -1 where it is not known; the first by name where there are several."""
    facts = everything.everything
    own = facts.take(facts.relations == relation)
    found = np.full(len(everything.vocabulary.entities), -1, np.int64)
    order = np.argsort(-own.tails, kind="stable")  # ids stand in the order of names: the first comes last, and stays
    found[own.heads[order]] = own.tails[order]
    return found
