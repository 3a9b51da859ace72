"""Every method on every graph, learned once without a shift; judged on test as it is, and by groups of paths.

The graph is not shifted and only the test facts are grouped, as in the paper, so one model serves several tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stablerule.datasets import load
from stablerule.extending import join_options
from stablerule_lab.experiments.by_graph import table_by_graph
from stablerule_lab.experiments.experiment import Experiment, Options
from stablerule_lab.experiments.group_tables import PAPER_NAMES
from stablerule_lab.experiments.printed import COMPLETION, SECONDS_ON_FB15K_237, cited_graph, whose_print
from stablerule_lab.experiments.process import run_apart
from stablerule_lab.experiments.variants import Variant, learn_and_judge
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule_lab.experiments.cells import Cell

STORE = "methods"
SMALL = ("kinship", "umls", "family")
LARGE = ("wn18rr", "fb15k-237", "yago3-10-quarter")
MINUTES, LARGE_MINUTES = 15.0, 60.0
# Those that send messages along all edges for every query take longer than that on a graph of this size.
OTHER_MINUTES = {("nbfnet", "family"): 60.0, ("astarnet", "family"): 60.0}
# Of the quarter of a graph there is nothing in print to hold them against.
OTHER_MINUTES |= {(name, "yago3-10-quarter"): 20.0 for name in ("transe", "distmult", "complex", "rotate", "rnnlogic")}
# On the large ones they, and those that spread along all relations in every step, are far from done in any budget.
DEAR = ("nbfnet", "astarnet", "neural-lp", "drum", "compgcn")
DEAR_MINUTES = {"wn18rr": 30.0, "fb15k-237": 20.0, "yago3-10-quarter": 20.0}

FAITHFUL = "ncrl faithful"  # NCRL as published
# As the paper adds rules up: the score of a rule times its paths, chains only.
COUNT = {"aggregation": "count", "by": "score", "constants": False}

# In the order of the tables, where nothing else orders them.
LEARNERS = (
    *("stablerule", "tabular", "ncrl", "rlogic", "rnnlogic", "neural-lp", "drum"),
    *("transe", "distmult", "complex", "rotate", "compgcn", "nbfnet", "astarnet", "popularity"),
)
METHODS: dict[str, Variant] = {name: Variant(name) for name in LEARNERS} | {
    "stablerule count": Variant("stablerule", COUNT),
    # With the rate of its publication all of its steps are needed: 3,000 of almost a second.
    FAITHFUL: Variant("ncrl", {"variant": "faithful", "training.size": 512}, minutes=120.0),
}
# What can be taken away from StableRule: the paper's three, and more.
TAKEN_AWAY: dict[str, dict[str, Any]] = {
    "nodecor": {"decorrelation": None},
    "firstmoment": {"decorrelation.moment_order": 1},
    "noback": {"mining.backtracking": False},
    "rff": {"decorrelation.features": "rff"},
    "random weights": {"decorrelation.random": True},
}
# Near the print: the network alone scores, bodies begin at length 2, and rules are added up. Here a scorer must show.
# Learning and its weights are ours all the same.
BARE = COUNT | {"training.smoothing": None, "mining.min_length": 2, "rules_per_relation": 200}
ABLATED: dict[str, Variant] = {
    **{name: Variant("stablerule", options) for name, options in TAKEN_AWAY.items()},
    "no length 1": Variant("stablerule", {"mining.min_length": 2}),
    "network alone": Variant("stablerule", {"training.smoothing": None}),
    "no constants": Variant("stablerule", {"constants": False}),
    "bare": Variant("stablerule", BARE),
    **{f"bare {name}": Variant("stablerule", join_options(BARE, some)) for name, some in TAKEN_AWAY.items()},
    "bare no identity": Variant("stablerule", BARE, by_walks="ordered"),
    "bare by walks": Variant("stablerule", BARE, by_walks="tied"),
}
# The paper's settings: its sizes, rates and steps, its weights, walks, and nothing of ours among tied answers. It has
# no budget for measuring rules; this one is that of the first cells, so that all cells have the same.
BUDGET: dict[str, Any] = {"mining.measure_budget": 1e9}
RECIPE = Variant("stablerule", BUDGET, by_walks="tied", as_printed=True, minutes=120.0)
RECIPES = {
    "full recipe": RECIPE,
    "full recipe nodecor": replace(RECIPE, options=BUDGET | TAKEN_AWAY["nodecor"]),
    "full recipe random weights": replace(RECIPE, options=BUDGET | TAKEN_AWAY["random weights"]),
}
ABLATED |= RECIPES

# Why some cells are not run unless their methods are asked for.
SAME_LEARNER = "ncrl has been run; as published it takes 15 minutes on the smallest graph"
NO_EPOCH = "20 minutes are less than an epoch on fb15k-237, and this graph is no smaller"
LEFT_OUT: dict[tuple[str, str], str] = {("yago3-10-quarter", name): NO_EPOCH for name in ("nbfnet", "astarnet")}
LEFT_OUT |= {(graph, FAITHFUL): SAME_LEARNER for graph in LARGE}
HOURS = "the planned training time is 2.6 hours on wn18rr, 33 and 48 on the others"
NONE_PRINTED = "the paper has no settings for it"
LEFT_OUT |= {
    (graph, name): HOURS if graph in LARGE else NONE_PRINTED for graph in (*LARGE, "geography") for name in RECIPES
}
LEFT_OUT["kinship", "full recipe random weights"] = "42 minutes; learned weights gain nothing there to explain"

# Cells of a minute or two of one core are run with all seeds, others with one: on which graphs, by learner.
QUICK_GRAPHS = (*SMALL, "wn18rr", "geography")
QUICK: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("stablerule", "tabular", "ncrl", "rlogic", "popularity"), QUICK_GRAPHS),
    **dict.fromkeys(("rnnlogic", "neural-lp"), SMALL),
    "drum": ("umls", "family"),
    **dict.fromkeys(("transe", "distmult", "complex", "rotate", "compgcn"), ("kinship", "umls")),
}


def is_cheap(graph: str, method: str) -> bool:
    """Tell whether a method takes a minute or two on a graph. What has a budget of its own takes long everywhere.

    >>> is_cheap("umls", "complex"), is_cheap("wn18rr", "complex"), is_cheap("umls", "full recipe")
    (True, False, False)
    """
    variant = (METHODS | ABLATED)[method]
    return variant.minutes is None and graph in QUICK.get(variant.learner, ())


def minutes_for(method: str, graph: str) -> float:
    """Return the budget of a method on a graph.

    >>> minutes_for("rotate", "umls"), minutes_for("nbfnet", "family"), minutes_for("drum", "wn18rr")
    (15.0, 60.0, 30.0)
    """
    usual = (DEAR_MINUTES[graph] if method in DEAR else LARGE_MINUTES) if graph in LARGE else MINUTES
    return OTHER_MINUTES.get((method, graph), usual)


def made_with(cell: Cell) -> dict[str, Any]:
    """Say what a result depends on beside its cell: the learner, its settings and its budget."""
    variant, graph = (METHODS | ABLATED)[str(cell["method"])], str(cell["graph"])
    return {
        "learner": variant.learner,
        "settings": variant.settings(graph),
        "minutes": variant.minutes or minutes_for(variant.learner, graph),
    }


def run_cell(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn and judge in a process of its own."""
    return run_apart(judge, cell, cache)


