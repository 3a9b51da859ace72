"""The claims of the paper's sections 5 and 6, counted over its printed figures and over ours in the same way."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from stablerule_lab.experiments.by_graph import percent
from stablerule_lab.experiments.differences import change
from stablerule_lab.experiments.group_tables import by_seed
from stablerule_lab.experiments.inductive import ENDING, GRAIL, whole
from stablerule_lab.experiments.printed import (
    ABLATION,
    COMPLETION,
    INDUCTIVE,
    NO_SHIFT,
    SECONDS_ON_FB15K_237,
    cited_graph,
)
from stablerule_lab.experiments.training import BATCHES
from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from stablerule_lab.experiments.differences import Change
    from stablerule_lab.experiments.printed import Printed

HERE = "here"
CLAIMS = "claims"  # the name in documents, like an experiment's
OURS = "stablerule"
EMBEDDINGS = ("transe", "distmult", "complex", "rotate")
MESSAGES = ("compgcn", "nbfnet", "astarnet")
RULES = ("neural-lp", "drum", "rnnlogic", "rlogic", "ncrl")
NOT_RUN, NONE_COUNTED = "not run yet", "none counted"
LITTLE_MORE = 1.5  # times the seconds of another
BLANK = 0.5  # correlations count as blank at this share of their size or less
# Graphs where the time budget ended a kind of method long before it stopped to improve.
MESSAGES_CUT = ("fb15k-237", "yago3-10")
MESSAGES_CUT_ON_NEW = ("wn18rr", *MESSAGES_CUT)
EMBEDDINGS_CUT = ("yago3-10",)

Rows = list[dict[str, Any]]


class Figure(NamedTuple):
    """The MRR of a method on a graph, its deviation over groups, and the MRR of each seed, if known."""

    mrr: float
    deviation: float = 0.0
    by_seed: Mapping[int, float] = {}


class Said(NamedTuple):
    """A claim on one graph: the figures, whether it holds, and whether an interval over seeds leaves out 0."""

    text: str
    holds: bool
    clear: bool | None = None


Figures = dict[str, dict[str, Figure]]  # by graph and method
ByGraph = dict[str, Said]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: by graph, what it prints and what we found, and in which variant."""

    words: str
    printed: ByGraph
    found: ByGraph
    here: str = HERE
    but: tuple[str, ...] = ()  # graphs that the claim excludes: shown, not counted
    cut: tuple[str, ...] = ()  # graphs where the others had too little time: shown, not counted


def claims_tables(rows_of: Callable[[str], Rows]) -> list[Table]:
    """Return the counts of all claims, then the figures behind them, with a column for each graph.

    rows_of: the rows of an experiment, by its name.
    """
    counts, figures = [], []
    for claim in _claims(rows_of):
        printed, here = _count(claim.printed, claim.but), _count(claim.found, claim.but + claim.cut)
        run = claim.here.removeprefix(HERE).removeprefix(", ")
        clear = _count_clear(claim.found, claim.but + claim.cut)
        counts.append((claim.words, run, printed if claim.printed else "", here, clear))
        if claim.printed:
            figures.append((claim.words, "printed", printed, *_cells(claim.printed)))
        words = "" if claim.printed else claim.words
        figures.append((words, claim.here, here, *_cells(claim.found)))
    return [
        Table("Claims that hold", ("claim", "run", "printed", "here", "intervals without 0"), tuple(counts)),
        Table("Claims by graph", ("claim", "figures", "holds", *COMPLETION), tuple(figures)),
    ]


def _cells(by_graph: ByGraph) -> list[str]:
    return [by_graph[graph].text if graph in by_graph else "" for graph in COMPLETION]


def _count(by_graph: ByGraph, but: tuple[str, ...]) -> str:
    counted = [one.holds for graph, one in by_graph.items() if graph not in but]
    if by_graph and not counted:
        return NONE_COUNTED
    return f"{sum(counted)} of {len(counted)}" if counted else NOT_RUN


def _count_clear(by_graph: ByGraph, but: tuple[str, ...]) -> str:
    """Count the graphs whose interval over seeds leaves out 0, for and against the claim."""
    known = [one for graph, one in by_graph.items() if graph not in but and one.clear is not None]
    if not known:
        return ""
    both = [sum(bool(one.clear) and one.holds == holds for one in known) for holds in (True, False)]
    return f"{both[0]} for, {both[1]} against, of {len(known)}"


