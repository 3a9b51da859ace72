"""Tables of cells evaluated by groups of paths: mean, deviation and worst group, beside the paper's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stablerule_lab.experiments.by_graph import mrr_cell, table_by_graph
from stablerule_lab.experiments.cells import grouped
from stablerule_lab.experiments.path_groups import ALIGNMENTS
from stablerule_lab.experiments.printed import cited_graph, whose_print
from stablerule_lab.experiments.variants import FORMS
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stablerule_lab.experiments.experiment import Options
    from stablerule_lab.experiments.printed import Printed

METRICS = ("mrr", "hits@1", "hits@10")
HEADINGS = (
    "method",
    "seeds",
    "MRR",
    "± by chance",
    "± other numbering",
    "worst group",
    "Hits@1",
    "Hits@10",
    "MRR, optimistic ties",
    "MRR, tails only",
    "printed MRR",
    "printed Hits@1",
    "printed Hits@10",
    "± over seeds",
)
# Several of our rows have the same row of the paper.
PAPER_NAMES = {"stablerule count": "stablerule", "ncrl faithful": "ncrl"}


def summarise_groups(results: list[dict[str, Any]], own: Options) -> list[dict[str, Any]]:
    """Return a row for each graph and method.

    For each alignment of the clusters and each tie policy:
    mean, worst: over groups, after averaging each group over seeds. deviation: over groups for each seed, averaged over
        seeds. by_chance: the deviation of random groups of the same sizes. groups: the figure of each group.
    by_seed: the mean over groups of each seed. over_seeds: its deviation.
    tails: the MRR of queries for tails. cut: whether the time budget ended any run.
    """
    rows = []
    for (graph, method), runs in grouped(results, "graph", "method").items():
        row: dict[str, Any] = {"graph": graph, "method": method, "seeds": [run["cell"]["seed"] for run in runs]}
        row["tails"] = mrr_of_tails([run["result"] for run in runs])
        row["cut"] = any(run["result"].get("ended_by") == "minutes" for run in runs)
        for align in ALIGNMENTS:
            found = [run["result"]["groups"][align] for run in runs]
            sizes = {name: group["n"] for name, group in found[0]["groups"].items()}
            row[align] = {form: _over_groups(found, form) for form in FORMS} | {"queries": sizes}
        rows.append(row)
    return rows


def mrr_of_tails(runs: list[dict[str, Any]]) -> float | None:
    """Return the mean over runs, or None if one of them did not separate the directions."""
    told = [run["directions"]["tail"]["mrr"] for run in runs if "directions" in run]
    return float(np.mean(told)) if len(told) == len(runs) else None


def by_seed(row: dict[str, Any], align: str) -> dict[int, float]:
    """Return the mean MRR over groups of each seed, with realistic ties."""
    return dict(zip(row["seeds"], row[align]["realistic"]["mrr"]["by_seed"], strict=True))


def _over_groups(found: list[dict[str, Any]], form: str) -> dict[str, Any]:
    """Summarise the groups of all seeds."""
    names = list(found[0]["groups"])
    told: dict[str, Any] = {"by_chance": float(np.mean([one["by_chance"][form] for one in found]))}
    for metric in METRICS:
        values = np.array([[one["groups"][name][form][metric] for name in names] for one in found])  # (seeds, groups)
        of_group = values.mean(0)
        worst = int(of_group.argmin())
        told[metric] = {
            "mean": float(of_group.mean()),
            "deviation": float(values.std(1).mean()),
            "worst": float(of_group[worst]),
            "worst_group": names[worst],
            "groups": dict(zip(names, of_group.tolist(), strict=True)),
            "by_seed": values.mean(1).tolist(),
            "over_seeds": float(values.mean(1).std(ddof=1)) if len(found) > 1 else None,
        }
    return told


def mrr_by_graph(
    rows: list[dict[str, Any]],
    align: str,
    printed: Mapping[str, Mapping[str, Printed]],
    methods: tuple[str, ...],
) -> list[Table]:
    """Return one table: the mean MRR over groups of each method and graph, beside the paper's."""
    cells = {}
    for row in rows:
        cited = printed.get(cited_graph(row["graph"]), {}).get(PAPER_NAMES.get(row["method"], row["method"]))
        mean = row[align]["realistic"]["mrr"]["mean"]
        cells[row["method"], row["graph"]] = mrr_cell(mean, len(row["seeds"]), cited)
    return table_by_graph("MRR by graph", cells, methods)


def group_tables(
    rows: list[dict[str, Any]],
    align: str,
    printed: Mapping[str, Mapping[str, Printed]],
    names: Mapping[str, str] = PAPER_NAMES,
) -> list[Table]:
    """Return a table for each graph, the best mean first.

    printed: the paper's figures, by graph and method; names: the paper's names of our methods, where they differ.
    """
    made = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        some = [row for row in rows if row["graph"] == graph]
        some.sort(key=lambda row: (-row[align]["realistic"]["mrr"]["mean"], row["method"]))
        cited = printed.get(cited_graph(graph), {})
        lines = [_line(row, align, cited.get(names.get(row["method"], row["method"]))) for row in some]
        title = _title(graph, some[0][align]["queries"]) + (whose_print(graph) if cited else "")
        made.append(Table(title, HEADINGS, tuple(lines)).without_empty())
    return made


def _title(graph: str, queries: Mapping[str, int]) -> str:
    """Return the graph's name with the size of its groups."""
    fewest, most = min(queries.values()), max(queries.values())
    size = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{graph}, {len(queries)} groups of {size} queries"


def _other(align: str) -> str:
    return next(name for name in ALIGNMENTS if name != align)


def _line(row: dict[str, Any], align: str, printed: Printed | None) -> tuple[str, ...]:
    realistic, optimistic = row[align]["realistic"], row[align]["optimistic"]
    mrr = realistic["mrr"]
    return (
        row["method"],
        str(len(row["seeds"])),
        _spread(mrr),
        f"{realistic['by_chance']:.3f}",
        f"{row[_other(align)]['realistic']['mrr']['deviation']:.3f}",
        f"{mrr['worst']:.3f}, {mrr['worst_group']}",
        _spread(realistic["hits@1"]),
        _spread(realistic["hits@10"]),
        _spread(optimistic["mrr"]),
        f"{row['tails']:.3f}" if row["tails"] is not None else "",
        *_as_printed(printed),
        f"{mrr['over_seeds']:.4f}" if mrr["over_seeds"] is not None else "",
    )


def _spread(found: Mapping[str, float]) -> str:
    return f"{found['mean']:.3f} ± {found['deviation']:.3f}"


def _as_printed(found: Printed | None) -> tuple[str, ...]:
    if found is None:
        return ("", "", "")
    means = found[:3]
    if found.deviation is None:
        return tuple(f"{mean / 100:.3f}" for mean in means)
    return tuple(f"{mean / 100:.3f} ± {d / 100:.3f}" for mean, d in zip(means, found.deviation, strict=True))
