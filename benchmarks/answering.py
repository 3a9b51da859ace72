"""How fast queries are ranked, and how that grows with rules and with facts.

    STABLERULE_DATA=... python -m benchmarks.answering      # writes benchmarks/results/answering.json

The reference, in the same run, follows each body by products of scipy's sparse matrices, a row for each query, which is
what one would write first. Made-up graphs have 1, 4 and 16 million facts with the same mean degree: what a query costs
should depend on what it touches, not on the size of the graph. Compilation is not counted. The best of several turns
counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import sparse

from stablerule import Graph, RuleSet, Tabular, Triples, Vocabulary, load
from stablerule.graph import Names
from stablerule.paths.threads import count_cores
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules

if TYPE_CHECKING:
    from stablerule.graph.triples import Ids
    from stablerule.reasoning.scoring.theory import Encoded

RESULTS = Path(__file__).parent / "results" / "answering.json"
REPEATS = 3
DEGREE = 8  # facts an entity in the made-up graphs
WAYS = (Aggregation("count"), Aggregation("noisy_or", top=5), Aggregation("max_plus"))


def both_ways(rows: Ids, relations: int) -> tuple[Ids, Ids, Ids]:
    h, r, t = rows.T
    return (
        np.concatenate([h, t]).astype(np.int32),
        np.concatenate([r, r + relations]).astype(np.int32),
        np.concatenate([t, h]).astype(np.int32),
    )


def seconds_to_rank(search: RuleSearcher, queries: tuple[Ids, Ids, Ids], known: Graph) -> float:
    took = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        search.rank(*queries, known)
        took.append(time.perf_counter() - began)
    return min(took)


def plain_seconds(encoded: Encoded, queries: tuple[Ids, Ids, Ids], some: int) -> float:
    """Seconds for all queries by sparse products: path counts, without object identity, beginnings not shared.

    From all queries of some relations, drawn at random until there are enough, in proportion to queries times rules.
    """
    graph, theory = encoded.graph, encoded.theory
    steps = []
    for relation in range(2 * graph.n_relations):
        heads, tails = graph.facts(relation)
        ones = np.ones(len(heads), np.float32)
        steps.append(sparse.csr_matrix((ones, (heads, tails)), shape=(graph.n_entities,) * 2))
    heads, relations, _ = queries
    asked = np.bincount(relations, minlength=len(steps))
    work = asked * np.diff(theory.starts)
    order = np.random.default_rng(0).permutation(np.flatnonzero(work))
    chosen = order[: np.searchsorted(np.cumsum(asked[order]), some) + 1]
    began = time.perf_counter()
    for relation in chosen:
        rows = heads[relations == relation]
        start = sparse.csr_matrix(
            (np.ones(len(rows), np.float32), (np.arange(len(rows)), rows)), shape=(len(rows), graph.n_entities)
        )
        total = sparse.csr_matrix(start.shape, dtype=np.float32)
        for rule in range(theory.starts[relation], theory.starts[relation + 1]):
            reached = start
            for step in theory.bodies[rule][: theory.lengths[rule]]:
                reached = reached @ steps[step]
            total = total + theory.weights[rule] * reached
    return float((time.perf_counter() - began) * work.sum() / work[chosen].sum())


def on_fb15k_237() -> dict[str, Any]:
    dataset = load("fb15k-237")
    known = Graph.build(dataset.everything, dataset.vocabulary)
    queries = both_ways(dataset.test.rows, dataset.graph.n_relations)
    rules = Tabular(rules_per_relation=400, constants=False, aggregation="count").fit(dataset.graph).rules
    found: dict[str, Any] = {"queries": len(queries[0]), "growth with rules": []}
    for per_relation in (25, 50, 100, 200, 400):
        encoded = encode_rules(rules.top_per_relation(per_relation), dataset.graph)
        took = {}
        for way in WAYS if per_relation == 100 else WAYS[:1]:
            search = RuleSearcher(encoded, way)
            heads, asked, answers = (column[:200] for column in queries)
            search.rank(heads, asked, answers, known)  # compiles
            name = f"{way.name} of {way.top}" if way.top else way.name
            took[name] = round(seconds_to_rank(search, queries, known), 2)
        found["growth with rules"].append({"per relation": per_relation, "rules": len(encoded.rows), "seconds": took})
        if per_relation == 100:
            plain = plain_seconds(encoded, queries, 4000)
            found["scipy products, seconds"] = round(plain, 1)
            found["times faster than scipy"] = round(plain / took["count"], 1)
        print(found["growth with rules"][-1], flush=True)
    return found


def made_up(facts: int, seed: int = 0) -> Graph:
    """Random facts of 20 relations, with the same mean degree at every size."""
    random, entities = np.random.default_rng(seed), facts // DEGREE
    names = pl.select(pl.int_range(entities).cast(pl.String).str.zfill(9)).to_series()
    words = Vocabulary(Names.from_sorted(names), Names([f"r{i:02}" for i in range(20)]))
    rows = np.stack([random.integers(entities, size=facts), random.integers(20, size=facts)], 1)
    return Graph.build(Triples(np.column_stack([rows, random.integers(entities, size=facts)])), words)


def on_made_up_graphs() -> list[dict[str, Any]]:
    random, found = np.random.default_rng(1), []
    bodies = [[f"r{i:02}" for i in random.integers(20, size=length)] for length in (2, 3) for _ in range(1000)]
    rules = RuleSet.from_frame(
        pl.DataFrame(
            {
                "head_relation": [f"r{i:02}" for i in random.integers(20, size=len(bodies))],
                "body": bodies,
                "confidence": random.random(len(bodies)),
            }
        ).unique(["head_relation", "body"], maintain_order=True)
    )
    for millions in (1, 4, 16):
        graph = made_up(millions * 1_000_000)
        some = graph.triples.take(random.choice(graph.n_facts, 20_000, replace=False))
        queries = both_ways(some.rows, graph.n_relations)
        search = RuleSearcher(encode_rules(rules, graph), Aggregation("count"))
        search.rank(*queries, graph)  # once, so that all memory has been touched
        took = seconds_to_rank(search, queries, graph)
        found.append(
            {
                "million facts": millions,
                "entities": graph.n_entities,
                "queries": len(queries[0]),
                "microseconds a query": round(took / len(queries[0]) * 1e6, 1),
            }
        )
        print(found[-1], flush=True)
    return found


def answering_table(results: dict[str, Any]) -> list[str]:
    """The tables of docs/answering.md."""
    found = results["fb15k-237"]
    lines = ["| chains | seconds | microseconds a query |", "|---|---|---|"]
    for row in found["growth with rules"]:
        for name, seconds in row["seconds"].items():
            each = seconds / found["queries"] * 1e6
            lines.append(f"| {row['rules']:,}, `{name}` | {seconds:.1f} | {each:.0f} |")
    lines += ["| facts | entities | microseconds a query |", "|---|---|---|"]
    for row in results["growth with facts"]:
        facts, entities = f"{row['million facts']} million", f"{row['entities']:,}"
        lines.append(f"| {facts} | {entities} | {row['microseconds a query']:.0f} |")
    return lines


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    results = {
        "machine": {"cores": count_cores(), "python": platform.python_version()},
        "fb15k-237": on_fb15k_237(),
        "growth with facts": on_made_up_graphs(),
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