def _claims(rows_of: Callable[[str], Rows]) -> Iterator[Claim]:
    known = of_groups(rows_of("completion"))
    yield from _under_shift(known)
    printed, here = of_print(NO_SHIFT), of_whole(rows_of("no-shift"))
    yield Claim("Table 4: ahead of other rule learners without a shift", ahead(printed, RULES), ahead(here, RULES))
    yield from _on_new_entities(rows_of("inductive"), known)
    yield from _taken_away(of_groups(rows_of("ablation")))
    yield Claim("Tables 6, 8: more general rules than NCRL", {}, more_general(rows_of("rules")))
    rows = rows_of("training")
    yield Claim("Figure 5: larger batches fluctuate less", {}, calmer_batches(rows))
    yield Claim("Figure 6: weights halve the correlations", {}, blanked(rows, "as printed"), "here, paper's weights")
    yield Claim("", {}, blanked(rows, "ours"), "here, our weights")
    seconds = {row["method"]: row["seconds"]["learn"] for row in rows_of("methods") if row["graph"] == "fb15k-237"}
    words = "Section 6.5: little more time than NCRL"
    yield Claim(words, against_ncrl(SECONDS_ON_FB15K_237), against_ncrl(seconds))


def _under_shift(here: Figures) -> Iterator[Claim]:
    printed = of_print(COMPLETION)
    weaker, cut = ("transe", "distmult", "complex"), EMBEDDINGS_CUT
    yield Claim("Table 3: ahead of other rule learners", ahead(printed, RULES), ahead(here, RULES))
    yield Claim("not in the paper: ahead of counting (Tabular)", {}, ahead(here, ("tabular",)))
    yield Claim("Table 3: ahead of TransE, DistMult, ComplEx", ahead(printed, weaker), ahead(here, weaker), cut=cut)
    words = "Table 3: RotatE is the best embedding"
    yield Claim(words, ahead(printed, weaker, "rotate"), ahead(here, weaker, "rotate"), cut=cut)
    words, found = "Table 3: ahead of graph networks, except on WN18RR", ahead(here, MESSAGES)
    yield Claim(words, ahead(printed, MESSAGES), found, but=("wn18rr",), cut=MESSAGES_CUT)
    yield Claim("Table 3: embeddings are ahead of rules", higher(printed), higher(here), cut=cut)
    words = "Table 3: smaller deviation than all other rule learners"
    yield Claim(words, steadier(printed, RULES), steadier(here, RULES))
    yield Claim("Table 3: smaller deviation than NCRL", steadier(printed, ("ncrl",)), steadier(here, ("ncrl",)))
    yield Claim("Table 3: embeddings deviate less than rules", calmer(printed), calmer(here), cut=cut)


def _on_new_entities(rows: Rows, known: Figures) -> Iterator[Claim]:
    """Yield the claims about unseen entities, on our own partitions: the paper's are not public."""
    printed, here = of_print(INDUCTIVE), of_groups([row for row in rows if row["graph"].endswith(ENDING)])
    for kind, others, cut in (
        ("other rule learners", RULES, ()),
        ("graph networks", MESSAGES, MESSAGES_CUT_ON_NEW),
    ):
        words = f"Table 5: ahead of {kind} on unseen entities"
        yield Claim(words, ahead(printed, others), ahead(here, others), cut=cut)
    yield Claim("", {}, ahead_on_versions(rows, MESSAGES), "here, GraIL's splits")
    words = "Table 5: larger lead over rule learners than in Table 3"
    yield Claim(words, wider(printed, of_print(COMPLETION)), wider(here, known))


def _taken_away(here: Figures) -> Iterator[Claim]:
    printed = of_print(ABLATION)
    parts = {"nodecor": "without decorrelation", "firstmoment": "with first moments", "noback": "without backtracking"}
    for name, words in parts.items():
        yield Claim(f"Table 7: MRR falls {words}", lost(printed, name), lost(here, name, "bare"), "here, bare")
        if name == "nodecor":
            yield Claim("", {}, lost(here, name, "full recipe"), "here, paper's settings")
        yield Claim("", {}, lost(here, name))
    first, none = "firstmoment", "nodecor"
    bare = gained(here, f"bare {first}", f"bare {none}")
    yield Claim("Table 7: first moments ahead of no weights", gained(printed, first, none), bare, "here, bare")
    yield Claim("", {}, gained(here, first, none))


def of_print(table: Mapping[str, Mapping[str, Printed]]) -> Figures:
    """Return the figures of a printed table, as shares."""
    return {
        graph: {name: Figure(one.mrr / 100, (one.deviation or (0.0,))[0] / 100) for name, one in methods.items()}
        for graph, methods in table.items()
    }


def of_groups(rows: Rows) -> Figures:
    """Return the mean MRR over groups, and its deviation with arbitrarily numbered clusters."""
    found: Figures = defaultdict(dict)
    for row in rows:
        mean = row["density"]["realistic"]["mrr"]["mean"]
        deviation = row["arbitrary"]["realistic"]["mrr"]["deviation"]
        found[_column(row["graph"])][row["method"]] = Figure(mean, deviation, by_seed(row, "density"))
    return dict(found)


