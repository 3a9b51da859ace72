"""The spec of one relation under a natural shift, the paper's figure 4."""

from __future__ import annotations

from typing import Any

import numpy as np

from stablerule.experiments.cells import grouped
from stablerule.experiments.covered_bodies_figure import coverage_figure, coverage_table
from stablerule.experiments.experiment import Experiment, Options
from stablerule.experiments.methods import METHODS
from stablerule.experiments.natural import (
    FOLDER_OF_OWN,
    GRAPH,
    LEFT_OUT,
    MINUTES,
    OWN,
    is_cheap,
    made_with,
    run_cell,
)
from stablerule.reports.plots import legend_below, new_figure, series
from stablerule.reports.results_page import Drawing
from stablerule.reports.tables import Table


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each method: MRR by country, and its mean, deviation and worst over countries.

    Figures of countries are means over seeds. The deviation is that of each seed, averaged; over_seeds is the deviation
    of the mean over countries from seed to seed. Bodies and how learning ended are those of the first seed.
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
    """Return the name of a country, for people.

    >>> country_name("country/united_states")
    'United States'
    """
    return entity.rsplit("/", maxsplit=1)[-1].replace("_", " ").title()


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return results by country, and for each learner of rules how often its best bodies link authors to papers."""
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = sorted((row for row in rows if row["graph"] == graph), key=lambda row: (-row["mean"], row["method"]))
        countries = list(some[0]["countries"])
        headings = ("method", "seeds", *countries, "mean", "worst", "MRR of all, kind ties", "seconds", "ended by")
        lines = tuple(_line(row) for row in some)
        made.append(Table(f"{graph}: MRR of the author", (*headings, "over seeds"), lines).without_empty())
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
    rest = (row["worst"], f"{row['optimistic']:.3f}", f"{row['seconds']:.0f}", str(row["ended_by"]))
    over_seeds = "" if row["over_seeds"] is None else f"± {row['over_seeds']:.4f}"
    return (row["method"], str(row["seeds"]), *figures, mean, *rest, over_seeds)


def figures(rows: list[dict[str, Any]], own: Options) -> list[Drawing]:
    """Draw how often bodies link authors to papers, by country, and the results by country."""
    drawn = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        here = sorted((row for row in rows if row["graph"] == graph), key=lambda row: row["mean"])
        with_rules = [row for row in here if row["coverage_of_bodies"]]
        if with_rules:
            best = with_rules[-1]
            caption = (
                f"How often the bodies of the best rules of {best['method']} link the authors of a country to their "
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
    about="who wrote a paper, by the country of the author, with the coverage of bodies (figure 4)",
    needs=f"up to {MINUTES:g} minutes a cell and 6 GB; {OWN}: a folder of yours, which {FOLDER_OF_OWN} names",
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
