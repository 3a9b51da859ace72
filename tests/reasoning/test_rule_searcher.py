"""Answers, scores and ranks against rules that are applied one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import Dataset, Graph, Rule, RuleSet, Tabular, Triples, households, load_model
from stablerule.errors import InputError, OptionError, UnknownEntity, UnknownRelation
from stablerule.graph.triples import Ids
from stablerule.learning.extraction import find_constant_rules
from stablerule.paths.threads import run_in_threads
from stablerule.reasoning import rule_searcher as module
from stablerule.reasoning.evidence_examples import collect_weight_examples
from stablerule.reasoning.learned import Choice, Learned
from stablerule.reasoning.model_folder import DataMark, SavedModel
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.evidence import COLUMNS, GATHERED
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import encode_rules
from tests.graph.parts import graph_of, ids
from tests.reasoning.plain import Plain, random_rules
from tests.worlds import random_graph

LEARNED = Aggregation("learned", weights={"*": tuple(np.random.default_rng(0).normal(size=len(COLUMNS)).tolist())})
# Sums of sixteenths are exact, so that equal candidates are equal, and unequal ones are not.
WAYS = [
    (Aggregation("count"), 16),
    (Aggregation("binary"), 16),
    (Aggregation("max_plus"), 4),
    (Aggregation("max_plus"), 0),
    (Aggregation("log_count"), 0),
    (Aggregation("noisy_or"), 0),
    (Aggregation("noisy_or", top=5), 0),
]
each_way = pytest.mark.parametrize(("way", "steps"), WAYS, ids=str)


def both(graph: Graph, rules: RuleSet, way: Aggregation) -> tuple[RuleSearcher, Plain]:
    return RuleSearcher(encode_rules(rules, graph), way), Plain(graph, rules, way)


def columns(*facts: tuple[int, int, int]) -> tuple[Ids, Ids, Ids]:
    """Heads, relations and answers of facts."""
    heads, relations, answers = np.array(facts, np.int32).T.copy()
    return heads, relations, answers


def all_queries(graph: Graph) -> tuple[Ids, Ids, Ids]:
    """Every head, relation or inverse, and answer."""
    return columns(*product(range(graph.n_entities), range(2 * graph.n_relations), range(graph.n_entities)))


def some_known(graph: Graph, seed: int) -> Graph:
    """The facts of a graph and a few others."""
    rng = np.random.default_rng(seed)
    sizes = (graph.n_entities, graph.n_relations, graph.n_entities)
    more = np.stack([rng.integers(n, size=15) for n in sizes], 1).astype(np.int32)
    return Graph.build(Triples.concat(graph.triples, Triples(more)), graph.vocabulary)


@each_way
@pytest.mark.parametrize("seed", range(2))
def test_scores_are_those_of_rules_applied_one_by_one(way: Aggregation, steps: int, seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=22)
    search, plain = both(graph, random_rules(graph, seed, steps=steps), way)
    heads, relations, tails = all_queries(graph)
    scores = search.score(heads, relations, tails).reshape(graph.n_entities, -1, graph.n_entities)
    for head, relation in product(range(graph.n_entities), range(2 * graph.n_relations)):
        fired = plain.fired(head, relation)
        expected = [plain.value(fired[e], e, relation) if e in fired else 0.0 for e in range(graph.n_entities)]
        assert scores[head, relation] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(2))
def test_learned_weighs_the_evidence(seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=22)
    search, plain = both(graph, random_rules(graph, seed), LEARNED)
    heads, relations, tails = all_queries(graph)
    scores = search.score(heads, relations, tails).reshape(graph.n_entities, -1, graph.n_entities)
    for head, relation in product(range(graph.n_entities), range(2 * graph.n_relations)):
        for entity, fired in plain.fired(head, relation).items():
            assert scores[head, relation, entity] == pytest.approx(plain.value(fired, entity, relation), abs=1e-4)


@each_way
@pytest.mark.parametrize("seed", range(2))
def test_bands_are_those_of_a_plain_sort(way: Aggregation, steps: int, seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=22)
    known = some_known(graph, seed)
    search, plain = both(graph, random_rules(graph, seed, steps=steps, chains=20), way)
    heads, relations, answers = all_queries(graph)
    ranks = search.rank(heads, relations, answers, known)
    found = list(zip(ranks.best, ranks.worst, ranks.covered, ranks.candidates, strict=True))
    queries = zip(heads.tolist(), relations.tolist(), answers.tolist(), strict=True)
    assert found == [plain.band(*query, known) for query in queries]
    assert ranks.covered.any()
    assert not ranks.covered.all()
    assert (ranks.worst > ranks.best).any()


def test_what_no_rule_reaches_stands_after_all_candidates_by_popularity() -> None:
    facts = [("a", "s", "b"), ("p", "r", "c"), ("q", "r", "c"), ("p", "r", "d")]
    graph = graph_of(facts)
    search = RuleSearcher(encode_rules(RuleSet([(Rule("r", ("s",)), {"confidence": 0.5})]), graph), Aggregation())
    ranks = search.rank(*columns(*(ids(graph, "a", "r", name) for name in ("b", "c", "d", "p"))), graph)
    assert ranks.best.tolist() == [1, 2, 3, 4]
    assert ranks.worst.tolist() == [1, 2, 3, 6]  # a, p and q end no fact of r
    assert ranks.covered.tolist() == [True, False, False, False]


@each_way
def test_answers_are_the_first_of_a_plain_sort(way: Aggregation, steps: int) -> None:
    graph = random_graph(3, entities=9, relations=2, count=22)
    known = some_known(graph, 3)
    search, plain = both(graph, random_rules(graph, 3, steps=steps), way)
    pairs = list(product(range(graph.n_entities), range(2 * graph.n_relations)))
    heads, relations = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    for k in (1, 2, 5, 10**14):
        found, scores, _ = search.answer(heads, relations, k, known)
        for (head, relation), entities, values in zip(pairs, found.tolist(), scores.tolist(), strict=True):
            expected = plain.answers(head, relation, k, {*known.tails(head, relation).tolist()})
            assert entities == [e for e, _ in expected] + [-1] * (min(k, graph.n_entities) - len(expected))
            assert values[: len(expected)] == pytest.approx([value for _, value in expected])
            assert not any(values[len(expected) :])


def test_answers_within_limits() -> None:
    graph = random_graph(4, entities=9, relations=2, count=22)
    search, plain = both(graph, random_rules(graph, 4), Aggregation())
    entities = np.arange(graph.n_entities)
    for relation in range(2 * graph.n_relations):
        range_ = np.isin(entities, graph.facts(relation)[1])
        heads = entities.astype(np.int32)
        found, *_ = search.answer(heads, np.full_like(heads, relation), 4, None, lambda _, mask=range_: mask)  # type: ignore[misc]
        for head in heads.tolist():
            expected = plain.answers(head, relation, 4, {*np.flatnonzero(~range_).tolist()})
            assert [e for e in found[head].tolist() if e >= 0] == [e for e, _ in expected]


def test_nobody_is_its_own_answer_unless_the_relation_has_a_loop() -> None:
    rules = RuleSet([(Rule("likes", ("knows",), ("ann", None)), {"confidence": 0.5})])
    facts = [("ann", "knows", "bob"), ("bob", "knows", "ann"), ("bob", "likes", "ann")]
    for more, expected in (([], [-1]), ([("cid", "likes", "cid")], [0])):
        graph = graph_of([*facts, *more])
        search = RuleSearcher(encode_rules(rules, graph), Aggregation())
        head, relation, answer = columns(ids(graph, "ann", "likes", "ann"))
        assert search.answer(head, relation, 1)[0].tolist() == [expected]
        assert search.answer(head, relation, 1, itself=True)[0].tolist() == [[0]]
        assert search.answer(*columns(ids(graph, "bob", "likes", "ann"))[:2], 1)[0].tolist() == [[0]]
        assert search.rank(head, relation, answer, graph).best.tolist() == [1]  # ranks count every entity


def test_many_answers_are_asked_for_in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(4, entities=9, relations=2, count=22)
    search = RuleSearcher(encode_rules(random_rules(graph, 4), graph), Aggregation())
    assert (search.at_once(10, 512), search.at_once(10**14, 512)) == (512, 512)
    monkeypatch.setattr(module, "ANSWERS_AT_ONCE", 20)
    assert (search.at_once(1, 512), search.at_once(10**14, 512)) == (20, 20 // graph.n_entities)


def backwards(threads: int) -> Callable[..., list[Any]]:
    def work(do: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
        return run_in_threads(do, list(parts)[::-1], threads=threads)[::-1]

    return work


@pytest.mark.parametrize("way", [Aggregation(), Aggregation("noisy_or", top=5), LEARNED], ids=str)
@pytest.mark.parametrize("hidden", [False, True])
def test_threads_chunks_and_the_order_of_queries_change_nothing(
    way: Aggregation, hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(5, entities=30, relations=3, count=90)
    rules = random_rules(graph, 5)
    t = graph.triples
    asked = (
        np.concatenate([t.heads, t.tails]),
        np.concatenate([t.relations, t.relations + np.int32(graph.n_relations)]),
        np.concatenate([t.tails, t.heads]),
    )

    def all_of(order: Any) -> list[Any]:
        search = RuleSearcher(encode_rules(rules, graph), way)
        h, r, a = (column[order] for column in asked)
        ranks = search.rank(h, r, a, graph, hidden=hidden)
        examples = collect_weight_examples(search, h, r, a, graph, 8, hidden=hidden)
        strongest = np.sort(examples.rows, axis=1)
        return [
            ranks.best,
            ranks.worst,
            ranks.candidates,
            *search.answer(h, r, 3)[:2],
            search.score(h, r, a),
            strongest,
        ]

    as_it_stands = np.arange(len(asked[0]))
    expected = all_of(as_it_stands)
    order = np.random.default_rng(0).integers(len(as_it_stands), size=400)  # some twice, some never
    for chunk, threads in ((512, 1), (1, 4), (7, 2)):
        monkeypatch.setattr(module, "CHUNK", chunk)
        monkeypatch.setattr(module, "run_in_threads", backwards(threads))
        for found, wanted in zip(all_of(order), expected, strict=True):
            np.testing.assert_array_equal(found, wanted[order])


def test_a_search_that_was_used_answers_like_a_new_one() -> None:
    graph = random_graph(6, entities=20, relations=2, count=50)
    encoded = encode_rules(random_rules(graph, 6), graph)
    heads, relations, answers = all_queries(graph)
    used = RuleSearcher(encoded, Aggregation())
    collect_weight_examples(used, heads, relations, answers, graph, 4)
    used.rank(graph.triples.heads, graph.triples.relations, graph.triples.tails, graph, hidden=True)
    used.answer(heads, relations, 2, graph)
    np.testing.assert_array_equal(
        used.rank(heads, relations, answers, graph).best,
        RuleSearcher(encoded, Aggregation()).rank(heads, relations, answers, graph).best,
    )
    assert len(used.rank(heads[:0], relations[:0], answers[:0], graph)) == 0


def rows_of(search: RuleSearcher, fact: tuple[int, int, int], known: Graph, *, hidden: bool) -> Any:
    """What fires for the answer, then for its rivals, sorted: the columns that come from rules alone."""
    examples = collect_weight_examples(search, *columns(fact), known, search.graph.n_entities, hidden=hidden)
    rows = examples.rows[0, examples.stand_for[0] > 0, :GATHERED]
    return rows[:1], rows[1:][np.lexsort(rows[1:].T)]


@pytest.mark.parametrize("seed", range(4))
def test_a_hidden_fact_fires_what_fires_on_a_graph_without_it(seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=24)
    rules = random_rules(graph, seed).filter(kind="chains")
    search = RuleSearcher(encode_rules(rules, graph), Aggregation())
    for i, (head, relation, tail) in enumerate(graph.triples.rows.tolist()):
        without = Graph.build(graph.triples.take(np.delete(np.arange(graph.n_facts), i)), graph.vocabulary)
        other = RuleSearcher(encode_rules(rules, without), Aggregation())
        for fact in ((head, relation, tail), (tail, relation + graph.n_relations, head)):
            found = search.rank(*columns(fact), graph, hidden=True)
            expected = other.rank(*columns(fact), graph)
            assert (found.covered, found.candidates) == (expected.covered, expected.candidates)
            for one, two in zip(
                rows_of(search, fact, graph, hidden=True), rows_of(other, fact, graph, hidden=False), strict=True
            ):
                np.testing.assert_allclose(one, two, rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_hidden_fact_is_no_trait_of_its_head(seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=24)
    found = find_constant_rules(graph, min_support=1, min_confidence=0.0)
    rules = RuleSet([(s.rule, {"confidence": s.confidence}) for s in found])  # without counts: own weights are the same
    search = RuleSearcher(encode_rules(rules, graph), Aggregation())
    for i, (head, relation, tail) in enumerate(graph.triples.rows.tolist()):
        if head == tail:
            continue
        without = Graph.build(graph.triples.take(np.delete(np.arange(graph.n_facts), i)), graph.vocabulary)
        other = RuleSearcher(encode_rules(rules, without), Aggregation())
        loops = Triples(np.array([(head, relation, head), (tail, relation, tail)], np.int32))  # only others are rivals
        known = Graph.build(Triples.concat(graph.triples, loops), graph.vocabulary)
        for fact in ((head, relation, tail), (tail, relation + graph.n_relations, head)):
            for one, two in zip(
                rows_of(search, fact, known, hidden=True), rows_of(other, fact, known, hidden=False), strict=True
            ):
                np.testing.assert_allclose(one, two, rtol=1e-5)


def test_a_hidden_fact_is_not_counted_in_the_support_of_its_rules() -> None:
    facts = [(f"p{i}", "s", f"c{i}") for i in range(3)] + [(f"p{i}", "r", f"c{i}") for i in range(2)]
    rules = RuleSet([(Rule("r", ("s",)), {"support": 2, "body_count": 3})])
    graph = graph_of(facts)
    search = RuleSearcher(encode_rules(rules, graph), Aggregation())
    fact = ids(graph, "p0", "r", "c0")
    best = COLUMNS.index("chains: best 1")
    assert rows_of(search, fact, graph, hidden=False)[0][0, best] == pytest.approx(2 / 8)
    assert rows_of(search, fact, graph, hidden=True)[0][0, best] == pytest.approx(1 / 7)


@each_way
def test_a_hidden_fact_is_ranked_as_on_a_graph_without_it(way: Aggregation, steps: int) -> None:
    graph = random_graph(1, entities=9, relations=2, count=24)
    rules = random_rules(graph, 1, steps=steps).filter(kind="chains")
    search = RuleSearcher(encode_rules(rules, graph), way)
    for i, fact in enumerate(graph.triples.rows.tolist()):
        without = Graph.build(graph.triples.take(np.delete(np.arange(graph.n_facts), i)), graph.vocabulary)
        found = search.rank(*columns(fact), graph, hidden=True)
        expected = RuleSearcher(encode_rules(rules, without), way).rank(*columns(fact), graph)
        assert (found.best, found.worst) == (expected.best, expected.worst)


def test_noisy_or_of_the_best_takes_a_hidden_fact_off_the_support() -> None:
    graph = graph_of([("a", "s", "b"), ("a", "s", "c"), ("a", "r", "b")])
    search = RuleSearcher(
        encode_rules(RuleSet([(Rule("r", ("s",)), {"support": 3, "body_count": 3})]), graph),
        Aggregation("noisy_or", top=5),
    )
    ranks = search.rank(*query(graph, "a", "r", "b"), graph, hidden=True)
    assert ranks.best.tolist() == [2]  # 2 / 7 without the fact, and c has 3 / 8


@pytest.mark.parametrize("seed", range(3))
def test_rules_for_one_direction_answer_the_other_backwards(seed: int) -> None:
    graph = random_graph(seed, entities=9, relations=2, count=22)
    way = Aggregation("count")
    search, plain = both(graph, random_rules(graph, seed, both=False), way)
    reached = 0
    for head, relation in product(range(graph.n_entities), range(2 * graph.n_relations)):
        fired = plain.fired(head, relation)
        heads = np.full(graph.n_entities, head, np.int32)
        tails = np.arange(graph.n_entities, dtype=np.int32)
        scores = search.score(heads, np.full_like(heads, relation), tails)
        back = search.score(tails, np.full_like(heads, graph.inverse(relation)), heads)
        assert scores == pytest.approx([plain.value(fired.get(e, []), e, relation) for e in tails.tolist()])
        assert scores == pytest.approx(back)
        reached += len(fired)
    assert reached > 100
    assert search.encoded.turned.sum() * 2 == search.encoded.n_chains


def test_one_chain_for_the_inverse_is_enough_to_read_none_backwards() -> None:
    graph = graph_of([("a", "s", "b"), ("b", "t", "a"), ("a", "r", "c")])
    one = [(Rule("r", ("s",)), {"confidence": 0.5})]
    assert RuleSearcher(encode_rules(RuleSet(one), graph), Aggregation()).score(*query(graph, "b", "~r", "a")) == [0.5]
    two = [*one, (Rule("~r", ("~t",)), {"confidence": 0.25})]
    search = RuleSearcher(encode_rules(RuleSet(two), graph), Aggregation())
    assert search.score(*query(graph, "b", "~r", "a")) == [0]
    assert not search.encoded.turned.any()


def query(graph: Graph, head: str, relation: str, tail: str) -> tuple[Ids, Ids, Ids]:
    return columns(ids(graph, head, relation, tail))


def test_rules_that_name_what_the_graph_lacks_are_left_out() -> None:
    graph = random_graph(7, entities=9, relations=2, count=22)
    rules = random_rules(graph, 7)
    foreign = [
        Rule("r9", ("r0",)),
        Rule("r0", ("r1", "r9")),
        Rule("~r0", ("~r9",)),
        Rule("r9", ("r0",), ("e0", "e1")),
        Rule("r0", ("r9",), ("e0", "e1")),
        Rule("r0", ("r1",), ("nobody", "e1")),
        Rule("r0", ("r1",), ("e0", "nobody")),
        Rule("r0", ("r9",), ("e0", None)),
    ]
    more = RuleSet([*rules, *((rule, {"confidence": 0.9}) for rule in foreign)])
    encoded = encode_rules(more, graph)
    assert len(encoded.rows) == len(encode_rules(rules, graph).rows)
    heads, relations, tails = all_queries(graph)
    np.testing.assert_array_equal(
        RuleSearcher(encoded, Aggregation()).score(heads, relations, tails),
        RuleSearcher(encode_rules(rules, graph), Aggregation()).score(heads, relations, tails),
    )
    kept = [more[int(row)].rule for row in encoded.rows]
    assert not set(kept) & set(foreign)


@pytest.mark.parametrize("rules", [[], [Rule("r9", ("r8",))], [Rule("r0", ("r9",), ("e0", None))]])
def test_nothing_fires_without_rules(rules: list[Rule]) -> None:
    graph = random_graph(8, entities=9, relations=2, count=22)
    search = RuleSearcher(encode_rules(RuleSet(rules), graph), Aggregation())
    heads, relations, answers = all_queries(graph)
    assert not search.score(heads, relations, answers).any()
    assert (search.answer(heads, relations, 2)[0] == -1).all()
    ranks = search.rank(heads, relations, answers, graph)
    assert not ranks.covered.any()
    assert not ranks.candidates.any()


# What a user types.

FACTS = [
    ("ann", "born_in", "Paris"),
    ("ann", "lives_in", "Lyon"),
    ("bob", "born_in", "Bonn"),
    ("Paris", "city_of", "France"),
    ("Lyon", "city_of", "France"),
    ("Bonn", "city_of", "Germany"),
    ("cid", "nationality", "France"),
]
RULES = RuleSet(
    [
        (Rule("nationality", ("born_in", "city_of")), {"score": 0.8}),
        (Rule("nationality", ("lives_in", "city_of")), {"score": 0.4}),
        (Rule("~nationality", ("~city_of", "~born_in")), {"score": 0.5}),
        (Rule("nationality", ("born_in",), ("France", "Paris")), {"score": 0.7}),
        (Rule("nationality", ("born_in",), ("Germany", None)), {"score": 0.1}),
    ]
)
GRAPH = graph_of(FACTS)


def reasoner(rules: RuleSet = RULES, way: Aggregation | None = None) -> Tabular:
    """A learner with rules that were not learned."""
    mark = DataMark("people", "", 0, 0, 0)
    choice = Choice.fixed(way or Aggregation("count", by="score"), "it is given")
    return Tabular.from_saved(SavedModel("tabular", {}, mark, GRAPH.vocabulary, Learned(rules, choice)))


def ask(head: str, relation: str, k: int = 5, graph: Graph = GRAPH, **options: Any) -> list[tuple[str, float]]:
    (answers,) = reasoner().answer([(head, relation)], k, graph=graph, **options)
    return [(a.entity, round(a.score, 6)) for a in answers]


def test_answers_by_name_in_both_directions() -> None:
    assert ask("ann", "nationality") == [("France", 1.9), ("Germany", 0.1)]
    assert ask("ann", "nationality", 1) == [("France", 1.9)]
    assert ask("ann", "nationality", 10**14) == ask("ann", "nationality")
    assert ask("Germany", "~nationality") == [("bob", 0.6), ("ann", 0.1)]
    assert ask("Paris", "nationality") == []
    assert ask("ann", "born_in") == []


def test_scores_of_triples() -> None:
    triples = [("ann", "nationality", "France"), ("ann", "nationality", "cid"), ("France", "~nationality", "ann")]
    assert reasoner().score(triples, graph=GRAPH) == pytest.approx([1.9, 0, 1.2])
    assert reasoner().score([], graph=GRAPH) == []


def test_candidates_are_limited_by_range_or_by_name() -> None:
    assert ask("ann", "nationality", candidates="range") == [("France", 1.9)]
    assert ask("bob", "nationality", candidates="range") == []
    assert ask("ann", "nationality", candidates=["Germany", "bob"]) == [("Germany", 0.1)]
    assert ask("ann", "nationality", candidates=iter(["Germany"])) == [("Germany", 0.1)]
    assert ask("Germany", "~nationality", candidates="range") == []


def test_known_facts_are_left_out_by_name() -> None:
    others = graph_of([("zoe", "nationality", "Spain"), ("ann", "nationality", "France"), ("x", "likes", "y")])
    assert ask("ann", "nationality", known=others) == [("Germany", 0.1)]
    assert ask("France", "~nationality", known=[GRAPH, others]) == []
    germans = graph_of([("ann", "nationality", "Germany")])
    assert ask("ann", "nationality", known=[others, germans]) == []
    assert ask("ann", "nationality", known=[]) == ask("ann", "nationality")


def test_many_queries_come_back_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stablerule.reasoning.reasoner.BLOCK", 3)
    asked = [("ann", "nationality"), ("Germany", "~nationality"), ("bob", "nationality"), ("Paris", "nationality")] * 2
    found = list(reasoner().answer(iter(asked), 5, graph=GRAPH))
    assert [[(a.entity, round(a.score, 6)) for a in answers] for answers in found] == [ask(*q) for q in asked]
    assert list(reasoner().answer([], graph=GRAPH)) == []


def test_queries_are_taken_as_they_are_needed() -> None:
    def endless() -> Iterable[tuple[str, str]]:
        while True:
            yield "ann", "nationality"

    assert next(iter(reasoner().answer(endless(), graph=GRAPH)))[0].entity == "France"


def test_another_graph_with_new_entities_needs_no_learning() -> None:
    facts = [("eve", "born_in", "Rome"), ("Rome", "city_of", "Italy")]
    # It has no `nationality`, so it can't be asked for; with one fact of it, it can.
    with pytest.raises(UnknownRelation, match="nationality"):
        ask("eve", "nationality", graph=graph_of(facts))
    assert ask("eve", "nationality", graph=graph_of([*facts, ("leo", "nationality", "Italy")])) == [("Italy", 0.8)]
    model = reasoner()
    again = [[a.entity for a in next(model.answer([("ann", "nationality")], graph=GRAPH))]]
    next(model.answer([("eve", "nationality")], graph=graph_of([*facts, ("leo", "nationality", "Italy")])))
    again.append([a.entity for a in next(model.answer([("ann", "nationality")], graph=GRAPH))])
    assert again == [["France", "Germany"]] * 2


def test_what_can_not_be_asked() -> None:
    with pytest.raises(UnknownEntity, match="Closest: 'ann'"):
        ask("anne", "nationality")
    with pytest.raises(UnknownRelation, match="Closest: 'nationality'"):
        reasoner().score([("ann", "nationalty", "France")], graph=GRAPH)
    for k in (0, -1, True, 1.5):
        with pytest.raises(OptionError, match="'k' must be a whole number of at least 1, got"):
            ask("ann", "nationality", k)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'k' must be"):
        reasoner().answer([], 0, graph=GRAPH)  # at once, not when the first answer is wanted
    with pytest.raises(InputError, match=r"A triple must be \(head, relation, tail\).*got \('ann', 'nationality'\)"):
        reasoner().score([("ann", "nationality")], graph=GRAPH)  # type: ignore[list-item]
    with pytest.raises(OptionError, match="'candidates' is an empty list"):
        ask("ann", "nationality", candidates=[])
    with pytest.raises(OptionError, match="must be 'all', 'range' or a list of names, got 'rang'"):
        ask("ann", "nationality", candidates="rang")
    with pytest.raises(UnknownEntity, match="Closest: 'France'"):
        ask("ann", "nationality", candidates=["Frances"])
    for wrong in (("ann",), ("ann", "nationality", "France"), "an"):
        with pytest.raises(InputError, match=r"A query must be \(head, relation\)"):
            list(reasoner().answer([wrong], graph=GRAPH))  # type: ignore[list-item]


def test_natural_mistakes_are_told() -> None:
    dataset: Any = Dataset.from_names("people", train=FACTS)
    nothing: Any = None
    assert ask("ann", "nationality", known=None) == ask("ann", "nationality")
    with pytest.raises(InputError, match="'graph' must be a Graph, got a Dataset. Pass dataset.graph"):
        ask("ann", "nationality", graph=dataset)
    with pytest.raises(InputError, match="'graph' must be a Graph, got 'people'"):
        ask("ann", "nationality", graph="people")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="got a Dataset. Pass dataset.known"):
        ask("ann", "nationality", known=dataset)
    with pytest.raises(InputError, match=r"got \('ann', 'born_in', 'Paris'\). A list of triples becomes a graph with"):
        ask("ann", "nationality", known=FACTS)
    with pytest.raises(InputError, match="'known' must be a Graph or a list of them, got 7"):
        ask("ann", "nationality", known=7)
    with pytest.raises(OptionError, match="'candidates' must be 'all', 'range' or a list of names, got None"):
        ask("ann", "nationality", candidates=None)
    with pytest.raises(InputError, match=r"'queries' must be a list of \(head, relation\), got None"):
        reasoner().answer(nothing, graph=GRAPH)
    with pytest.raises(InputError, match=r"'triples' must be a list of \(head, relation, tail\), got None"):
        reasoner().score(nothing, graph=GRAPH)
    with pytest.raises(InputError, match="'valid' is part of the dataset"):
        Tabular().fit(dataset, dataset.valid)
    with pytest.raises(InputError, match="'graph' must be a Graph, got 'people'"):
        Tabular().fit("people")  # type: ignore[arg-type]


def test_ranks_of_a_learner_are_those_of_its_search() -> None:
    rows = np.array([ids(GRAPH, "ann", "nationality", name) for name in ("France", "Germany", "cid")], np.int32)
    ranks = reasoner().rank(Triples(rows), graph=GRAPH, known=GRAPH)
    assert ranks.best.tolist() == [1, 2, 3]
    assert ranks.covered.tolist() == [True, True, False]
    assert ranks.candidates.tolist() == [2, 2, 2]


def test_the_verbs_of_a_learner(tmp_path: Path) -> None:
    graph = households(families=4, seed=0).dataset.graph
    model = Tabular(walks=20_000, rules_per_relation=20).fit(graph)
    words = graph.vocabulary
    heads, tails = graph.facts(words.relation_id("grandparent_of"))
    head, tail = words.entity_name(int(heads[0])), words.entity_name(int(tails[0]))
    (answers,) = model.answer([(head, "grandparent_of")], k=50)
    assert tail in [a.entity for a in answers]
    assert [a.score for a in answers] == sorted((a.score for a in answers), reverse=True)
    (score,) = model.score([(head, "grandparent_of", tail)])
    assert score == pytest.approx(next(a.score for a in answers if a.entity == tail))
    assert model.explain(head, "grandparent_of", tail) == model.explain((head, "grandparent_of", tail))
    assert model.why_not(head, "grandparent_of", tail) == model.why_not((head, "grandparent_of", tail))
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").score([(head, "grandparent_of", tail)]) == [score]
    with pytest.raises(InputError, match=r"is not fitted. Call fit\(graph\) first."):
        list(Tabular().answer([(head, "grandparent_of")]))
