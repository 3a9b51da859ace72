"""Which relations say the same thing: near-copies, inverse twins, symmetric relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from stablerule.graph.graph import Graph


def relation_overlaps(graph: Graph) -> pl.DataFrame:
    """For two relations that link the same pairs: on how many pairs, and what share of each relation that is.

    Columns: relation (below R), other (an inverse from R on: it links the pairs the other way round), shared,
    share_of_relation, share_of_other. Each couple stands once; a relation with its own inverse is symmetric as far as
    its share goes. Self-loops are left out, because every relation agrees with its inverse there.

    >>> from stablerule.graph import Dataset
    >>> graph = Dataset.from_names("x", train=[("a", "wife_of", "b"), ("b", "husband_of", "a")]).graph
    >>> relation_overlaps(graph).select("relation", "other", "shared").rows()
    [(0, 3, 1)]
    """
    heads = np.repeat(np.arange(graph.n_entities, dtype=np.int32), graph.degrees)
    links = pl.DataFrame({"head": heads, "tail": graph.link_tails, "relation": graph.link_relations})
    # Only pairs with more than one relation matter, and they stand next to each other.
    same_pair = (pl.col("head") == pl.col("head").shift()) & (pl.col("tail") == pl.col("tail").shift())
    links = links.lazy().with_columns(pair=(~same_pair.fill_null(value=False)).cum_sum()).collect()
    links = links.filter((pl.col("head") != pl.col("tail")) & pl.col("pair").is_duplicated())
    several = links.select("pair", "relation")
    count = graph.n_relations
    facts = pl.Series(np.diff(graph.fact_offsets))
    # (a, ~b) on a pair is (b, ~a) on the reversed pair: the smaller relation comes first, to count each couple once.
    first_of_couple = (pl.col("relation") < count) & (pl.col("relation") < pl.col("other"))
    not_mirrored = (pl.col("other") < count) | (pl.col("other") - count >= pl.col("relation"))
    couples = several.join(several.rename({"relation": "other"}), on="pair").filter(first_of_couple & not_mirrored)
    table = couples.group_by("relation", "other").agg(shared=pl.len().cast(pl.Int64))
    return table.with_columns(
        share_of_relation=table["shared"] / facts.gather(table["relation"]),
        share_of_other=table["shared"] / facts.gather(table["other"] % count),
    ).sort("shared", "relation", "other", descending=[True, False, False])
