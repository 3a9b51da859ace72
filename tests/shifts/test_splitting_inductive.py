"""No entity of the test graph is in the training graph, and few facts are lost for it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from stablerule import Dataset, Tabular, evaluate, households, load
from stablerule.errors import InputError, OptionError
from stablerule.shifts.splits import Split, split_inductive
from stablerule.shifts.splits.inductive import _measure_mix_distance, expect_kept_split_share, grow_split_parts
from stablerule.shifts.splits.saving import count_lost_facts
from tests.worlds import Fact, random_graph

SHARES = st.sampled_from([(0.7, 0.1, 0.2), (0.4, 0.3, 0.3), (0.5, 0.0, 0.5)])


def facts_of(dataset: Dataset, split: str) -> set[Fact]:
    return {(h, r, t) for h, r, t, *_ in dataset.frame(split).rows()}


def entities_of(facts: set[Fact]) -> set[str]:
    return {name for head, _, tail in facts for name in (head, tail)}


def random_facts(seed: int, entities: int, count: int) -> list[Fact]:
    graph = random_graph(seed, entities=entities, relations=4, count=count)
    return graph.vocabulary.decode(graph.triples).rows()


def try_split(facts: list[Fact], shares: tuple[float, float, float], seed: int, regions: int) -> Split:
    half = len(facts) // 2
    source = Dataset.from_names("g", train=facts[:half], valid=facts[half:], test=facts[:2])
    try:
        return split_inductive(source, shares, seed=seed, regions=regions)
    except InputError:  # a part without facts or queries
        reject()


@pytest.mark.slow
@given(st.integers(0, 1000), st.integers(10, 50), st.integers(50, 200), SHARES, st.integers(0, 3), st.integers(1, 4))
def test_parts_share_no_entity_and_every_fact_is_accounted_for(
    world: int, entities: int, count: int, shares: tuple[float, float, float], seed: int, regions: int
) -> None:
    facts = random_facts(world, entities, count)
    split = try_split(facts, shares, seed, regions)
    kept = {name: [facts_of(part, s) for s in part.splits] for name, part in split.parts.items()}
    for one, two in combinations(split.parts.values(), 2):
        assert not set(one.vocabulary.entities) & set(two.vocabulary.entities)
    all_kept = [fact for sets in kept.values() for some in sets for fact in some]
    assert len(all_kept) == len(set(all_kept))
    assert set(all_kept) <= set(facts)
    assert len(all_kept) + count_lost_facts(split.manifest) == len(facts) + 2
    crossing = set(facts) - set(all_kept)
    place = {name: part for part, found in split.parts.items() for name in found.vocabulary.entities}
    # An entity that lost all its facts is in no part.
    assert all(place.get(head) != place.get(tail) or head not in place for head, _, tail in crossing)
    lost = split.manifest["lost"]["facts"]
    assert lost["repeated"]["facts"] == 2
    assert lost.get("crossing parts", {"facts": 0})["facts"] == len(crossing)
    by_relation = lost.get("crossing parts", {"relations": {}})["relations"]
    assert by_relation == {r: sum(fact[1] == r for fact in crossing) for r in {fact[1] for fact in crossing}}
    assert split.manifest["lost"]["entities"] == len(entities_of(set(facts))) - len(place)


@pytest.mark.slow
@given(st.integers(0, 1000), SHARES)
def test_queries_can_be_asked(world: int, shares: tuple[float, float, float]) -> None:
    split = try_split(random_facts(world, 30, 150), shares, 0, 2)
    learned = {relation for _, relation, _ in facts_of(split.parts["train"], "train")}
    assert ("valid" in split.parts) == (shares[1] > 0)
    for name in split.parts.keys() - {"train"}:
        part = split.parts[name]
        context, queries = facts_of(part, "train"), facts_of(part, "test")
        assert queries
        assert not len(part.valid)
        assert entities_of(queries) <= entities_of(context)
        assert {relation for _, relation, _ in queries} <= learned
        assert set(part.vocabulary.entities) == entities_of(context)
    held_out = facts_of(split.parts["train"], "valid")
    assert entities_of(held_out) <= entities_of(facts_of(split.parts["train"], "train"))
    assert not len(split.parts["train"].test)


def test_the_same_seed_gives_the_same_split() -> None:
    source = load("geography")
    one, two, other = (split_inductive(source, seed=seed) for seed in (1, 1, 2))
    assert one.manifest == two.manifest
    assert one.manifest["parts"] != other.manifest["parts"]


def test_parts_have_the_sizes_that_were_asked_for() -> None:
    split = split_inductive(load("geography"), (0.5, 0.2, 0.3), context=0.5, regions=1)
    sizes = [part["entities"] for part in split.manifest["parts"].values()]
    assert sum(sizes) + split.manifest["lost"]["entities"] == 4627
    assert np.allclose(np.array(sizes) / 4627, (0.5, 0.2, 0.3), atol=0.01)
    for name in ("valid", "test"):
        part = split.manifest["parts"][name]
        assert part["train"] / (part["train"] + part["test"]) == pytest.approx(0.5, abs=0.01)


def test_growing_loses_less_than_chance_and_families_stay_together() -> None:
    one, ten = (split_inductive(load("geography"), regions=regions).manifest["found"] for regions in (1, 10))
    assert one["kept"] > ten["kept"] > one["kept_by_chance"] + 0.1
    families = split_inductive(households(families=10, seed=0).dataset, (0.6, 0.2, 0.2), regions=1).manifest
    assert families["found"]["kept"] > 0.9
    assert "(random parts: " in families["notes"][0]


@given(st.integers(0, 1000), st.integers(2, 30), st.integers(1, 60), st.integers(1, 40), st.data())
def test_grown_parts_have_their_sizes_and_hold_everybody(
    world: int, entities: int, count: int, regions: int, data: st.DataObject
) -> None:
    graph = random_graph(world, entities=entities, count=count)
    first = data.draw(st.integers(0, graph.n_entities))
    second = data.draw(st.integers(0, graph.n_entities - first))
    sizes = (graph.n_entities - first - second, first, second)
    parts = grow_split_parts(graph, sizes, np.random.default_rng(world), regions)
    assert tuple(np.bincount(parts, minlength=3)) == sizes


def test_the_share_by_chance_is_the_mean_over_random_parts() -> None:
    graph = random_graph(1, entities=10, count=40)
    sizes = (graph.n_entities - 5, 2, 3)
    rng, kept = np.random.default_rng(0), []
    for _ in range(3000):
        parts = rng.permutation(np.repeat(np.arange(3), sizes))
        kept.append((parts[graph.fact_heads] == parts[graph.fact_tails]).mean())
    assert np.mean(kept) == pytest.approx(expect_kept_split_share(graph, sizes), abs=0.01)


def test_a_relation_with_no_facts_left_is_named() -> None:
    one, two = ([(f"{side}{i}", "r", f"{side}{j}") for i in range(6) for j in range(6) if i != j] for side in "ab")
    source = Dataset.from_names("two", train=[*one, *two, ("a0", "bridge", "b0")])
    split = split_inductive(source, (0.5, 0.0, 0.5), regions=1)
    assert split.manifest["lost"] == {
        "facts": {"crossing parts": {"facts": 1, "relations": {"bridge": 1}}},
        "entities": 0,
        "relations": ["bridge"],
    }


def test_a_query_whose_relation_can_not_be_learned_stays_in_the_context() -> None:
    sides = {"a": ("r", "s"), "b": ("r", "t")}
    facts = [
        (f"{x}{i}", name, f"{x}{j}") for x, pair in sides.items() for name in pair for i in range(8) for j in range(8)
    ]
    split = split_inductive(Dataset.from_names("two", train=facts), (0.5, 0.0, 0.5), regions=1)
    test = split.parts["test"]
    assert {relation for _, relation, _ in facts_of(test, "test")} == {"r"}
    assert {relation for _, relation, _ in facts_of(test, "train")} > {"r"}
    returned = split.manifest["found"]["returned_to_context"]["test"]
    assert returned > 0
    assert any(note.startswith(f"{returned} test facts stay in its context") for note in split.manifest["notes"])
    assert count_lost_facts(split.manifest) == 0


def test_parts_without_facts_or_queries_are_refused() -> None:
    star = Dataset.from_names("star", train=[("hub", "r", f"leaf{i}") for i in range(30)])
    with pytest.raises(
        InputError, match="Part 'train' of dataset 'star' has no facts. Use another seed, fewer regions"
    ):
        for seed in range(20):
            split_inductive(star, (0.4, 0.2, 0.4), seed=seed)
    pairs = Dataset.from_names("pairs", train=[(f"a{i}", "r", f"b{i}") for i in range(20)])
    with pytest.raises(InputError, match="has no queries. .* less context"):
        split_inductive(pairs, (0.5, 0.0, 0.5))


@pytest.mark.parametrize("regions", [0, -1, 1.5, "2"])
def test_regions_are_counted_from_1_on(regions: int) -> None:
    with pytest.raises(OptionError, match="'regions' must be a whole number of at least 1"):
        split_inductive(load("geography"), regions=regions)


def test_the_relation_mix_is_0_where_it_is_the_same_and_1_where_nothing_is_in_common() -> None:
    for relations, expected in ((("r", "r"), 0.0), (("r", "s"), 1.0)):
        facts = Dataset.from_names("g", train=[("a", name, "b") for name in relations]).train
        assert _measure_mix_distance(facts.take(np.array([0])), facts.take(np.array([len(facts) - 1]))) == expected


@pytest.mark.parametrize("context", [0, 1, -0.1, 1.5, float("nan"), "much"])
def test_context_must_be_a_share(context: float) -> None:
    with pytest.raises(OptionError, match="'context' must be"):
        split_inductive(load("geography"), context=context)


def test_a_model_of_train_answers_about_entities_it_has_not_seen() -> None:
    split = split_inductive(households(families=6, seed=0).dataset, (0.6, 0.0, 0.4), regions=1)
    train = split.parts["train"]
    model = Tabular(walks=5000, max_length=2, seed=0).fit(train.graph, train.valid)
    found = evaluate(model, split.parts["test"])
    assert found.n == 2 * len(split.parts["test"].test)
    assert found.mrr > 0.3
    assert found.in_graph == 0
