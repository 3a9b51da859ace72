"""Find relations that repeat each other, and the test facts that they leak.

There are two signs that `other` leaks facts of `relation`. Either the two agree everywhere, which is measured on all
splits together, since a split separates twins. Or the split put facts of `relation` into test whose pair `other` links
in train, while the rest of `relation` is unrelated to it, which is measured by comparing test with train. A relation
that implies another (a capital is in its country) is neither: models should learn it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from stablerule.graph.graph import Graph

if TYPE_CHECKING:
    from stablerule.graph.dataset import Dataset
    from stablerule.graph.triples import Triples

Kind = Literal["inverse_twins", "near_copies", "symmetric_relations"]

# Two relations are twins (or copies) if this share of the facts of both link the same pairs. They also are if this
# share of the test facts of one is in train as the other, and this is at least twice the share among its training
# facts.
TWIN_SHARE = 0.8
TIMES_AS_OFTEN = 2
# This many facts are evidence. Fewer, but at least two, count only if many such pairs of relations occur.
TWIN_FACTS = 5
LEAST_FACTS = 2
# From this share of the test set, leaks make a test result wrong.
SERIOUS_SHARE = 0.1


@dataclass(frozen=True)
class Twins:
    """Pairs of relations of one kind, rows of `measure_relation_overlaps`, and the test facts that they leak."""

    couples: pl.DataFrame
    given_away: Triples


def find_twins(dataset: Dataset) -> dict[Kind, Twins]:
    """Find inverse twins, near-copies and symmetric relations.

    >>> from stablerule.graph import Dataset
    >>> pairs = [(f"anna{i}", f"otto{i}") for i in range(9)]
    >>> wives, husbands = [(a, "wife_of", o) for a, o in pairs], [(o, "husband_of", a) for a, o in pairs]
    >>> found = find_twins(Dataset.from_names("x", train=[*wives[2:], *husbands], test=wives[:2]))
    >>> len(found["inverse_twins"].couples), len(found["inverse_twins"].given_away)
    (1, 2)
    """
    relations = len(dataset.vocabulary.relations)
    overlaps = measure_relation_overlaps(Graph.build(dataset.everything, dataset.vocabulary))
    told = _find_given_away_facts(dataset)
    evidence = pl.concat(
        [
            _list_relation_couples(
                overlaps.filter((pl.col("share_of_relation") >= TWIN_SHARE) & (pl.col("share_of_other") >= TWIN_SHARE)),
                relations,
            ).with_columns(placed=False),
            _find_twins_made_by_split(dataset, told).with_columns(placed=True),
        ]
    )
    own_inverse = pl.col("other") == pl.col("relation") + relations
    # A relation that is its own inverse only between test and train is not symmetric: the split caused it.
    symmetric = own_inverse & ~pl.col("placed")
    kinds: dict[Kind, pl.Expr] = {
        "inverse_twins": (pl.col("other") >= relations) & ~symmetric,
        "near_copies": pl.col("other") < relations,
        "symmetric_relations": symmetric,
    }
    return {
        kind: _choose_twin_relations(evidence.filter(which), overlaps, told, dataset) for kind, which in kinds.items()
    }


def measure_relation_overlaps(graph: Graph) -> pl.DataFrame:
    """Return the relations that link the same pairs of entities: how many pairs, and which share of each relation.

    Columns: relation (below R), other (an inverse from R on, which links the pairs in the other direction), shared,
    share_of_relation, share_of_other. Each pair of relations has one row; for a relation and its own inverse the share
    measures symmetry. Self-loops are skipped, because every relation agrees with its inverse there.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("x", train=[("a", "wife_of", "b"), ("b", "husband_of", "a")]).graph
    >>> measure_relation_overlaps(graph).select("relation", "other", "shared").rows()
    [(0, 3, 1)]
    """
    heads = np.repeat(np.arange(graph.n_entities, dtype=np.int32), graph.degrees)
    links = pl.DataFrame({"head": heads, "tail": graph.link_tails, "relation": graph.link_relations})
    # Only pairs of entities with several relations matter, and their rows are adjacent.
    same_pair = (pl.col("head") == pl.col("head").shift()) & (pl.col("tail") == pl.col("tail").shift())
    links = links.lazy().with_columns(pair=(~same_pair.fill_null(value=False)).cum_sum()).collect()
    links = links.filter((pl.col("head") != pl.col("tail")) & pl.col("pair").is_duplicated())
    several = links.select("pair", "relation")
    count = graph.n_relations
    facts = pl.Series(np.diff(graph.fact_offsets))
    # (a, ~b) on a pair is (b, ~a) on the reversed pair. Count each once, with the smaller relation first.
    first_of_couple = (pl.col("relation") < count) & (pl.col("relation") < pl.col("other"))
    not_mirrored = (pl.col("other") < count) | (pl.col("other") - count >= pl.col("relation"))
    couples = several.join(several.rename({"relation": "other"}), on="pair").filter(first_of_couple & not_mirrored)
    table = couples.group_by("relation", "other").agg(shared=pl.len().cast(pl.Int64))
    return table.with_columns(
        share_of_relation=table["shared"] / facts.gather(table["relation"]),
        share_of_other=table["shared"] / facts.gather(table["other"] % count),
    ).sort("shared", "relation", "other", descending=[True, False, False])


def _find_given_away_facts(dataset: Dataset) -> pl.DataFrame:
    """Return the relations in train (`other`) between the entities of test facts, with the position of the fact."""
    graph, test = dataset.graph, dataset.test.distinct()
    heads = np.repeat(np.arange(graph.n_entities, dtype=np.int32), graph.degrees)
    links = pl.DataFrame({"head": heads, "tail": graph.link_tails, "other": graph.link_relations})
    asked = pl.DataFrame({"head": test.heads, "tail": test.tails, "relation": test.relations}).with_row_index("at")
    loop = pl.col("head") == pl.col("tail")
    told = asked.join(links, on=["head", "tail"]).select("at", "relation", "other", loop=loop)
    # The same fact in train is another finding; a self-loop is also its own inverse.
    itself = pl.col("other") == pl.col("relation")
    return told.filter(~itself & ~(pl.col("loop") & (pl.col("other") == pl.col("relation") + graph.n_relations)))


def _find_twins_made_by_split(dataset: Dataset, told: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of relations where the test facts of one are in train as the other, unlike its training facts."""
    graph, test = dataset.graph, dataset.test.distinct()
    in_train = _list_relation_couples(measure_relation_overlaps(graph), graph.n_relations).rename({"facts": "shared"})
    sizes = pl.DataFrame(
        {
            "relation": np.arange(graph.n_relations, dtype=np.int32),
            "train": np.diff(graph.fact_offsets),
            "test": np.bincount(test.relations[test.heads != test.tails], minlength=graph.n_relations),
        }
    )
    # Without self-loops, as in the table of train.
    couples = told.filter(~pl.col("loop")).group_by("relation", "other").agg(facts=pl.len().cast(pl.Int64))
    couples = couples.join(in_train, on=["relation", "other"], how="left").join(sizes, on="relation")
    share = pl.col("facts") / pl.col("test")
    usual = pl.col("shared").fill_null(0) / pl.col("train")
    found = couples.filter((pl.col("train") > 0) & (share >= TWIN_SHARE) & (TIMES_AS_OFTEN * usual <= share))
    return found.select("relation", "other", "facts")


