"""Claims of the paper: the print and our runs go through the same counts."""

from typing import Any

import pytest

from stablerule_lab.experiments.claims import (
    MESSAGES,
    NONE_COUNTED,
    NOT_RUN,
    RULES,
    Figure,
    Said,
    against_ncrl,
    ahead,
    ahead_on_versions,
    blanked,
    calmer,
    calmer_batches,
    claims_tables,
    gained,
    higher,
    lost,
    more_general,
    of_groups,
    of_print,
    of_whole,
    steadier,
    wider,
)
from stablerule_lab.experiments.printed import COMPLETION, Printed
from stablerule_lab.experiments.training import BATCHES


def group_row(graph: str, method: str, mean: float, deviation: float = 0.0, *, cut: bool = False) -> dict[str, Any]:
    return {
        "graph": graph,
        "method": method,
        "seeds": [3],
        "cut": cut,
        "density": {"realistic": {"mrr": {"mean": mean, "deviation": 9.0, "by_seed": [mean]}}},
        "arbitrary": {"realistic": {"mrr": {"mean": 9.0, "deviation": deviation}}},
    }


def test_a_printed_figure_is_a_share_and_a_missing_deviation_is_none() -> None:
    found = of_print({"umls": {"ncrl": Printed(74.73, 0, 0, deviation=(3.98, 0, 0)), "drum": Printed(60.0, 0, 0)}})
    assert found["umls"]["ncrl"].mrr == pytest.approx(0.7473)
    assert found["umls"]["ncrl"].deviation == pytest.approx(0.0398)
    assert found["umls"]["drum"].deviation == 0


def test_groups_give_the_mean_by_density_and_the_deviation_of_clusters_as_they_come() -> None:
    rows = [group_row("yago3-10-quarter", "drum", 0.4, 0.03), group_row("wn18rr-inductive", "drum", 0.5, 0.1)]
    assert of_groups(rows) == {
        "yago3-10": {"drum": Figure(0.4, 0.03, {3: 0.4})},
        "wn18rr": {"drum": Figure(0.5, 0.1, {3: 0.5})},
    }


def test_without_a_shift_only_the_graphs_of_the_paper_count() -> None:
    rows = [
        {"graph": graph, "method": "drum", "realistic": {"mrr": 0.3}}
        for graph in ("umls", "fb15k-237", "yago3-10-quarter")
    ]
    assert of_whole(rows) == {"fb15k-237": {"drum": Figure(0.3)}, "yago3-10": {"drum": Figure(0.3)}}


def test_behind_is_told_with_its_sign_and_a_tie_is_not_ahead() -> None:
    figures = {
        "umls": {"stablerule": Figure(0.5), "ncrl": Figure(0.55), "rotate": Figure(0.9)},
        "family": {"stablerule": Figure(0.5), "drum": Figure(0.5)},
        "kinship": {"ncrl": Figure(0.5)},
        "wn18rr": {"stablerule": Figure(0.5), "rotate": Figure(0.4)},
    }
    assert ahead(figures, RULES) == {"umls": Said("-.050 ncrl", holds=False), "family": Said("+.000 drum", holds=False)}


def test_steadier_names_the_steadiest_other() -> None:
    figures = {"umls": {"stablerule": Figure(0, 0.01), "drum": Figure(0, 0.02), "ncrl": Figure(0, 0.03)}}
    assert steadier(figures, RULES) == {"umls": Said(".010, drum .020", holds=True)}
    assert steadier(figures, ("ncrl",)) == {"umls": Said(".010, ncrl .030", holds=True)}
    assert steadier(figures, ("rlogic",)) == {}


def test_calmer_takes_means_and_needs_both_kinds() -> None:
    figures = {
        "umls": {"transe": Figure(0, 0.01), "rotate": Figure(0, 0.03), "drum": Figure(0, 0.02)},
        "family": {"transe": Figure(0, 0.01)},
    }
    assert calmer(figures) == {"umls": Said(".020, rules .020", holds=False)}


def test_higher_takes_means() -> None:
    figures = {"umls": {"transe": Figure(0.9), "rotate": Figure(0.7), "drum": Figure(0.75)}}
    assert higher(figures) == {"umls": Said(".800, rules .750", holds=True)}