def of_whole(rows: Rows) -> Figures:
    """Return the MRR over all test facts, for the graphs of the paper's Table 4."""
    found: Figures = defaultdict(dict)
    for row in rows:
        if _column(row["graph"]) in NO_SHIFT:
            found[_column(row["graph"])][row["method"]] = Figure(row["realistic"]["mrr"])
    return dict(found)


def _column(graph: str) -> str:
    """Return the paper's graph of a column."""
    return cited_graph(graph.removesuffix(ENDING))


def ahead(figures: Figures, others: tuple[str, ...], own: str = OURS) -> ByGraph:
    """Return the lead of a method over the best of some others, with half of its interval over shared seeds.

    >>> ahead({"umls": {"stablerule": Figure(0.9), "ncrl": Figure(0.8), "drum": Figure(0.7)}}, RULES)
    {'umls': Said(text='+.100 ncrl', holds=True, clear=None)}
    >>> seeds = [Figure(sum(mrr) / 2, by_seed=dict(enumerate(mrr))) for mrr in ((0.52, 0.5), (0.4, 0.4))]
    >>> ahead({"umls": dict(zip(("stablerule", "ncrl"), seeds))}, RULES)
    {'umls': Said(text='+.110 ± .127 ncrl', holds=True, clear=False)}
    """
    leads = {graph: _lead(methods, others, own) for graph, methods in figures.items()}
    return {
        graph: Said(f"{_signed(lead.margin)}{lead.interval} {lead.best}", lead.margin > 0, lead.clear)
        for graph, lead in leads.items()
        if lead is not None
    }


def ahead_on_versions(rows: Rows, others: tuple[str, ...]) -> ByGraph:
    """Count GraIL's splits where StableRule is ahead of all others that the time budget did not end.

    The claim holds for a graph if it holds on more than half of its splits.
    """
    leads: dict[str, list[float]] = defaultdict(list)
    for version in dict.fromkeys(row["graph"] for row in rows if row["graph"] in GRAIL):
        ran = [row for row in rows if row["graph"] == version and not row["cut"]]
        lead = _lead(next(iter(of_groups(ran).values()), {}), others)
        if lead is not None:
            leads[whole(version)].append(lead.margin)
    ahead_on = {graph: sum(margin > 0 for margin in margins) for graph, margins in leads.items()}
    return {
        graph: Said(f"{count} of {len(leads[graph])} splits", holds=2 * count > len(leads[graph]))
        for graph, count in ahead_on.items()
    }


def wider(new: Figures, known: Figures) -> ByGraph:
    """Compare the lead over other rule learners on unseen entities with that on known ones.

    >>> few = {"umls": {"stablerule": Figure(0.5), "ncrl": Figure(0.3)}}
    >>> wider(few, {"umls": {"stablerule": Figure(0.9), "ncrl": Figure(0.95)}})
    {'umls': Said(text='+.200, Table 3 -.050', holds=True, clear=None)}
    """
    margins = [{graph: _lead(methods, RULES) for graph, methods in figures.items()} for figures in (new, known)]
    told = {}
    for graph, here in margins[0].items():
        there = margins[1].get(graph)
        if here is not None and there is not None:
            text = f"{_signed(here.margin)}, Table 3 {_signed(there.margin)}"
            told[graph] = Said(text, holds=here.margin > there.margin)
    return told


class Lead(NamedTuple):
    """The lead of a method, the best other method, and half of the interval over seeds, if there are several."""

    margin: float
    best: str
    half: float | None = None

    @property
    def interval(self) -> str:
        """The interval in words."""
        return "" if self.half is None else f" ± {_short(self.half)}"

    @property
    def clear(self) -> bool | None:
        """Whether the interval leaves out 0."""
        return None if self.half is None else abs(self.margin) > self.half


def _lead(methods: Mapping[str, Figure], others: tuple[str, ...], own: str = OURS) -> Lead | None:
    """Return None if one of the two has not been run."""
    known = {name: methods[name].mrr for name in others if name in methods}
    if own not in methods or not known:
        return None
    best = max(known, key=lambda name: known[name])
    found = change(methods[own].by_seed, methods[best].by_seed)
    return Lead(methods[own].mrr - known[best], best, found and found.half)


def _signed(margin: float) -> str:
    return f"{'-' if margin < 0 else '+'}{_short(abs(margin))}"


def steadier(figures: Figures, others: tuple[str, ...]) -> ByGraph:
    """Compare StableRule's deviation with the smallest of some others.

    >>> steadier({"umls": {"stablerule": Figure(0.9, 0.02), "drum": Figure(0.7, 0.01)}}, RULES)
    {'umls': Said(text='.020, drum .010', holds=False, clear=None)}
    """
    told = {}
    for graph, methods in figures.items():
        known = {name: methods[name].deviation for name in others if name in methods}
        if OURS in methods and known:
            least, own = min(known, key=lambda name: known[name]), methods[OURS].deviation
            told[graph] = Said(f"{_short(own)}, {least} {_short(known[least])}", holds=own < known[least])
    return told


