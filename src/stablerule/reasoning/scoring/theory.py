"""A RuleSet made ready for one graph: arrays that kernels walk along."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from stablerule.paths.traits import Traits, find_trait_numbers, list_traits
from stablerule.rules.scored import PESSIMISM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule.graph import Graph
    from stablerule.graph.triples import Ids, Offsets
    from stablerule.rules import RuleSet

By = Literal["confidence", "score"]
CERTAIN = 0.9999  # no rule weighs more: the logarithm of what is left over must exist


class Theory(NamedTuple):
    """Rules by head relation, ready to fire. Chains come first (n,), then those with constants (m,).

    bodies: (n, L), filled with -1, sorted within a head relation, chains of relation q at starts[q]:starts[q + 1].
    Rules with constants, q(X, c) <- trait of X, are listed twice: by trait for the query (X, q, ?), at
    trait_starts[q]:trait_starts[q + 1] sorted by trait; and by constant for the query (c, ~q, ?), where
    by_constant lists them sorted by (q, c). weights: (n + m,) what a rule is worth; own_weights: the same when the
    fact that is asked for is not counted in its support; levels and own_levels: the
    order of both, equal ones alike, level_weights the weight of each level, and level_losses its -log(1 - weight).
    """

    starts: Offsets
    bodies: Ids
    lengths: NDArray[np.int64]
    trait_starts: Offsets
    rule_traits: Ids
    rule_constants: Ids
    by_constant: Ids
    constants_sorted: Ids
    weights: NDArray[np.float64]
    own_weights: NDArray[np.float64]
    levels: Ids
    own_levels: Ids
    level_weights: NDArray[np.float64]
    level_losses: NDArray[np.float64]
    traits: Traits


class Worth(NamedTuple):
    """What the rules of a theory are worth, see there: as much of it as weighing needs, since less compiles faster."""

    levels: Ids
    own_levels: Ids
    level_weights: NDArray[np.float64]
    level_losses: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """A theory with the way back: rows[i] is the place of rule i in the RuleSet; turned[i]: it was read backwards."""

    graph: Graph
    rules: RuleSet
    theory: Theory
    rows: NDArray[np.int64]
    turned: NDArray[np.bool_]

    @property
    def n_chains(self) -> int:
        """Rules before those with constants."""
        return len(self.theory.bodies)


def encode_rules(rules: RuleSet, graph: Graph, by: By = "confidence") -> Encoded:
    """Make rules ready for a graph; one that names what the graph does not have can't fire, and is left out.

    Where no chain concludes ~r, those for r are read backwards, as files of other tools mean them.
    """
    frame = rules.to_frame()
    table = frame.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"),
        *_list_rule_weights(by),
        "body",
        "constant",
        "body_constant",
    ).with_columns(head=_number_rule_relations(frame["head_relation"], graph))
    table = table.filter(pl.col("head") >= 0)
    is_chain = pl.col("constant").is_null()
    chains = _Chains.of(table.filter(is_chain), graph).with_backwards(graph.n_relations).in_order()
    constants = table.filter(~is_chain)
    traits = list_traits(graph) if len(constants) else make_empty_traits(graph)
    named = _Constants.of(constants, graph, traits)
    by_constant = np.lexsort((named.constants, named.heads)).astype(np.int32)
    weights = np.clip(np.concatenate([chains.numbers[0], named.numbers[0]]), 0, CERTAIN)
    own_weights = np.clip(np.concatenate([chains.numbers[1], named.numbers[1]]), 0, CERTAIN)
    theory = Theory(
        starts=_find_rule_starts(chains.heads, graph),
        bodies=chains.bodies,
        lengths=(chains.bodies >= 0).sum(1),
        trait_starts=_find_rule_starts(named.heads, graph),
        rule_traits=named.traits,
        rule_constants=named.constants,
        by_constant=by_constant,
        constants_sorted=named.constants[by_constant],
        traits=traits,
        **_number_levels(weights, own_weights),
    )
    rows = np.concatenate([chains.numbers[2], named.numbers[2]]).astype(np.int64)
    return Encoded(graph, rules, theory, rows, np.append(chains.turned, np.zeros(len(named.heads), bool)))


def forget_own_facts(encoded: Encoded) -> Encoded:
    """Return the theory with own weights as if the fact that is asked for had been missing when rules were learned.

    Then a rule has one fact less that supports it, but as many pairs that its body links. It weighs nothing where that
    is less than every rule of its kind has, chain or with constants: it would not have been found. Scores of a learner
    are no counts, and stay.
    """
    theory, numbers = encoded.theory, encoded.rules.to_frame().select("support", "body_count")
    if np.array_equal(theory.weights, theory.own_weights):
        return encoded
    support, body_count = (numbers[name].to_numpy()[encoded.rows].astype(np.float64) for name in numbers.columns)
    counted, own = np.isfinite(support) & np.isfinite(body_count), theory.own_weights.copy()
    is_chain = np.arange(len(own)) < encoded.n_chains
    for kind in (counted & is_chain, counted & ~is_chain):
        if not kind.any():
            continue
        left = (support[kind] - 1) / (body_count[kind] + PESSIMISM)
        found = (support[kind] - 1 >= support[kind].min()) & (left >= theory.weights[kind].min())
        own[kind] = np.where(found, np.minimum(left, own[kind]), 0)
    return set_rule_weights(encoded, theory.weights, own)


def set_rule_weights(encoded: Encoded, weights: NDArray[np.float64], own_weights: NDArray[np.float64]) -> Encoded:
    """Return the theory with other weights for its rules (n + m,), whatever they are."""
    theory: Theory = encoded.theory._replace(**_number_levels(weights, own_weights))  # type: ignore[arg-type]
    return replace(encoded, theory=theory)


def _number_levels(weights: NDArray[np.float64], own_weights: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return the fields of a theory that say what its rules are worth."""
    found, levels = np.unique(np.concatenate([weights, own_weights]), return_inverse=True)
    return {
        "weights": weights,
        "own_weights": own_weights,
        "levels": levels[: len(weights)].astype(np.int32),
        "own_levels": levels[len(weights) :].astype(np.int32),
        "level_weights": found,
        "level_losses": -np.log1p(-np.clip(found, 0, CERTAIN)),
    }


