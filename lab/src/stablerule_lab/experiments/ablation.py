"""The ablation, the paper's Table 7: StableRule without one of its parts, evaluated like all methods."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from stablerule_lab.experiments.by_graph import mrr_cell, percent, table_by_graph
from stablerule_lab.experiments.differences import change
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.group_figure import group_figure
from stablerule_lab.experiments.group_tables import by_seed, group_tables, summarise_groups
from stablerule_lab.experiments.methods import ABLATED, LARGE, LEFT_OUT, SMALL, STORE, is_cheap, made_with, run_cell
from stablerule_lab.experiments.printed import ABLATION, COMPLETION, cited_graph, whose_print
from stablerule_lab.experiments.variants import FORMS
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = "stablerule"
WHOLES = ("full recipe", "bare")  # the base of the variants that begin with these; StableRule is the base of all others
TIED = ("bare by walks", "full recipe", "full recipe nodecor")  # variants that leave unreached entities tied
METHODS = (OURS, *ABLATED, "tabular")
# The printed figures are shown beside the nearest variants.
PAPER_NAMES = dict.fromkeys(METHODS, "") | {
    "bare": "stablerule",
    "bare nodecor": "nodecor",
    "bare firstmoment": "firstmoment",
    "bare noback": "noback",
    "full recipe": "stablerule",
    "full recipe nodecor": "nodecor",
}
HEADINGS = (
    "method",
    "against",
    "seeds",
    "change of MRR",
    "95% over seeds",
    "change in %",
    "printed change in %",
)


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return the changes on all graphs, then all figures and changes of each graph."""
    align = own["align"]
    return [
        *changes_by_graph(rows, align),
        *ties_by_graph(rows, align),
        *group_tables(rows, align, ABLATION, names=PAPER_NAMES),
        *differences(rows, align),
    ]


def changes_by_graph(rows: list[dict[str, Any]], align: str) -> list[Table]:
    """Return one table: the relative change of the MRR with each variant, on each graph."""
    cells = {}
    for row, whole in _with_whole(rows):
        found = change(by_seed(row, align), by_seed(whole, align))
        if found is not None:
            cells[row["method"], row["graph"]] = percent(found)
    return table_by_graph("Change of the MRR by graph", cells, METHODS)


def ties_by_graph(rows: list[dict[str, Any]], align: str) -> list[Table]:
    """Return one table: the MRR of the same ranks under two tie policies, for variants with many ties."""
    cells = {}
    for row in rows:
        for ties in FORMS if row["method"] in TIED else ():
            mean = row[align][ties]["mrr"]["mean"]
            cells[f"{row['method']}, {ties} ties", row["graph"]] = mrr_cell(mean, len(row["seeds"]))
        if row["method"] == TIED[0] and (cited := COMPLETION.get(cited_graph(row["graph"]), {}).get(OURS)):
            cells["printed", row["graph"]] = f"{cited.mrr / 100:.3f}"
    order = [f"{method}, {ties} ties" for method in TIED for ties in FORMS]
    return table_by_graph("MRR under two tie policies, by graph", cells, order)


def differences(rows: list[dict[str, Any]], align: str) -> list[Table]:
    """Return a table for each graph: the difference of the MRR to the base, paired by seed."""
    lines: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row, whole in _with_whole(rows):
        lines[row["graph"]] += _difference(row, whole, align)
    return [
        Table(f"{graph}: change of the MRR{whose_print(graph)}", HEADINGS, tuple(some)).without_empty()
        for graph, some in lines.items()
        if some
    ]


def _with_whole(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each variant with its base on the same graph."""
    there = {(row["graph"], row["method"]): row for row in rows}
    for (graph, method), row in there.items():
        whole = next((name for name in WHOLES if method.startswith(name)), OURS)
        if method != whole and (graph, whole) in there:
            yield row, there[graph, whole]


def _difference(row: dict[str, Any], whole: dict[str, Any], align: str) -> list[tuple[str, ...]]:
    """Return a line, or none if the two share no seed."""
    found = change(by_seed(row, align), by_seed(whole, align))
    if found is None:
        return []
    interval = "" if found.interval is None else "{:+.4f} to {:+.4f}".format(*found.interval)
    return [
        (
            row["method"],
            whole["method"],
            str(found.seeds),
            f"{found.difference:+.4f}",
            interval,
            f"{found.share:+.2%}",
            _printed_difference(row["graph"], row["method"], whole["method"]),
        )
    ]


def _printed_difference(graph: str, method: str, whole: str) -> str:
    """Return the printed relative change."""
    cited = ABLATION.get(cited_graph(graph), {})
    own, other = (cited.get(PAPER_NAMES[name]) for name in (method, whole))
    if own is None or other is None:
        return ""
    return f"{own.mrr / other.mrr - 1:+.2%}"


TAKEN_APART = Experiment(
    name="ablation",
    store=STORE,
    about="What does each part of StableRule contribute (Table 7)?",
    needs="10 to 60 s a cell, minutes on large graphs, up to 45 minutes for `full recipe`",
    graphs=(*SMALL, *LARGE),
    more_graphs=("geography",),
    methods=METHODS,
    seeds=(0, 1, 2, 3, 4),
    options={"align": "density"},
    run=run_cell,
    made_with=made_with,
    left_out=LEFT_OUT,
    is_cheap=is_cheap,
    summarise=summarise_groups,
    tables=tables,
    figures=lambda rows, own: group_figure(rows, own["align"]),
)
