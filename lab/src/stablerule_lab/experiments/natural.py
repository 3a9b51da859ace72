"""One relation under a natural shift, the paper's Figure 4: who wrote a paper, by the author's country."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule.datasets import load
from stablerule.errors import InputError
from stablerule.extending import average_metrics, average_metrics_by_kind, compute_metrics, read_only
from stablerule.graph import INVERSE, Graph, Triples
from stablerule.io import read_dataset
from stablerule_lab.experiments.bibliography import WROTE, Bibliography, read_bibliography
from stablerule_lab.experiments.cells import grouped
from stablerule_lab.experiments.covered_bodies import coverage_figure, coverage_table, covered_bodies
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.methods import DEAR, ENDED_BY, FAITHFUL, METHODS, SAME_LEARNER
from stablerule_lab.experiments.process import peak_memory, run_apart
from stablerule_lab.experiments.variants import FIGURES, FORMS, costs, learn
from stablerule_lab.pages.plots import legend_below, new_figure, series
from stablerule_lab.pages.results_page import Drawing
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.extending import Reasoner
    from stablerule.graph import Dataset
    from stablerule_lab.experiments.cells import Cell

GRAPH = "acl-biblio"
OWN, FOLDER_OF_OWN = "aminer", "STABLERULE_AMINER"  # a folder from `stablerule data aminer --country-facts`
MINUTES = 15.0
NOT_TRIED = "not tried on a graph of this size"
LEFT_OUT = {(OWN, name): NOT_TRIED for name in DEAR}
LEFT_OUT |= {(graph, FAITHFUL): SAME_LEARNER for graph in (GRAPH, OWN)}
QUICK = ("stablerule", "tabular", "ncrl", "rlogic", "rnnlogic", "popularity")  # learners that take a minute or two


def is_cheap(graph: str, method: str) -> bool:
    """Tell whether a method takes a minute or two; a user's own bibliography may have any size.

    >>> is_cheap("acl-biblio", "stablerule count"), is_cheap("acl-biblio", "complex"), is_cheap("aminer", "tabular")
    (True, False, False)
    """
    return graph == GRAPH and METHODS[method].learner in QUICK


def made_with(cell: Cell) -> dict[str, Any]:
    """Return what a result depends on besides its cell: the learner, its settings and its time budget."""
    variant = METHODS[str(cell["method"])]
    return {"learner": variant.learner, "settings": variant.settings(str(cell["graph"])), "minutes": MINUTES}


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Run `evaluate_cell` in a separate process."""
    return run_apart(evaluate_cell, cell, cache)


def evaluate_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Train on the bibliography without countries, and rank the authors of each paper."""
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
            f"Set {FOLDER_OF_OWN} to the folder of your bibliography, made with `stablerule data aminer DUMP -o FOLDER "
            "--country-facts`."
        )
    return replace(read_dataset(folder), name=OWN)


def ask_for_authors(model: Reasoner, read: Bibliography) -> dict[str, Any]:
    """Rank the author of each test paper, (paper, ~wrote, ?), and return the figures by country."""
    dataset = read.dataset
    known = Graph.build(dataset.everything, dataset.vocabulary, f"{dataset.name}, all splits")
    ranks = model.rank(turned(dataset), graph=dataset.graph, known=known)
    told: dict[str, Any] = {"whole": {}, "groups": {name: {} for name in read.groups.names}}
    for form in FORMS:
        values = compute_metrics(ranks.form(form))
        whole = average_metrics(values, ranks.covered)
        told["whole"][form] = {name: whole[name] for name in FIGURES}
        for name, row in average_metrics_by_kind(read.groups.labels, read.groups.names, values, ranks.covered).items():
            told["groups"][name] |= {"n": row.n, form: {metric: row[metric] for metric in FIGURES}}
    return told | {"coverage": float(ranks.covered.mean())}


def turned(dataset: Dataset) -> Triples:
    """Return the test facts from paper to author, (paper, ~wrote, author)."""
    facts, words = dataset.test, dataset.vocabulary
    relation = words.relation_id(INVERSE + WROTE)
    return Triples(read_only(np.stack([facts.tails, np.full_like(facts.heads, relation), facts.heads], axis=1)))


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each method: the MRR by country, and its mean, deviation and worst.

    Figures are means over seeds. over_seeds: the deviation of the mean over countries from seed to seed. The coverage
    of bodies and the end of training are those of the first seed.
    """
    rows = []
    for (graph, method), ran in grouped(results, "graph", "method").items():
        runs = [one["result"] for one in ran]
        names = list(runs[0]["groups"])
        called = [country_name(name) for name in names]
        found = np.array([[run["groups"][name]["realistic"]["mrr"] for name in names] for run in runs])
        mrr = found.mean(0)
        rows.append(
            {"graph": graph, "method": method, "seeds": len(runs)}
            | {"countries": dict(zip(called, mrr.tolist(), strict=True))}
            | {"mean": float(mrr.mean()), "deviation": float(found.std(1).mean()), "worst": called[int(mrr.argmin())]}
            | {"over_seeds": float(found.mean(1).std(ddof=1)) if len(runs) > 1 else None}
            | {"queries": {short: runs[0]["groups"][name]["n"] for short, name in zip(called, names, strict=True)}}
            | {"optimistic": float(np.mean([run["whole"]["optimistic"]["mrr"] for run in runs]))}
            | {"seconds": float(np.mean([run["seconds"]["learn"] + run["seconds"]["rank"] for run in runs]))}
            | {"ended_by": runs[0]["ended_by"]}
            | {"coverage_of_bodies": [c | {"group": country_name(c["group"])} for c in runs[0]["coverage_of_bodies"]]}
        )
    return rows


