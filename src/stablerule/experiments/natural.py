"""One relation under a natural shift, the paper's figure 4: who wrote a paper, by the country of the author."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.errors import InputError
from stablerule.evaluation.metrics import by_kind, metric_values, overall
from stablerule.experiments.apart import peak_memory, run_apart
from stablerule.experiments.bibliography import WROTE, Bibliography, read_bibliography
from stablerule.experiments.covered_bodies import covered_bodies
from stablerule.experiments.judging import FIGURES, FORMS, costs, learn
from stablerule.experiments.methods import DEAR, FAITHFUL, METHODS, SAME_LEARNER
from stablerule.graph import INVERSE, Graph, Triples
from stablerule.graph.triples import read_only
from stablerule.io import read_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.experiments.cells import Cell
    from stablerule.graph import Dataset
    from stablerule.reasoning import Reasoner

GRAPH = "acl-biblio"
OWN, FOLDER_OF_OWN = "aminer", "STABLERULE_AMINER"  # a folder that `stablerule data aminer --country-facts` wrote
MINUTES = 15.0
NOT_TRIED = "it was not tried on a graph of this size"
LEFT_OUT = {(OWN, name): NOT_TRIED for name in DEAR}
LEFT_OUT |= {(graph, FAITHFUL): SAME_LEARNER for graph in (GRAPH, OWN)}
QUICK = ("stablerule", "tabular", "ncrl", "rlogic", "rnnlogic", "popularity")  # learners that take a minute or two


def is_cheap(graph: str, method: str) -> bool:
    """Tell whether a method takes a minute or two. How large a user's own bibliography is nobody knows.

    >>> is_cheap("acl-biblio", "stablerule count"), is_cheap("acl-biblio", "complex"), is_cheap("aminer", "tabular")
    (True, False, False)
    """
    return graph == GRAPH and METHODS[method].learner in QUICK


def made_with(cell: Cell) -> dict[str, Any]:
    """Say what a result depends on beside its cell: the learner, its settings and its budget."""
    variant = METHODS[str(cell["method"])]
    return {"learner": variant.learner, "settings": variant.settings(str(cell["graph"])), "minutes": MINUTES}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn and judge in a process of its own."""
    return run_apart(judge, cell, cache)


def judge(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn from the bibliography without countries, and ask who wrote each paper."""
    read, variant = read_bibliography(everything_of(str(cell["graph"]))), METHODS[str(cell["method"])]
    graph = str(cell["graph"])
    began = time.perf_counter()
    model = learn(cell, variant, graph, MINUTES, read.dataset)
    learned = time.perf_counter()
    found = ask_for_authors(model, read)
    return {
        **found,
        **costs(model, learned - began, time.perf_counter() - learned, peak_memory()),
        **{name: made_with(cell)[name] for name in ("settings", "minutes")},
        "coverage_of_bodies": covered_bodies(
            model, turned(read.dataset), read.groups, read.dataset.graph, relation=INVERSE + WROTE
        ),
        "data": read.dataset.sha256,
    }


def everything_of(name: str) -> Dataset:
    """Return the bibliography of the catalog, or the user's own."""
    if name != OWN:
        return load(name)
    folder = os.environ.get(FOLDER_OF_OWN)
    if not folder:
        raise InputError(
            f"Say where your bibliography is, with {FOLDER_OF_OWN}: a folder that `stablerule data aminer DUMP -o "
            "FOLDER --country-facts` wrote."
        )
    return replace(read_dataset(folder), name=OWN)


def ask_for_authors(model: Reasoner, read: Bibliography) -> dict[str, Any]:
    """Rank the author of each paper of test, (paper, ~wrote, ?), and tell the figures by country."""
    dataset = read.dataset
    known = Graph.build(dataset.everything, dataset.vocabulary, f"{dataset.name}, all splits")
    ranks = model.rank(turned(dataset), graph=dataset.graph, known=known)
    told: dict[str, Any] = {"whole": {}, "groups": {name: {} for name in read.groups.names}}
    for form in FORMS:
        values = metric_values(ranks.form(form))
        whole = overall(values, ranks.covered)
        told["whole"][form] = {name: whole[name] for name in FIGURES}
        for name, row in by_kind(read.groups.labels, read.groups.names, values, ranks.covered).items():
            told["groups"][name] |= {"n": row.n, form: {metric: row[metric] for metric in FIGURES}}
    return told | {"coverage": float(ranks.covered.mean())}


def turned(dataset: Dataset) -> Triples:
    """The test facts from paper to author, (paper, ~wrote, author)."""
    facts, words = dataset.test, dataset.vocabulary
    relation = words.relation_id(INVERSE + WROTE)
    return Triples(read_only(np.stack([facts.tails, np.full_like(facts.heads, relation), facts.heads], axis=1)))