def make_empty_traits(graph: Graph) -> Traits:
    """Traits where no rule asks for them: nobody has any."""
    none = np.empty(0, np.int32)
    return Traits(np.empty(0, np.int64), np.zeros(1, np.int64), none, np.zeros(graph.n_entities + 1, np.int64), none)


def _number_rule_relations(names: pl.Series, graph: Graph) -> pl.Series:
    """Ids of relations and inverses by name: -1 is none of the graph's, null stays null."""
    known = pl.DataFrame({"name": graph.vocabulary.all_relations}).with_row_index("id")
    found = pl.DataFrame({"name": names}).join(known, on="name", how="left", maintain_order="left")
    return found.select(
        pl.when(pl.col("name").is_null()).then(None).otherwise(pl.col("id").cast(pl.Int32).fill_null(-1))
    ).to_series()


def _list_rule_weights(by: By) -> list[pl.Expr]:
    """What each rule is worth; without the number asked for, the other one. Own: one fact less above and below."""
    other = "score" if by == "confidence" else "confidence"
    weight = pl.col(by).fill_null(pl.col(other)).fill_null(0.0)
    own = (pl.col("support") - 1) / (pl.col("body_count") - 1 + PESSIMISM)
    return [weight.alias("weight"), (own if by == "confidence" else weight).fill_null(weight).alias("own")]


def _read_rule_weights(frame: pl.DataFrame) -> NDArray[np.float64]:
    """(3, n): weight, own weight, row."""
    return frame.select(pl.col("weight", "own", "row").cast(pl.Float64)).to_numpy().T


class _Chains(NamedTuple):
    heads: Ids
    bodies: Ids
    numbers: NDArray[np.float64]
    turned: NDArray[np.bool_]

    @classmethod
    def of(cls, frame: pl.DataFrame, graph: Graph) -> _Chains:
        longest = int(frame["body"].list.len().max() or 1)  # type: ignore[arg-type]
        steps = [
            _number_rule_relations(frame["body"].list.get(i, null_on_oob=True), graph).fill_null(-2).to_numpy()
            for i in range(longest)
        ]
        bodies = np.stack(steps, axis=1).astype(np.int32)
        known = (bodies != -1).all(1)
        bodies[bodies == -2] = -1
        heads = frame["head"].to_numpy().astype(np.int32)
        return cls(heads[known], bodies[known], _read_rule_weights(frame)[:, known], np.zeros(int(known.sum()), bool))

    def with_backwards(self, relations: int) -> _Chains:
        """Add r(X, Y) <- body, read from Y to X, for each ~r that no chain concludes."""
        back = (self.heads + relations) % (2 * relations)
        lonely = ~np.isin(back, self.heads)
        bodies = self.bodies[lonely]
        lengths = (bodies >= 0).sum(1)
        # Column j of a body of length n comes from column n - 1 - j; what is beyond its end stays empty.
        source = lengths[:, None] - 1 - np.arange(bodies.shape[1])
        turned = (np.take_along_axis(bodies, np.maximum(source, 0), 1) + relations) % (2 * relations)
        turned[source < 0] = -1
        return _Chains(
            np.append(self.heads, back[lonely]).astype(np.int32),
            np.concatenate([self.bodies, turned]).astype(np.int32),
            np.concatenate([self.numbers, self.numbers[:, lonely]], axis=1),
            np.append(self.turned, np.ones(len(bodies), bool)),
        )

    def in_order(self) -> _Chains:
        """Sort by head relation, then by body, so that beginnings are shared."""
        order = np.lexsort((*self.bodies.T[::-1], self.heads))
        bodies = np.ascontiguousarray(self.bodies[order])
        return _Chains(self.heads[order], bodies, self.numbers[:, order], self.turned[order])


class _Constants(NamedTuple):
    heads: Ids
    traits: Ids
    constants: Ids
    numbers: NDArray[np.float64]

    @classmethod
    def of(cls, frame: pl.DataFrame, graph: Graph, traits: Traits) -> _Constants:
        """Rules q(X, c) <- trait of X, sorted by (q, trait); those whose names the graph lacks are left out."""
        relations = _number_rule_relations(frame["body"].list.first(), graph).to_numpy().astype(np.int32)
        entities, anything = graph.vocabulary.entities, frame["body_constant"].is_null().to_numpy()
        near, constants = entities.ids_of(frame["body_constant"]), entities.ids_of(frame["constant"])
        known = (relations >= 0) & (anything | (near >= 0)) & (constants >= 0)
        numbers = np.full(len(frame), -1, np.int32)
        numbers[known] = find_trait_numbers(traits, graph, relations[known], near[known])
        heads = frame["head"].to_numpy().astype(np.int32)
        kept = np.flatnonzero(numbers >= 0)
        order = kept[np.lexsort((constants[kept], numbers[kept], heads[kept]))]
        return cls(heads[order], numbers[order], constants[order], _read_rule_weights(frame)[:, order])


def _find_rule_starts(heads: Ids, graph: Graph) -> Offsets:
    return np.searchsorted(heads, np.arange(2 * graph.n_relations + 1)).astype(np.int64)