def _choose_twin_relations(
    evidence: pl.DataFrame, overlaps: pl.DataFrame, told: pl.DataFrame, dataset: Dataset
) -> Twins:
    """Return the pairs with enough facts, and also the others if together they leak a large part of test."""

    def positions(couples: pl.DataFrame) -> pl.Series:
        return told.join(couples, on=["relation", "other"], how="semi")["at"].unique().sort()

    weak = evidence.filter((pl.col("facts") < TWIN_FACTS) & (pl.col("facts") >= LEAST_FACTS))
    chosen = evidence.filter(pl.col("facts") >= TWIN_FACTS)
    if len(dataset.test) and len(positions(weak)) >= SERIOUS_SHARE * len(dataset.test):
        chosen = pl.concat([chosen, weak])
    # The table has each pair once, the evidence may have it in either direction.
    relations = len(dataset.vocabulary.relations)
    ways = _list_relation_couples(overlaps, relations).with_columns(row=pl.int_range(pl.len()) % max(1, len(overlaps)))
    rows = ways.join(chosen, on=["relation", "other"], how="semi")["row"].unique().sort()
    return Twins(overlaps[rows], dataset.test.distinct().take(positions(chosen).to_numpy().astype(np.int64)))


def _list_relation_couples(overlaps: pl.DataFrame, relations: int) -> pl.DataFrame:
    """Return each pair as (a, b) and (b, a); (a, ~b) becomes (b, ~a). Columns: relation, other, facts."""
    ids = [pl.col("relation", "other").cast(pl.Int32), pl.col("shared").cast(pl.Int64)]
    one = overlaps.select(ids)
    inverse = pl.col("other") >= relations
    two = one.select(
        relation=pl.col("other") % relations,
        other=pl.when(inverse).then(pl.col("relation") + relations).otherwise("relation"),
        shared="shared",
    ).select(ids)
    return pl.concat([one, two]).rename({"shared": "facts"})