def country_name(entity: str) -> str:
    """Return the readable name of a country.

    >>> country_name("country/united_states")
    'United States'
    """
    return entity.rsplit("/", maxsplit=1)[-1].replace("_", " ").title()


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return results by country, and for each rule learner the coverage of its best bodies."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = sorted((row for row in rows if row["graph"] == graph), key=lambda row: (-row["mean"], row["method"]))
        countries = list(some[0]["countries"])
        headings = ("method", "seeds", *countries, "mean", "worst", "all, optimistic ties", "seconds", "ended by")
        lines = tuple(_line(row) for row in some)
        made.append(Table(f"{graph}: MRR of the author", (*headings, "± over seeds"), lines).without_empty())
        made += [
            coverage_table(
                f"{graph}: authors that a body of {row['method']} links to the paper",
                row["coverage_of_bodies"],
                countries,
            )
            for row in some
            if row["coverage_of_bodies"]
        ]
    return made


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    figures = (f"{mrr:.3f}" for mrr in row["countries"].values())
    mean = f"{row['mean']:.3f} ± {row['deviation']:.3f}"
    rest = (row["worst"], f"{row['optimistic']:.3f}", f"{row['seconds']:.0f}", ENDED_BY[row["ended_by"]])
    over_seeds = "" if row["over_seeds"] is None else f"{row['over_seeds']:.4f}"
    return (row["method"], str(row["seeds"]), *figures, mean, *rest, over_seeds)


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw the coverage of bodies and the results, by country."""
    drawn = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        here = sorted((row for row in rows if row["graph"] == graph), key=lambda row: row["mean"])
        with_rules = [row for row in here if row["coverage_of_bodies"]]
        if with_rules:
            best = with_rules[-1]
            caption = (
                f"The share of a country's authors that the bodies of the best rules of {best['method']} link to their "
                "papers."
            )
            rules, countries = best["coverage_of_bodies"], list(best["countries"])
            drawn.append(coverage_figure(f"coverage-{graph}", caption, rules, countries))
        drawn.append(_drawn_results(here))
    return drawn


def _drawn_results(rows: list[dict[str, Any]]) -> Drawing:
    figure, (panel,) = new_figure(width=6, height=1.2 + 0.25 * len(rows))
    for i, country in enumerate(rows[0]["countries"]):
        figures_here = [row["countries"][country] for row in rows]
        panel.plot(figures_here, range(len(rows)), **series(i, line=False), label=country)
    panel.set(xlabel="MRR of the author, realistic")
    panel.set_yticks(range(len(rows)), [row["method"] for row in rows])
    panel.margins(y=0.15)
    legend_below(figure, panel, 3)
    caption = f"Who wrote a paper of {rows[0]['graph']}: MRR by the country of the author."
    return Drawing(f"countries-{rows[0]['graph']}", caption, figure)


NATURAL_SHIFT = Experiment(
    name="natural",
    store="natural",
    about="Who wrote a paper, by the author's country (Figure 4)?",
    needs=f"up to {MINUTES:g} minutes a cell and 6 GB; for {OWN}, your folder in {FOLDER_OF_OWN}",
    graphs=(GRAPH,),
    more_graphs=(OWN,),
    methods=tuple(METHODS),
    seeds=(0, 1, 2, 3, 4),
    is_cheap=is_cheap,
    run=run_cell,
    made_with=made_with,
    left_out=LEFT_OUT,
    summarise=summarise,
    tables=tables,
    figures=figures,
)