def calmer(figures: Figures) -> ByGraph:
    """Compare the mean deviation of embeddings with that of rule learners."""
    means = _means_of_both(figures, "deviation")
    return {graph: _beside_rules(own, rules, holds=own < rules) for graph, (own, rules) in means.items()}


def higher(figures: Figures) -> ByGraph:
    """Compare the mean MRR of embeddings with that of rule learners."""
    means = _means_of_both(figures, "mrr")
    return {graph: _beside_rules(own, rules, holds=own > rules) for graph, (own, rules) in means.items()}


def _means_of_both(figures: Figures, what: Literal["mrr", "deviation"]) -> dict[str, tuple[float, float]]:
    """Return the means of embeddings and of rule learners, for graphs with both."""
    means = {}
    for graph, methods in figures.items():
        kinds = [[getattr(methods[name], what) for name in some if name in methods] for some in (EMBEDDINGS, RULES)]
        if all(kinds):
            means[graph] = (float(np.mean(kinds[0])), float(np.mean(kinds[1])))
    return means


def _beside_rules(own: float, rules: float, *, holds: bool) -> Said:
    return Said(f"{_short(own)}, rules {_short(rules)}", holds=holds)


def lost(figures: Figures, taken: str, whole: str = "") -> ByGraph:
    """Return the relative change of the MRR without a part; the claim is that it falls.

    >>> lost({"umls": {"stablerule": Figure(0.8), "nodecor": Figure(0.76)}}, "nodecor")
    {'umls': Said(text='-5.0%', holds=True, clear=None)}
    """
    found = _changes(figures, f"{whole} {taken}".strip(), whole or OURS)
    return {graph: Said(percent(one), one.share < 0, one.clear) for graph, one in found.items()}


def gained(figures: Figures, own: str, other: str) -> ByGraph:
    """Return the relative lead of a method over another."""
    found = _changes(figures, own, other)
    return {graph: Said(percent(one), one.share > 0, one.clear) for graph, one in found.items()}


def _changes(figures: Figures, own: str, other: str) -> dict[str, Change]:
    """Return the change from the other method to this one, paired by seed; printed figures have no seeds."""
    both = {graph: (named[own], named[other]) for graph, named in figures.items() if own in named and other in named}
    found = {graph: change(*(one.by_seed or {0: one.mrr} for one in pair)) for graph, pair in both.items()}
    return {graph: one for graph, one in found.items() if one is not None}


def more_general(rows: Rows) -> ByGraph:
    """Compare the number of general rules of StableRule and NCRL."""
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        counts[_column(row["graph"])][row["method"]].append(row["kind"] == "general")
    told = {}
    for graph, methods in counts.items():
        if OURS in methods and "ncrl" in methods:
            own, other = methods[OURS], methods["ncrl"]
            told[graph] = Said(f"{sum(own)} of {len(own)}, ncrl {sum(other)}", holds=sum(own) > sum(other))
    return told


def calmer_batches(rows: Rows) -> ByGraph:
    """Compare the fluctuation of the loss with the paper's largest and smallest batches."""
    moved = {(row["graph"], row["method"]): row["fluctuation"] for row in rows}
    small, large = BATCHES
    told = {}
    for graph in {graph for graph, method in moved if method == small and (graph, large) in moved}:
        little, much = moved[graph, large], moved[graph, small]
        told[_column(graph)] = Said(f"{_short(little)}, small {_short(much)}", holds=little < much)
    return told


def blanked(rows: Rows, weights: str) -> ByGraph:
    """Return the mean size of correlations before and after weighting."""
    told = {}
    for row in rows:
        if row["method"] == OURS:
            before, after = (row["correlations"][weights][name] for name in ("mean_before", "mean_after"))
            told[_column(row["graph"])] = Said(f"{_short(before)} to {_short(after)}", holds=after <= BLANK * before)
    return told


def against_ncrl(seconds: Mapping[str, float]) -> ByGraph:
    """Compare the training seconds on FB15k-237 with those of NCRL.

    >>> against_ncrl({"stablerule": 884, "ncrl": 445})
    {'fb15k-237': Said(text='884 s, ncrl 445', holds=False, clear=None)}
    """
    if OURS not in seconds or "ncrl" not in seconds:
        return {}
    own, other = seconds[OURS], seconds["ncrl"]
    return {"fb15k-237": Said(f"{own:,.0f} s, ncrl {other:,.0f}", holds=own <= LITTLE_MORE * other)}


def _short(share: float) -> str:
    """Write a share with three places and no zero before the point."""
    return f"{share:.3f}".removeprefix("0")
