"""What cells judged by groups say together, beside the paper's figures, and one against another."""

from __future__ import annotations

from typing import Any

import pytest

from stablerule_lab.experiments import ablation, methods, no_shift
from stablerule_lab.experiments.group_tables import group_tables, summarise_groups
from stablerule_lab.experiments.inductive import ON_NEW_ENTITIES
from stablerule_lab.experiments.printed import COMPLETION


def figures(mrr: float) -> dict[str, float]:
    return {"mrr": mrr, "hits@1": mrr / 2, "hits@10": 1.0}


def cell(graph: str, method: str, seed: int, by_group: tuple[float, ...]) -> dict[str, Any]:
    """A result with these figures in its groups."""
    groups = {
        f"paths {i}": {"n": 10, "realistic": figures(mrr), "optimistic": figures(mrr)} for i, mrr in enumerate(by_group)
    }
    told = {"groups": groups, "by_chance": {"realistic": 0.01, "optimistic": 0.01}}
    whole = sum(by_group) / len(by_group)
    return {
        "cell": {"graph": graph, "method": method, "seed": seed},
        "result": {
            "groups": {"density": told, "arbitrary": told},
            "whole": {form: figures(whole) for form in ("realistic", "optimistic")},
            "interval": [whole - 0.1, whole + 0.1],
            "seconds": {"learn": 1.0, "rank": 1.0},
            "directions": {"tail": figures(whole + 0.1), "head": figures(whole - 0.1)},
            "coverage": 1.0,
            "cores": 2,
            "peak_gb": 0.1,
            "ended_by": "itself",
            "settings": {},
        },
    }


def test_means_are_over_groups_then_seeds() -> None:
    (row,) = summarise_groups([cell("umls", "ncrl", 0, (0.2, 0.4)), cell("umls", "ncrl", 3, (0.4, 0.4))], {})
    mrr = row["density"]["realistic"]["mrr"]
    assert row["seeds"] == [0, 3]
    assert mrr["by_seed"] == pytest.approx([0.3, 0.4])
    assert mrr["mean"] == pytest.approx(0.35)
    assert mrr["deviation"] == pytest.approx(0.05)  # 0.1 and 0
    assert (mrr["worst"], mrr["worst_group"]) == (pytest.approx(0.3), "paths 0")


def test_a_run_that_did_not_part_directions_leaves_a_gap() -> None:
    old = cell("umls", "ncrl", 0, (0.2, 0.4))
    del old["result"]["directions"]
    rows = summarise_groups([old, cell("wn18rr", "ncrl", 0, (0.2, 0.4))], {})
    assert [row["tails"] for row in rows] == [None, pytest.approx(0.4)]
    without, told = group_tables(rows, "density", COMPLETION)
    assert "MRR, tails only" not in without.headings
    assert "MRR, tails only" in told.headings


def test_what_is_printed_for_a_whole_graph_is_not_said_of_its_quarter() -> None:
    rows = summarise_groups([cell(graph, "ncrl", 0, (0.2, 0.4)) for graph in ("wn18rr", "yago3-10-quarter")], {})
    whole, part = group_tables(rows, "density", COMPLETION)
    assert whole.title == "wn18rr, 2 groups of 10 queries"
    assert part.title == "yago3-10-quarter, 2 groups of 10 queries; printed: for the whole of yago3-10"
    column = part.headings.index("printed MRR")
    assert part.rows[0][column] == "0.383 ± 0.049"
    assert part.rows[0][part.headings.index("MRR, tails only")] == "0.400"
    unshifted = no_shift.summarise([cell("yago3-10-quarter", "ncrl", 0, (0.2, 0.4))], {})
    overview, table = no_shift.tables(unshifted, {})
    assert overview.rows == (("ncrl", "0.300¹ (0.383)"),)
    assert table.title == "yago3-10-quarter; printed: for the whole of yago3-10"
    assert table.rows[0][table.headings.index("printed MRR")] == "0.383"


def test_what_is_taken_away_is_compared_seed_by_seed() -> None:
    results = [
        cell("fb15k-237", "stablerule", 0, (0.5, 0.5)),
        cell("fb15k-237", "nodecor", 0, (0.4, 0.4)),
        cell("fb15k-237", "bare", 0, (0.4, 0.6)),
        cell("fb15k-237", "bare", 1, (0.3, 0.3)),
        cell("fb15k-237", "bare nodecor", 0, (0.4, 0.4)),
        cell("fb15k-237", "bare nodecor", 1, (0.3, 0.3)),
        cell("fb15k-237", "bare nodecor", 2, (0.9, 0.9)),  # nothing to compare it with
        cell("fb15k-237", "bare noback", 7, (0.9, 0.9)),
    ]
    (table,) = ablation.differences(summarise_groups(results, {}), "density")
    assert table.title == "fb15k-237: change of the MRR"
    ours, bare = table.rows
    assert ours == ("nodecor", "stablerule", "1", "-0.1000", "", "-20.00%", "")
    assert bare[:4] == ("bare nodecor", "bare", "2", "-0.0500")
    assert bare[4] == "-0.6853 to +0.5853"  # by a t of one degree of freedom
    assert bare[5:] == ("-12.50%", "-5.47%")


def test_nothing_is_compared_with_what_is_not_there() -> None:
    rows = summarise_groups([cell("umls", "nodecor", 0, (0.5, 0.5))], {})
    assert ablation.differences(rows, "density") == []


def test_methods_are_shown_with_their_first_seed() -> None:
    results = [cell("umls", "ncrl", 2, (0.5,)), cell("umls", "ncrl", 1, (0.3,)), cell("umls", "rlogic", 4, (0.4,))]
    overview, table = methods.tables(methods.summarise(results, {}), {})
    assert overview.rows == (("ncrl", "1"), ("rlogic", "1"))
    seed = table.headings.index("seed")
    assert [(row[0], row[1], row[seed]) for row in table.rows] == [("rlogic", "0.400", "4"), ("ncrl", "0.300", "1")]


def test_versions_stand_side_by_side_and_what_was_not_run_is_empty() -> None:
    ran = [("wn18rr_v1", "drum"), ("wn18rr_v3", "tabular"), ("geography-inductive", "drum")]
    rows = summarise_groups([cell(graph, method, 0, (0.4, 0.6)) for graph, method in ran], {})
    partitions, overview, *others = ON_NEW_ENTITIES.tables(rows, {"align": "density"})
    assert partitions.rows == (("drum", "0.500¹"),)
    assert overview.title == "MRR on GraIL's splits of wn18rr"
    assert overview.headings == ("method", "wn18rr_v1", "wn18rr_v3")
    assert set(overview.rows) == {("drum", "0.500 ± 0.100", ""), ("tabular", "", "0.500 ± 0.100")}
    assert len(others) == len(rows)  # no version of the other graph was run