def test_a_graph_that_the_claim_leaves_out_is_shown_and_not_counted() -> None:
    _, table = claims_tables(lambda name: [])
    (line,) = [row for row in table.rows if row[0].endswith("except on WN18RR")]
    told = dict(zip(table.headings, line, strict=True))
    assert (told["holds"], told["wn18rr"]) == ("5 of 5", "-.029 nbfnet")


@pytest.mark.parametrize(
    ("experiment", "graph", "other", "claim"),
    [
        ("completion", "fb15k-237", "nbfnet", "except on WN18RR"),
        ("inductive", "wn18rr-inductive", "astarnet", "graph networks on unseen entities"),
    ],
)
def test_a_graph_where_others_had_no_time_is_shown_and_not_counted_here(
    experiment: str, graph: str, other: str, claim: str
) -> None:
    def rows_of(name: str) -> list[dict[str, Any]]:
        return [group_row(graph, one, mean, 0.1) for one, mean in found] if name == experiment else []

    found = [("stablerule", 0.5), (other, 0.4)]
    _, table = claims_tables(rows_of)
    at = [row[0].endswith(claim) for row in table.rows].index(True)
    told = dict(zip(table.headings, table.rows[at + 1], strict=True))
    column = graph.removesuffix("-inductive").removesuffix("-quarter")
    assert (told["holds"], told[column]) == (NONE_COUNTED, f"+.100 {other}")


def test_on_versions_of_a_graph_others_that_were_cut_short_do_not_count() -> None:
    rows = [
        group_row("wn18rr_v1", "stablerule", 0.7),
        group_row("wn18rr_v1", "nbfnet", 0.8, cut=True),
        group_row("wn18rr_v1", "astarnet", 0.6),
        group_row("wn18rr_v2", "stablerule", 0.7),
        group_row("wn18rr_v2", "nbfnet", 0.75),
        group_row("wn18rr_v3", "stablerule", 0.7),
        group_row("wn18rr_v3", "nbfnet", 0.1, cut=True),
        group_row("fb237_v4", "stablerule", 0.5),
        group_row("fb237_v4", "nbfnet", 0.4),
        group_row("fb15k-237-inductive", "stablerule", 0.1),
        group_row("fb15k-237-inductive", "nbfnet", 0.4),
    ]
    assert ahead_on_versions(rows, MESSAGES) == {
        "wn18rr": Said("1 of 2 splits", holds=False),
        "fb15k-237": Said("1 of 1 splits", holds=True),
    }
    assert ahead_on_versions(rows[-2:], MESSAGES) == {}


def test_a_lead_on_new_entities_needs_one_on_known_ones() -> None:
    new = {"umls": {"stablerule": Figure(0.5), "ncrl": Figure(0.5)}}
    known = {"umls": {"stablerule": Figure(0.5), "drum": Figure(0.4)}}
    assert wider(new, known) == {"umls": Said("+.000, Table 3 +.100", holds=False)}
    assert wider(new, {"umls": {"stablerule": Figure(0.5)}}) == {}
    assert wider({"umls": {"ncrl": Figure(0.5)}}, known) == {}


def test_lost_is_a_share_of_its_own_whole() -> None:
    figures = {"umls": {"bare": Figure(0.5), "bare noback": Figure(0.51), "stablerule": Figure(0.8)}}
    assert lost(figures, "noback", "bare") == {"umls": Said("+2.0%", holds=False)}
    assert lost(figures, "noback") == {}


def test_what_is_taken_away_is_compared_by_the_seeds_of_both() -> None:
    whole = Figure(0.9, by_seed={0: 0.5, 1: 0.6, 2: 1.6})
    figures = {"umls": {"stablerule": whole, "nodecor": Figure(0.6, by_seed={0: 0.45, 3: 0.75})}}
    assert lost(figures, "nodecor") == {"umls": Said("-10.0%", holds=True)}
    none_shared = {"umls": {"stablerule": whole, "nodecor": Figure(0.6, by_seed={3: 0.75})}}
    assert lost(none_shared, "nodecor") == {}


