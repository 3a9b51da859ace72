"""Reasons for answers, held against plain enumeration and the facts of the graph."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Rule, RuleSet, Tabular, households, load
from stablerule.errors import InputError, OptionError, UnknownEntity, UnknownRelation
from stablerule.graph.triples import Ids
from stablerule.reasoning import Explanation
from stablerule.reasoning.completing import complete
from stablerule.reasoning.queries import encode_triples
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.evidence import COLUMNS
from stablerule.reasoning.scoring.explain import find_chain_paths, find_first_rules_of_reasons
from stablerule.reasoning.scoring.score import AGGREGATIONS, Aggregation, AggregationName
from stablerule.reasoning.scoring.theory import encode_rules
from stablerule.reasoning.whynot import WhyNot
from stablerule.reasoning.whynot import explain_why_not as doubt
from tests.paths.plain import simple_paths
from tests.reasoning import plain
from tests.worlds import random_graph

ANY_WEIGHTS = tuple(np.random.default_rng(0).normal(size=len(COLUMNS)).tolist())


def searched(graph: Graph, rules: RuleSet, name: AggregationName = "count", top: int = 0) -> RuleSearcher:
    weights = {"*": ANY_WEIGHTS} if name == "learned" else {}
    return RuleSearcher(encode_rules(rules, graph), Aggregation(name, top=top, weights=weights))


def explain(search: RuleSearcher, *triple: str) -> list[Explanation]:
    asked = encode_triples([triple], search.graph.vocabulary)
    return list(search.name_reasons(*asked, search.explain(*asked)[1])[0])


def explain_why_not(search: RuleSearcher, *triple: str) -> WhyNot:
    return doubt(search, *encode_triples([triple], search.graph.vocabulary))


def all_queries(graph: Graph) -> tuple[Ids, Ids]:
    heads, relations = np.meshgrid(np.arange(graph.n_entities), np.arange(2 * graph.n_relations))
    return heads.ravel().astype(np.int32), relations.ravel().astype(np.int32)


def names_of(graph: Graph, path: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(graph.vocabulary.entity_name(entity) for entity in path)


def facts_of(graph: Graph) -> set[tuple[str, ...]]:
    return set(graph.vocabulary.decode(graph.triples).rows())


def random_rules(graph: Graph, seed: int) -> RuleSet:
    """Chains of all lengths and rules with constants, on the relations of a graph."""
    rng = np.random.default_rng(seed)
    relations = [graph.vocabulary.relation_name(r) for r in range(2 * graph.n_relations)]
    entities = list(graph.vocabulary.entities)
    chains = {Rule(rng.choice(relations), tuple(rng.choice(relations, rng.integers(1, 5)))) for _ in range(60)}
    constants = {
        Rule(
            rng.choice(relations),
            (str(rng.choice(relations)),),
            (str(rng.choice(entities)), None if rng.random() < 0.3 else str(rng.choice(entities))),
        )
        for _ in range(200)
    }
    named = sorted(Rule(str(r.head_relation), tuple(map(str, r.body)), r.constants) for r in chains | constants)
    return RuleSet([(rule, {"confidence": float(rng.random())}) for rule in named])


def all_explanations(search: RuleSearcher) -> list[tuple[tuple[str, str, str], list[Explanation]]]:
    words = search.graph.vocabulary
    heads, relations = (np.repeat(column, search.graph.n_entities) for column in all_queries(search.graph))
    tails = np.tile(np.arange(search.graph.n_entities, dtype=np.int32), len(heads) // search.graph.n_entities)
    reasons = search.name_reasons(heads, relations, tails, search.explain(heads, relations, tails)[1])
    asked = zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
    triples = [(words.entity_name(h), words.relation_name(r), words.entity_name(t)) for h, r, t in asked]
    return [(triple, list(why)) for triple, why in zip(triples, reasons, strict=True)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_every_reason_of_random_rules_stands_in_the_graph(name: AggregationName, seed: int) -> None:
    graph = random_graph(seed, count=25)
    facts, fired = facts_of(graph), 0
    for triple, reasons in all_explanations(searched(graph, random_rules(graph, seed), name)):
        head, relation, tail = triple
        if reasons:
            assert sum(e.share for e in reasons) == pytest.approx(1)
            assert [e.share for e in reasons] == sorted((e.share for e in reasons), reverse=True)
        for reason in reasons:
            fired += 1
            rule = reason.rule.rule
            assert len(reason.groundings) == min(3, reason.paths)
            for path, behind in zip(reason.groundings, reason.facts, strict=True):
                assert set(behind) <= facts
                assert len(behind) == len(path) - 1 == rule.length
                x, y = (head, tail) if rule.head_relation == relation else (tail, head)
                assert path[0] == x
                if rule.constants is None:
                    assert path[-1] == y
                    assert len(set(path)) == len(path)
                else:
                    assert rule.constants[0] == y
                    assert rule.constants[1] in (None, path[-1])
    assert fired > 500


@pytest.mark.parametrize("seed", range(4))
def test_paths_of_chains_are_those_of_plain_enumeration(seed: int) -> None:
    graph = random_graph(seed, count=25)
    words = graph.vocabulary
    rules = random_rules(graph, seed).filter(kind="chains")
    search = searched(graph, rules)
    expected: dict[tuple[tuple[str, str, str], Rule], list[tuple[str, ...]]] = {}
    heads = set(rules.relations)
    for rule in (scored.rule for scored in rules):
        body = tuple(words.relation_id(step) for step in rule.body)
        back = words.relation_name(graph.inverse(words.relation_id(rule.head_relation)))
        for start in range(graph.n_entities):
            for path in simple_paths(graph, start, body):
                named = names_of(graph, path)
                expected.setdefault(((named[0], rule.head_relation, named[-1]), rule), []).append(named)
                if back not in heads:  # such a rule also answers the inverse
                    expected.setdefault(((named[-1], back, named[0]), rule), []).append(named)
    found = {(triple, e.rule.rule): e for triple, reasons in all_explanations(search) for e in reasons}
    assert found.keys() == expected.keys()
    for key, reason in found.items():
        assert reason.paths == len(expected[key])
        assert set(reason.groundings) <= set(expected[key])
        assert len(set(reason.groundings)) == len(reason.groundings)


@given(st.integers(0, 10_000), st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_all_paths_between_two_entities(seed: int, body: list[int]) -> None:
    graph = random_graph(seed % 50, count=20)
    start, end = seed % graph.n_entities, (seed // 7) % graph.n_entities
    expected = [path for path in simple_paths(graph, start, tuple(body)) if path[-1] == end]
    if len(body) == 1 and not expected:
        return  # the rule did not fire, and nobody asks
    paths = np.full((len(expected) + 1, len(body) + 1), -1, np.int32)
    assert find_chain_paths(graph.stepped, start, end, np.array(body, np.int32), len(body), paths) == len(expected)
    assert sorted(map(tuple, paths[: len(expected)].tolist())) == sorted(expected)


FAMILY = [
    ("Ann", "parent_of", "Bob"),
    ("Ann", "parent_of", "Cid"),
    ("Ann", "lives_in", "Rome"),
    ("Bob", "lives_in", "Rome"),
    ("Cid", "lives_in", "Oslo"),
    ("Dan", "speaks", "Italian"),
    ("Bob", "speaks", "Italian"),
]


def family(rules: dict[str, float], name: AggregationName = "binary", top: int = 0) -> RuleSearcher:
    graph = Dataset.from_names("family", train=FAMILY).graph
    ruleset = RuleSet([(Rule.parse(text), {"confidence": weight}) for text, weight in rules.items()])
    return searched(graph, ruleset, name, top)


def test_a_rule_with_a_constant_explains_from_either_end() -> None:
    search = family({"speaks(X, 'Italian') <- lives_in(X, 'Rome')": 0.8, "speaks(X, 'Italian') <- lives_in(X, A)": 0.2})
    by_head = explain(search, "Ann", "speaks", "Italian")
    by_tail = explain(search, "Italian", "~speaks", "Ann")
    assert by_head == by_tail
    assert [e.share for e in by_head] == pytest.approx([0.8, 0.2])
    assert [e.facts for e in by_head] == [((("Ann", "lives_in", "Rome"),),)] * 2
    assert str(by_head[0]) == "80% of the score: speaks(X, 'Italian') <- lives_in(X, 'Rome')  by Ann - Rome"
    # Cid is not in Rome: only the other rule fires.
    (only,) = explain(search, "Cid", "speaks", "Italian")
    assert only.facts == ((("Cid", "lives_in", "Oslo"),),)


def test_the_fact_that_is_asked_for_is_not_its_own_reason_where_there_is_another() -> None:
    search = family({"parent_of(X, 'Bob') <- parent_of(X, A)": 0.5})
    (reason,) = explain(search, "Ann", "parent_of", "Bob")
    assert reason.facts == ((("Ann", "parent_of", "Cid"),),)
    (reason,) = explain(search, "Bob", "~parent_of", "Ann")
    assert reason.facts == ((("Ann", "parent_of", "Cid"),),)


def test_a_rule_read_backwards_is_shown_as_it_stands() -> None:
    search = family({"speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5})
    (there,), (back,) = explain(search, "Ann", "speaks", "Italian"), explain(search, "Italian", "~speaks", "Ann")
    assert there == back
    assert back.groundings == (("Ann", "Bob", "Italian"),)
    assert back.facts == ((("Ann", "parent_of", "Bob"), ("Bob", "speaks", "Italian")),)


@pytest.mark.parametrize(
    ("name", "top", "parts"),
    [
        ("count", 0, [0.5 * 2, 0.2 * 1]),
        ("log_count", 0, [0.5 * np.log(3), 0.2 * np.log(2)]),
        ("binary", 0, [0.5, 0.2]),
        ("max_plus", 0, [0.5, 0.2]),
        ("noisy_or", 0, [-np.log(0.5), -np.log(0.8)]),
        ("noisy_or", 1, [-np.log(0.5), 0]),
    ],
)
def test_shares_are_the_parts_of_a_sum(name: AggregationName, top: int, parts: list[float]) -> None:
    rules = {"speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5, "speaks(X, 'Italian') <- lives_in(X, 'Rome')": 0.2}
    facts = [*FAMILY, ("Cid", "speaks", "Italian")]
    graph = Dataset.from_names("family", train=facts).graph  # two paths from Ann to Italian
    ruleset = RuleSet([(Rule.parse(text), {"confidence": weight}) for text, weight in rules.items()])
    found = explain(searched(graph, ruleset, name, top), "Ann", "speaks", "Italian")
    assert [e.part for e in found] == pytest.approx(parts)
    assert [e.share for e in found] == pytest.approx(np.array(parts) / sum(parts))


def test_shares_where_no_rule_has_a_part() -> None:
    rules = {"speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.6, "speaks(X, 'Italian') <- lives_in(X, 'Rome')": 0.2}
    against = Aggregation("learned", weights={"*": (-1.0,) * len(COLUMNS)})
    found = explain(family(rules).with_aggregation(against), "Ann", "speaks", "Italian")
    assert [e.share for e in found] == pytest.approx([0.75, 0.25])
    assert all(e.part < 0 for e in found)
    worthless = family(dict.fromkeys(rules, 0.0))
    assert [e.share for e in explain(worthless, "Ann", "speaks", "Italian")] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("name", ["count", "log_count", "binary", "noisy_or", "learned"])
@pytest.mark.parametrize("seed", range(5))
def test_parts_of_rules_and_the_rest_add_up_to_the_score(name: AggregationName, seed: int) -> None:
    """By the plain reference: the rest of `learned` is what its evidence is worth without any rule."""
    graph = random_graph(seed, count=25)
    rules = random_rules(graph, seed)
    search = searched(graph, rules, name)
    reference = plain.Plain(graph, rules, search.ways.aggregation)
    heads, relations = all_queries(graph)
    found, scores, reasons = search.answer(heads, relations, graph.n_entities, reasons=10**6)
    assert reasons is not None
    sums = np.add.reduceat(np.append(reasons.parts, 0), reasons.starts[:-1]) + reasons.rest
    for query, place in zip(*np.nonzero(found >= 0), strict=True):
        answer = query * found.shape[1] + place
        entity, relation = int(found[query, place]), int(relations[query])
        if name == "learned":
            without = reference.evidence([], entity, relation)
            assert reasons.rest[answer] == pytest.approx(float(np.dot(ANY_WEIGHTS, without)), rel=1e-9)
        else:
            assert reasons.rest[answer] == 0
        shown = search.ways.shown(relation, sums[[answer]])[0]
        assert shown == pytest.approx(scores[query, place], rel=1e-3, abs=1e-6)
    assert (found >= 0).sum() > 100


@given(st.integers(0, 10_000), st.sampled_from(AGGREGATIONS))
@settings(max_examples=30)
def test_completing_answering_and_explaining_give_one_reason_for_one_fact(seed: int, name: AggregationName) -> None:
    """On every fact that completing finds, each asked again as a triple and as a query."""
    graph = random_graph(seed % 100, count=20)
    words, search = graph.vocabulary, searched(graph, random_rules(graph, seed), name)
    facts = list(complete(search, per_query=graph.n_entities, candidates="all", domain="all", top="all"))
    asked = encode_triples([(fact.head, fact.relation, fact.tail) for fact in facts], words)
    scores, reasons = search.explain(*asked)
    explained = search.name_reasons(*asked, reasons)
    found, _, noted = search.answer(*asked[:2], graph.n_entities, reasons=1)
    assert noted is not None
    answered = find_first_rules_of_reasons(noted).reshape(found.shape)
    first = reasons.rules[reasons.starts[:-1]]
    for i, fact in enumerate(facts):
        best = explained[i][0]
        assert scores[i] == fact.score
        assert fact.rule == str(best.rule.rule)
        turned = best.groundings[0][0] != fact.head and best.rule.rule.constants is None
        assert fact.path == best.groundings[0][:: -1 if turned else 1]
        assert answered[i, found[i] == asked[2][i]] == first[i]


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_reasons_change_no_answer_and_every_answer_has_some(seed: int) -> None:
    graph = random_graph(seed % 100, count=20)
    search = searched(graph, random_rules(graph, seed), "learned")
    heads, relations = all_queries(graph)
    plainly, with_reasons = (search.answer(heads, relations, 4, reasons=reasons) for reasons in (0, 2))
    assert np.array_equal(plainly.entities, with_reasons.entities)
    assert np.array_equal(plainly.scores, with_reasons.scores)
    assert plainly.reasons is None
    assert with_reasons.reasons is not None
    kept = np.diff(with_reasons.reasons.starts)
    assert ((kept > 0) == (plainly.entities >= 0).ravel()).all()
    assert kept.max(initial=0) <= 2


def test_an_answer_without_reasons_has_no_explanation() -> None:
    search = family({"speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5})
    assert explain(search, "Dan", "speaks", "Rome") == []


def test_records_become_text_and_plain_values() -> None:
    search = family({"speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5})
    (reason,) = explain(search, "Ann", "speaks", "Italian")
    assert reason.lines() == [
        "100% of the score: speaks(X, Y) <- parent_of(X, A), speaks(A, Y)",
        "      parent_of('Ann', 'Bob'), speaks('Bob', 'Italian')",
    ]
    plain = json.loads(json.dumps(reason.to_json()))
    assert plain["groundings"] == [
        {
            "entities": ["Ann", "Bob", "Italian"],
            "facts": [["Ann", "parent_of", "Bob"], ["Bob", "speaks", "Italian"]],
        }
    ]
    assert plain["numbers"] == {"confidence": 0.5}
    assert Rule.parse(plain["rule"]) == reason.rule.rule


def test_why_not_without_a_rule() -> None:
    found = explain_why_not(family({"speaks(X, Y) <- speaks(X, Y)": 0.5}), "Ann", "lives_in", "Oslo")
    assert (found.reason, found.found, found.known, found.rules, found.score) == (
        "no rule for the relation",
        False,
        False,
        0,
        0.0,
    )
    assert "no rule for lives_in applies to this graph" in str(found)


def test_why_not_without_a_path() -> None:
    rules = {
        "speaks(X, 'Italian') <- lives_in(X, 'Rome')": 0.9,
        "speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5,
        "speaks(X, Y) <- lives_in(X, A), parent_of(A, Y)": 0.4,
        "speaks(X, 'Italian') <- parent_of(X, A)": 0.3,
    }
    found = explain_why_not(family(rules), "Cid", "speaks", "Italian")
    assert found.reason == "rules but no path"
    assert not found.found
    assert found.rank.best > 0
    constant, chain, second = found.attempts
    assert (constant.start, constant.taken, constant.relation) == ("Cid", 0, "lives_in")
    assert constant.outcome == "stops at step 1 of 1: no lives_in from 'Cid' to 'Rome'"
    assert (chain.taken, chain.relation, chain.reached, chain.names) == (0, "parent_of", 1, ("Cid",))
    assert (second.taken, second.relation, second.names) == (1, "parent_of", ("Oslo",))
    assert second.outcome == "stops at step 2 of 2: no parent_of from 'Oslo'"
    assert json.loads(json.dumps(found.to_json()))["attempts"][2]["taken"] == 1
    elsewhere = explain_why_not(family(rules), "Ann", "speaks", "Oslo").attempts[0]
    assert elsewhere.relation is None
    assert elsewhere.outcome == "reaches 'Italian' from 'Ann', but not this answer"
    by_tail = explain_why_not(family(rules), "Italian", "~speaks", "Cid").attempts[0]
    assert by_tail.start == "Cid"


def test_why_not_where_all_rules_are_about_others() -> None:
    found = explain_why_not(family({"speaks(X, 'Italian') <- lives_in(X, 'Rome')": 0.9}), "Ann", "speaks", "Oslo")
    assert (found.reason, found.rules, found.attempts) == ("rules but no path", 1, ())
    assert found.lines()[1:] == [
        "It is not predicted: the only rule for speaks does not reach it.",
        "The rule is about other entities.",
    ]


def test_a_path_that_passes_an_entity_twice_is_none() -> None:
    graph = Dataset.from_names("loop", train=[("a", "r", "b"), ("b", "r", "c"), ("c", "r", "b")]).graph
    search = searched(graph, RuleSet([(Rule("q", ("r", "r", "r")), {"confidence": 0.5})]))
    assert not len(search.encoded.theory.bodies)  # q is no relation of this graph
    search = searched(graph, RuleSet([(Rule("r", ("r", "r", "r")), {"confidence": 0.5})]))
    found = explain_why_not(search, "a", "r", "b")
    assert found.reason == "rules but no path"
    assert found.attempts[0].outcome == "reaches it from 'a' only by paths that visit an entity twice"
    assert found.known


def test_why_not_names_those_above() -> None:
    rules = {
        "lives_in(X, Y) <- parent_of(X, A), lives_in(A, Y)": 0.6,
        "lives_in(X, 'Oslo') <- parent_of(X, 'Cid')": 0.9,
    }
    found = explain_why_not(family(rules, "max_plus"), "Ann", "lives_in", "Rome")
    assert (found.reason, found.found, found.known) == ("outranked", True, True)
    assert (found.rank.best, found.rank.worst) == (2, 2)
    (rival,) = found.above
    assert (rival.entity, rival.known, rival.facts) == ("Oslo", False, 1)
    assert rival.best.rule.rule.constants == ("Oslo", "Cid")
    assert rival.score == pytest.approx(0.9)
    assert "rank 2, score 0.600" in str(found)
    assert "  'Oslo'  0.900" in found.lines()
    first = explain_why_not(family(rules, "max_plus"), "Ann", "lives_in", "Oslo")
    assert (first.reason, first.above, first.known) == ("answer is first", (), False)
    # Rome is left out of the ranks of new answers, being known; it does not stand above Oslo anyway.
    assert first.rank == first.rank_among_new


def test_the_head_itself_may_stand_above() -> None:
    """Nobody is told that Ann is her own parent, but ranks count her."""
    rules = {"parent_of(X, 'Ann') <- lives_in(X, A)": 0.9, "parent_of(X, Y) <- lives_in(X, A), lives_in(Y, A)": 0.5}
    found = explain_why_not(family(rules), "Ann", "parent_of", "Bob")
    assert found.rank.best == 2
    assert [rival.entity for rival in found.above] == ["Ann"]


def test_known_answers_above_are_told_apart() -> None:
    rules = {"lives_in(X, 'Rome') <- parent_of(X, A)": 0.9, "lives_in(X, 'Oslo') <- parent_of(X, A)": 0.5}
    found = explain_why_not(family(rules), "Ann", "lives_in", "Oslo")
    assert (found.rank.best, found.rank_among_new.best) == (2, 1)
    assert found.place == "rank 2 (rank 1 without other known answers)"
    assert found.above[0].known


def test_a_learner_explains() -> None:
    geography = load("geography")
    model = Tabular(max_length=2, walks=50_000, aggregation="noisy_or").fit(geography.graph)
    triple = ("Lyon", "in_continent", "Europe")
    reasons = model.explain(triple)
    assert ("Lyon", "France", "Europe") in [path for e in reasons for path in e.groundings]
    assert model.why_not(triple).reason == "answer is first"
    facts = facts_of(geography.graph)
    assert all(set(behind) <= facts for e in reasons for behind in e.facts)
    # The rules are used on another graph, with entities that nobody has seen.
    other = Dataset.from_names(
        "other", train=[("Minas Tirith", "city_in", "Gondor"), ("Gondor", "in_continent", "Middle-earth")]
    ).graph
    best = model.explain(("Minas Tirith", "in_continent", "Middle-earth"), graph=other)[0]
    assert best.groundings == (("Minas Tirith", "Gondor", "Middle-earth"),)


def test_every_answer_of_a_learner_has_reasons() -> None:
    graph = households(families=3, seed=0).dataset.graph
    model = Tabular(walks=20_000, aggregation="max_plus").fit(graph)
    people = list(graph.vocabulary.entities)[:3]
    queries = [(person, relation) for person in people for relation in ("sibling_of", "~parent_of")]
    for (head, relation), answers in zip(
        queries, model.answer(queries, k=5, explain=True, most_reasons=None), strict=True
    ):
        for place, answer in enumerate(answers, 1):
            assert list(answer.reasons) == model.explain((head, relation, answer.entity))
            assert sum(e.share for e in model.explain((head, relation, answer.entity))) == pytest.approx(1)
            rank = model.why_not((head, relation, answer.entity)).rank
            assert rank.best <= place <= rank.worst


def test_what_makes_no_sense_is_refused() -> None:
    model = Tabular(walks=1000, max_length=2)
    with pytest.raises(InputError, match=r"is not fitted. Call fit\(graph\) first."):
        model.explain(("a", "r", "b"))
    model.fit(random_graph(0))
    with pytest.raises(UnknownEntity, match="No entity 'nobody'"):
        model.explain(("nobody", "r0", "e1"))
    with pytest.raises(UnknownRelation, match="No relation 'likes'"):
        model.why_not(("e1", "likes", "e2"))
    with pytest.raises(UnknownEntity, match="No entity 'nobody'"):
        model.why_not(("e1", "r0", "nobody"))
    for wrong in (("e1", "r0"), "e1", ("e1", "r0", "e2", "e3"), None):
        with pytest.raises(InputError, match="A triple must be"):
            model.explain(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be a string"):
        model.explain(("e1", "r0", 3))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'most_reasons' must be a whole number of at least 1, got 0"):
        model.answer([("e1", "r0")], explain=True, most_reasons=0)
