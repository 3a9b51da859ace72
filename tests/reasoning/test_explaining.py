"""Reasons for answers, held against plain enumeration and the facts of the graph."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, Rule, RuleSet, Tabular, households, load
from stablerule.errors import InputError, UnknownEntity, UnknownRelation
from stablerule.reasoning import Explanation
from stablerule.reasoning.aggregation import Aggregation, AggregationName
from stablerule.reasoning.evidence import COLUMNS, KINDS, LEAST
from stablerule.reasoning.explaining import Reasons, explain
from stablerule.reasoning.grounding import Paths
from stablerule.reasoning.search import Search
from stablerule.reasoning.shares import Fired, learned_parts, shares_of
from stablerule.reasoning.theory import encode_rules
from stablerule.reasoning.weighing import AGGREGATIONS, How
from stablerule.reasoning.why_not import why_not
from tests.paths.plain import simple_paths
from tests.worlds import random_graph

ANY_WEIGHTS = tuple(np.random.default_rng(0).normal(size=len(COLUMNS)).tolist())


def searched(graph: Graph, rules: RuleSet, name: AggregationName = "count", top: int = 0) -> Search:
    weights = {"*": ANY_WEIGHTS} if name == "learned" else {}
    return Search(encode_rules(rules, graph), Aggregation(name, top=top, weights=weights))


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


def all_explanations(search: Search) -> list[tuple[tuple[str, str, str], list[Explanation]]]:
    words, found = search.graph.vocabulary, []
    for relation in range(2 * search.graph.n_relations):
        for head in range(search.graph.n_entities):
            reasons = Reasons(search, head, relation)
            for tail in range(search.graph.n_entities):
                triple = words.entity_name(head), words.relation_name(relation), words.entity_name(tail)
                found.append((triple, reasons.behind(tail)))
    return found


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
    assert sorted(Paths(graph, start, end).along(tuple(body), most=10**6)) == sorted(expected)


def test_between_hubs_only_the_first_paths_are_walked() -> None:
    first, second, third = ([f"{level}{i}" for i in range(100)] for level in "abc")
    facts = [("start", "r", one) for one in first] + [(one, "r", "end") for one in third]
    facts += [
        (one, "r", other) for here, there in ((first, second), (second, third)) for one in here for other in there
    ]
    graph = Dataset.from_names("hubs", train=facts).graph  # with a million paths from start to end
    words = graph.vocabulary
    ways = Paths(graph, words.entity_id("start"), words.entity_id("end"))
    assert len(list(ways.along((0, 0, 0, 0), most=3))) == 3
    assert ways.looked_at < 1000


FAMILY = [
    ("Ann", "parent_of", "Bob"),
    ("Ann", "parent_of", "Cid"),
    ("Ann", "lives_in", "Rome"),
    ("Bob", "lives_in", "Rome"),
    ("Cid", "lives_in", "Oslo"),
    ("Dan", "speaks", "Italian"),
    ("Bob", "speaks", "Italian"),
]


def family(rules: dict[str, float], name: AggregationName = "binary", top: int = 0) -> Search:
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
    assert str(by_head[0]) == "80%  speaks(X, 'Italian') <- lives_in(X, 'Rome')  by Ann - Rome"
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
        ("count", 0, [0.5 * 1, 0.2 * 4]),
        ("log_count", 0, [0.5 * np.log(2), 0.2 * np.log(5)]),
        ("binary", 0, [0.5, 0.2]),
        ("max_plus", 0, [0.5, 0.2]),
        ("noisy_or", 0, [-np.log(0.5), -np.log(0.8)]),
        ("noisy_or", 1, [1, 0]),
    ],
)
def test_shares_are_the_parts_of_a_sum(name: str, top: int, parts: list[float]) -> None:
    fired = Fired(np.array([0.5, 0.2]), np.array([1.0, 4.0]), np.array([0, 0]))
    found = shares_of(fired, How(AGGREGATIONS.index(name), top, np.zeros(0)))
    assert found == pytest.approx(np.array(parts) / sum(parts))


def test_shares_where_no_rule_has_a_part() -> None:
    two = np.array([1.0, 1.0])
    against = How(AGGREGATIONS.index("learned"), 0, -np.ones(len(COLUMNS)))
    assert shares_of(Fired(np.array([0.6, 0.2]), two, np.array([0, 1])), against) == pytest.approx([0.75, 0.25])
    worthless = Fired(np.zeros(2), two, np.array([0, 0]))
    assert shares_of(worthless, How(0, 0, np.zeros(0))) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("seed", range(5))
def test_the_parts_of_learned_are_what_the_rules_add_to_its_score(seed: int) -> None:
    """All parts together are the blend of the candidate's evidence less that of one without any rule."""
    graph = random_graph(seed, count=25)
    search = searched(graph, random_rules(graph, seed), "learned")
    blend = dict(zip(COLUMNS, ANY_WEIGHTS, strict=True))
    nothing = np.log(LEAST / (1 - LEAST))
    floor = sum(blend[f"log odds {kind}: best 1"] * nothing for kind in KINDS)
    compared = 0
    for relation in range(2 * graph.n_relations):
        popularity = np.bincount(graph.facts(relation)[1], minlength=graph.n_entities)
        for head in range(graph.n_entities):
            reasons = Reasons(search, head, relation)
            for tail in range(graph.n_entities):
                fired = reasons.fired_for(tail)
                if fired is None:
                    continue
                query = (np.array([one], np.int32) for one in (head, relation, tail))
                score = search.score(*query)[0]
                other = blend["log facts with this tail"] * np.log1p(popularity[tail])
                other += blend["log edges"] * np.log1p(graph.degrees[tail])
                total = learned_parts(fired, blend).sum() + other + floor + blend["one"]
                assert 1 / (1 + np.exp(-total)) == pytest.approx(score, rel=1e-3, abs=1e-6)
                compared += 1
    assert compared > 100