def test_several_seeds_give_the_half_of_an_interval() -> None:
    figures = {"umls": {"a": Figure(0.5, by_seed={0: 0.52, 1: 0.54}), "b": Figure(0.5, by_seed={0: 0.5, 1: 0.5})}}
    # The differences .02 and .04: a mean of .03 and, by Student's t with one degree of freedom, 12.706 * .01.
    assert gained(figures, "a", "b") == {"umls": Said("+6.0% ± 25.4%", holds=True, clear=False)}
    assert gained(figures, "b", "a") == {"umls": Said("-5.7% ± 24.0%", holds=False, clear=False)}


def test_more_general_counts_by_graph() -> None:
    rows = [
        {"graph": "family", "method": method, "kind": kind}
        for method, kind in (("stablerule", "general"), ("stablerule", "one group"), ("ncrl", "some groups"))
    ]
    assert more_general(rows) == {"family": Said("1 of 2, ncrl 0", holds=True)}


def test_batches_of_two_sizes_are_needed() -> None:
    def row(graph: str, method: str, moved: float) -> dict[str, Any]:
        return {"graph": graph, "method": method, "fluctuation": moved}

    small, large = BATCHES
    rows = [
        row("umls", small, 0.2),
        row("umls", large, 0.05),
        row("family", small, 0.1),
        row("umls", "stablerule", 1.0),
    ]
    assert calmer_batches(rows) == {"umls": Said(".050, small .200", holds=True)}
    assert not calmer_batches([row("umls", small, 0.1), row("umls", large, 0.1)])["umls"].holds


def test_blank_is_half_or_less() -> None:
    def row(graph: str, after: float) -> dict[str, Any]:
        found = {"ours": {"mean_before": 0.2, "mean_after": after}}
        return {"graph": graph, "method": "stablerule", "correlations": found}

    rows = [row("umls", 0.1), row("family", 0.11), {"graph": "umls", "method": "lengths in turn"}]
    assert blanked(rows, "ours") == {
        "umls": Said(".200 to .100", holds=True),
        "family": Said(".200 to .110", holds=False),
    }


def test_seconds_need_both_learners() -> None:
    assert against_ncrl({"stablerule": 10}) == {}
    assert not against_ncrl({"stablerule": 1000, "ncrl": 445})["fb15k-237"].holds


def test_before_any_run_the_print_stands_alone() -> None:
    _, table = claims_tables(lambda name: [])
    assert table.headings[-len(COMPLETION) :] == tuple(COMPLETION)
    holds = table.headings.index("holds")
    assert {row[holds] for row in table.rows if row[1] != "printed"} == {NOT_RUN}
    assert ("Table 3: ahead of other rule learners", "6 of 6") in {(row[0], row[holds]) for row in table.rows}


def test_runs_fill_their_columns() -> None:
    rows = {"completion": [group_row("umls", "stablerule", 0.9, 0.1), group_row("umls", "ncrl", 0.8, 0.2)]}
    _, table = claims_tables(lambda name: rows.get(name, []))
    ours = dict(zip(table.headings, table.rows[1], strict=True))
    assert (ours["umls"], ours["family"], ours["holds"]) == ("+.100 ncrl", "", "1 of 1")


def test_intervals_over_seeds_without_0_are_counted_for_and_against() -> None:
    def seeded(graph: str, method: str, *by_seed: float) -> dict[str, Any]:
        row = group_row(graph, method, sum(by_seed) / len(by_seed))
        row["seeds"] = list(range(len(by_seed)))
        row["density"]["realistic"]["mrr"]["by_seed"] = list(by_seed)
        return row

    rows = [
        *(seeded("umls", "stablerule", 0.50, 0.51, 0.52), seeded("umls", "ncrl", 0.40, 0.41, 0.42)),  # ahead
        *(seeded("family", "stablerule", 0.50, 0.51, 0.52), seeded("family", "ncrl", 0.60, 0.61, 0.62)),  # behind
        *(seeded("kinship", "stablerule", 0.5, 0.4, 0.6), seeded("kinship", "ncrl", 0.4, 0.6, 0.4)),  # who knows
        *(seeded("wn18rr", "stablerule", 0.5), seeded("wn18rr", "ncrl", 0.4)),  # one seed
    ]
    counts, _ = claims_tables(lambda name: rows if name == "completion" else [])
    line = dict(zip(counts.headings, counts.rows[0], strict=True))
    assert (line["printed"], line["here"]) == ("6 of 6", "3 of 4")
    assert line["intervals without 0"] == "1 for, 1 against, of 3"