def judge(cell: Cell, cache: Path) -> dict[str, Any]:
    """Learn with the settings for this graph, within the budget, and judge on test."""
    graph, variant = str(cell["graph"]), (METHODS | ABLATED)[str(cell["method"])]
    dataset = load(graph)
    return learn_and_judge(cell, variant, graph, made_with(cell)["minutes"], dataset, dataset, cache)


ENDED_BY = {"itself": "finished", "patience": "early stopping", "epochs": "all epochs", "minutes": "time budget"}
HEADINGS = (
    "method",
    "MRR",
    "95% interval",
    "Hits@1",
    "Hits@10",
    "MRR, optimistic ties",
    "printed",
    "training, s",
    "printed, s",
    "ranking, s",
    "cores",
    "peak, GB",
    "seed",
    "ended by",
    "settings",
)


def summarise(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each cell."""
    return [one["cell"] | one["result"] for one in results]


def tables(rows: list[dict[str, Any]], own: Options) -> list[Table]:
    """Return the seconds of training, then a table for each graph, the best method first.

    Each method with its first seed; `completion` has all seeds.
    """
    made = seconds_by_graph(rows)
    for graph in dict.fromkeys(row["graph"] for row in rows):
        first: dict[str, dict[str, Any]] = {}
        for row in sorted((row for row in rows if row["graph"] == graph), key=lambda row: row["seed"]):
            first.setdefault(row["method"], row)
        some = sorted(first.values(), key=lambda row: (-row["whole"]["realistic"]["mrr"], row["method"]))
        made.append(Table(graph + whose_print(graph), HEADINGS, tuple(_line(row) for row in some)).without_empty())
    return made


def seconds_by_graph(rows: list[dict[str, Any]]) -> list[Table]:
    """Return one table: the seconds that each method trains on each graph, marked if the time budget ended it."""
    cells = {}
    for row in sorted(rows, key=lambda row: -row["seed"]):
        cells[row["method"], row["graph"]] = f"{row['seconds']['learn']:,.0f}{'*' * (row['ended_by'] == 'minutes')}"
    return table_by_graph("Seconds of training by graph", cells, tuple(METHODS))


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    realistic, optimistic = row["whole"]["realistic"], row["whole"]["optimistic"]
    figures = (realistic["hits@1"], realistic["hits@10"], optimistic["mrr"])
    low, high = row["interval"]
    seconds = [f"{row['seconds'][name]:.0f}" for name in ("learn", "rank")]
    return (
        row["method"],
        f"{realistic['mrr']:.3f}",
        f"{low:.3f}-{high:.3f}",
        *(f"{value:.3f}" for value in figures),
        _cited(row["graph"], row["method"]),
        seconds[0],
        _cited_seconds(row["graph"], row["method"]),
        seconds[1],
        str(row["cores"]),
        f"{row['peak_gb']:.1f}",
        str(row["seed"]),
        _ended(row),
        ", ".join(f"{name}={value}" for name, value in row["settings"].items()) or "defaults",
    )


def _cited(graph: str, method: str) -> str:
    """What the paper prints for it, if it does."""
    printed = COMPLETION.get(cited_graph(graph), {}).get(PAPER_NAMES.get(method, method))
    return f"{printed.mrr / 100:.3f}" if printed else ""


def _cited_seconds(graph: str, method: str) -> str:
    """What the paper prints for learners of rules on one graph, on a server with GPUs."""
    seconds = SECONDS_ON_FB15K_237.get(method) if graph == "fb15k-237" else None
    return "" if seconds is None else f"{seconds:,}"


def _ended(row: dict[str, Any]) -> str:
    """Write how training ended, with the epoch if the time budget ended it."""
    if row["ended_by"] == "minutes":
        return f"{row['minutes']:g} minutes" + (f", epoch {row['epochs']}" if row["epochs"] else "")
    return ENDED_BY[row["ended_by"]]


METHODS_COMPARED = Experiment(
    name="methods",
    store=STORE,
    about="every method with its settings, on graphs as they are: accuracy, seconds, memory",
    needs=f"up to {MINUTES:g} minutes a cell, {LARGE_MINUTES:g} on large graphs",
    graphs=SMALL,
    more_graphs=(*LARGE, "geography"),
    methods=tuple(METHODS),
    seeds=(0,),
    run=run_cell,
    made_with=made_with,
    left_out=LEFT_OUT,
    summarise=summarise,
    tables=tables,
)