def test_an_answer_without_reasons_has_no_explanation() -> None:
    search = family({"speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5})
    assert explain(search, "Dan", "speaks", "Rome") == []


def test_records_become_text_and_plain_values() -> None:
    search = family({"speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5})
    (reason,) = explain(search, "Ann", "speaks", "Italian")
    assert reason.lines() == [
        "100%  speaks(X, Y) <- parent_of(X, A), speaks(A, Y)",
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
    found = why_not(family({"speaks(X, Y) <- speaks(X, Y)": 0.5}), "Ann", "lives_in", "Oslo")
    assert (found.reason, found.found, found.known, found.rules, found.score) == (
        "no rule for the relation",
        False,
        False,
        0,
        0.0,
    )
    assert "there is no rule for lives_in" in str(found)


def test_why_not_without_a_path() -> None:
    rules = {
        "speaks(X, 'Italian') <- lives_in(X, 'Rome')": 0.9,
        "speaks(X, Y) <- parent_of(X, A), speaks(A, Y)": 0.5,
        "speaks(X, Y) <- lives_in(X, A), parent_of(A, Y)": 0.4,
        "speaks(X, 'Italian') <- parent_of(X, A)": 0.3,
    }
    found = why_not(family(rules), "Cid", "speaks", "Italian")
    assert found.reason == "rules but no path"
    assert not found.found
    assert found.rank.best > 0
    constant, chain, second = found.attempts
    assert (constant.start, constant.taken, constant.relation) == ("Cid", 0, "lives_in")
    assert constant.outcome == "ends at step 1 of 1: no lives_in from 'Cid' to 'Rome'"
    assert (chain.taken, chain.relation, chain.reached, chain.names) == (0, "parent_of", 1, ("Cid",))
    assert (second.taken, second.relation, second.names) == (1, "parent_of", ("Oslo",))
    assert second.outcome == "ends at step 2 of 2: no parent_of from 'Oslo'"
    assert json.loads(json.dumps(found.to_json()))["attempts"][2]["taken"] == 1
    elsewhere = why_not(family(rules), "Ann", "speaks", "Oslo").attempts[0]
    assert elsewhere.relation is None
    assert elsewhere.outcome == "leads from 'Ann' to 'Italian', not there"
    by_tail = why_not(family(rules), "Italian", "~speaks", "Cid").attempts[0]
    assert by_tail.start == "Cid"


def test_why_not_where_all_rules_are_about_others() -> None:
    found = why_not(family({"speaks(X, 'Italian') <- lives_in(X, 'Rome')": 0.9}), "Ann", "speaks", "Oslo")
    assert (found.reason, found.rules, found.attempts) == ("rules but no path", 1, ())
    assert found.lines()[1:] == [
        "It is no answer: the rule for speaks does not lead there.",
        "It is about other entities.",
    ]


def test_a_path_that_passes_an_entity_twice_is_none() -> None:
    graph = Dataset.from_names("loop", train=[("a", "r", "b"), ("b", "r", "c"), ("c", "r", "b")]).graph
    search = searched(graph, RuleSet([(Rule("q", ("r", "r", "r")), {"confidence": 0.5})]))
    assert not len(search.encoded.theory.bodies)  # q is no relation of this graph
    search = searched(graph, RuleSet([(Rule("r", ("r", "r", "r")), {"confidence": 0.5})]))
    found = why_not(search, "a", "r", "b")
    assert found.reason == "rules but no path"
    assert found.attempts[0].outcome == "leads there from 'a' only by paths that pass an entity twice"
    assert found.known


def test_why_not_names_those_above() -> None:
    rules = {
        "lives_in(X, Y) <- parent_of(X, A), lives_in(A, Y)": 0.6,
        "lives_in(X, 'Oslo') <- parent_of(X, 'Cid')": 0.9,
    }
    found = why_not(family(rules, "max_plus"), "Ann", "lives_in", "Rome")
    assert (found.reason, found.found, found.known) == ("outranked", True, True)
    assert (found.rank.best, found.rank.worst) == (2, 2)
    (rival,) = found.above
    assert (rival.entity, rival.known, rival.facts) == ("Oslo", False, 1)
    assert rival.best.rule.rule.constants == ("Oslo", "Cid")
    assert rival.score == pytest.approx(0.9)
    assert "rank 2, score 0.600" in str(found)
    assert "  'Oslo'  0.900" in found.lines()
    first = why_not(family(rules, "max_plus"), "Ann", "lives_in", "Oslo")
    assert (first.reason, first.above, first.known) == ("answer is first", (), False)
    # Rome is left out of the ranks of new answers, being known; it does not stand above Oslo anyway.
    assert first.rank == first.rank_among_new


def test_the_head_itself_may_stand_above() -> None:
    """Nobody is told that Ann is her own parent, but ranks count her."""
    rules = {"parent_of(X, 'Ann') <- lives_in(X, A)": 0.9, "parent_of(X, Y) <- lives_in(X, A), lives_in(Y, A)": 0.5}
    found = why_not(family(rules), "Ann", "parent_of", "Bob")
    assert found.rank.best == 2
    assert [rival.entity for rival in found.above] == ["Ann"]


def test_known_answers_above_are_told_apart() -> None:
    rules = {"lives_in(X, 'Rome') <- parent_of(X, A)": 0.9, "lives_in(X, 'Oslo') <- parent_of(X, A)": 0.5}
    found = why_not(family(rules), "Ann", "lives_in", "Oslo")
    assert (found.rank.best, found.rank_among_new.best) == (2, 1)
    assert found.place == "rank 2 (rank 1 without other known facts)"
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
    for (head, relation), answers in zip(queries, model.answer(queries, k=5), strict=True):
        for place, answer in enumerate(answers, 1):
            assert sum(e.share for e in model.explain((head, relation, answer.entity))) == pytest.approx(1)
            rank = model.why_not((head, relation, answer.entity)).rank
            assert rank.best <= place <= rank.worst


def test_what_makes_no_sense_is_refused() -> None:
    model = Tabular(walks=1000, max_length=2)
    with pytest.raises(InputError, match="has not learned anything yet"):
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
    with pytest.raises(InputError, match="must be text"):
        model.explain(("e1", "r0", 3))  # type: ignore[arg-type]
