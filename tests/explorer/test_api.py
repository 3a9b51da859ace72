"""The API says what the library says, bounds what may be asked, and answers what makes no sense with the way out."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from stablerule.explorer.explored import Explored
from stablerule.explorer.web.app import make_api
from stablerule.explorer.web.limits import Workers
from stablerule.rules import read_rules
from tests.explorer.everything import call_everything
from tests.explorer.small import HOSTILE, explore_small, learn_hostile, open_api


@pytest.fixture(scope="module")
def explored() -> Explored:
    return explore_small()


@pytest.fixture(scope="module")
def api(explored: Explored) -> TestClient:
    return open_api(explored)


def choose_head(explored: Explored) -> str:
    """Return somebody with a sibling."""
    words = explored.graph.vocabulary
    return words.entity_name(int(explored.graph.facts(words.relation_id("sibling_of"))[0][0]))


def get(api: TestClient, place: str, **asked: Any) -> Any:
    answer = api.get(f"/api/v1/{place}", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refuse(api: TestClient, status: int, place: str, **asked: Any) -> str:
    answer = api.get(f"/api/v1/{place}", params=asked)
    assert answer.status_code == status, answer.text
    return str(answer.json()["problem"])


def test_answers_are_those_of_the_model(explored: Explored, api: TestClient) -> None:
    opened, head = explored.opened, choose_head(explored)
    for relation in ("sibling_of", "~parent_of"):
        found = get(api, "answer", head=head, relation=relation, k=5, reasons=2)
        (expected,) = opened.model.answer([(head, relation)], 5, explain=True, most_reasons=2)
        assert [(a["entity"], a["score"]) for a in found["answers"]] == [(a.entity, a.score) for a in expected]
        for shown, answer in zip(found["answers"], expected, strict=True):
            assert [r["share"] for r in shown["reasons"]] == [r.share for r in answer.reasons]
            assert [r["rule"]["rule"] for r in shown["reasons"]] == [str(r.rule.rule) for r in answer.reasons]
            assert shown["reasons"][0]["groundings"][0]["entities"] == list(answer.reasons[0].groundings[0])
    new = get(api, "answer", head=head, relation="sibling_of", k=50, new=True)["answers"]
    assert new
    assert {answer["split"] for answer in new} == {None}
    together = api.post("/api/v1/answers", json={"queries": [{"head": head, "relation": "sibling_of"}], "k": 5})
    assert (
        together.json()[0]["answers"][0]["entity"]
        == get(api, "answer", head=head, relation="sibling_of")["answers"][0]["entity"]
    )


def test_an_answer_is_explained_and_another_doubted(explored: Explored, api: TestClient) -> None:
    head = choose_head(explored)
    best, *_, last = get(api, "answer", head=head, relation="sibling_of", k=20)["answers"]
    why = get(api, "explain", head=head, relation="sibling_of", tail=best["entity"], most=1000)
    reasons = explored.opened.explain((head, "sibling_of", best["entity"]))
    assert (why["rules"], why["score"], why["split"]) == (len(reasons), best["score"], best["split"])
    assert sum(reason["share"] for reason in why["reasons"]) == pytest.approx(1)
    doubt = get(api, "why-not", head=head, relation="sibling_of", tail=last["entity"])
    expected = explored.opened.why_not((head, "sibling_of", last["entity"]))
    assert doubt["reason"] == "outranked"
    assert doubt["rank"] == list(expected.rank)
    assert [rival["entity"] for rival in doubt["above"]] == [rival.entity for rival in expected.above]
    triple = {"head": head, "relation": "sibling_of", "tail": best["entity"]}
    assert api.post("/api/v1/score", json={"triples": [triple]}).json() == {"scores": [best["score"]]}


def test_a_rule_that_is_off_does_not_count(explored: Explored, api: TestClient) -> None:
    head = choose_head(explored)
    before = get(api, "answer", head=head, relation="sibling_of", k=30)["answers"]
    off = before[0]["reasons"][0]["rule"]["rule"]
    without = get(api, "answer", head=head, relation="sibling_of", k=30, reasons=50, off=off)
    used = {reason["rule"]["rule"] for answer in without["answers"] for reason in answer["reasons"]}
    assert off not in used
    assert used
    assert without["off"] == [off]
    places = {answer["entity"]: answer["rank"] for answer in before}
    assert all(answer["rank_before"] == places.get(answer["entity"]) for answer in without["answers"])
    assert "no rule" in refuse(
        api, 404, "answer", head=head, relation="sibling_of", off="sibling_of(X, Y) <- nothing(X, Y)"
    )


def test_entities_are_shown_page_by_page(explored: Explored, api: TestClient) -> None:
    known, words = explored.known, explored.graph.vocabulary
    entity = int(known.degrees.argmax())
    name = words.entity_name(entity)
    shown = get(api, "entity", name=name)
    assert shown["facts"] == known.degrees[entity]
    assert sum(group["count"] for group in shown["groups"]) == shown["facts"]
    for group in shown["groups"]:
        whole = get(api, "entity", name=name, relation=group["relation"])["groups"][0]
        tails = known.tails(entity, words.relation_id(group["relation"]))
        assert [one["name"] for one in whole["entities"]] == words.entities.names_of(tails).to_list()[:50]
        for one in whole["entities"]:
            asked = entity, words.relation_id(group["relation"]), words.entity_id(one["name"])
            assert one["split"] == explored.opened.split_with(*asked)
    assert get(api, "entity", name=f"id:{entity}")["name"] == name
    assert get(api, "entity", name=name, page=99)["groups"] == []


def test_a_neighbourhood_is_bounded_and_says_what_is_folded(explored: Explored, api: TestClient) -> None:
    known = explored.known
    name = explored.graph.vocabulary.entity_name(int(known.degrees.argmax()))
    for most in (1, 5, 200):
        drawn = get(api, "neighbourhood", name=name, most=most)
        names = {one["name"] for one in drawn["entities"]}
        assert name in names
        assert len(names) <= most + 1
        assert all({link["head"], link["tail"]} <= names for link in drawn["links"])
        own = {
            (link["head"], link["relation"], link["tail"])
            for link in drawn["links"]
            if name in (link["head"], link["tail"])
        }
        assert len(own) + sum(one["count"] for one in drawn["folded"]) == known.degrees.max()


def test_likely_facts_are_new_and_in_order(explored: Explored, api: TestClient) -> None:
    words, found = explored.graph.vocabulary, 0
    for entity in range(0, explored.graph.n_entities, 7):
        name = words.entity_name(entity)
        facts = get(api, "likely", name=name)["facts"]
        found += len(facts)
        chances = [fact["probability"] or 0 for fact in facts]
        assert chances == sorted(chances, reverse=True)
        for fact in facts:
            assert name in (fact["head"], fact["tail"])
            ids = words.entity_id(fact["head"]), words.relation_id(fact["relation"]), words.entity_id(fact["tail"])
            assert explored.opened.split_with(*ids) is None
    assert found


def test_rules_are_filtered_paged_and_exported(explored: Explored, api: TestClient, tmp_path: Any) -> None:
    some: dict[str, Any] = {"head_relation": "sibling_of", "kind": "chains", "body_relation": "parent_of"}
    page = get(api, "rules", **some, sort="support", size=3)
    expected = explored.rules.filter(**some).sort("support")
    assert [one["rule"] for one in page["rules"]] == [str(expected[i].rule) for i in range(3)]
    assert (page["total"], page["pages"]) == (len(expected), -(-len(expected) // 3))
    for form in ("json", "parquet", "text", "tsv", "anyburl", "amie"):
        answer = api.get("/api/v1/rules/export", params=some | {"format": form})
        (tmp_path / form).write_bytes(answer.content)
        assert answer.headers["content-disposition"].startswith('attachment; filename="rules.')
        assert len(read_rules(tmp_path / form, form).rules) == len(expected)


def test_a_rule_shows_where_it_holds_and_where_it_fails(explored: Explored, api: TestClient) -> None:
    words, fails = explored.graph.vocabulary, 0
    for kind in ("chains", "constants"):
        for one in get(api, "rules", kind=kind, sort="confidence", descending=False, size=5)["rules"]:
            page = get(api, "rule", rule=one["rule"], seed=3)
            assert page["right"] <= page["conclusions"]
            fails += len(page["fails"])
            relation = words.relation_id(one["head_relation"])
            for example in [*page["holds"], *page["fails"]]:
                asked = words.entity_id(example["head"]), relation, words.entity_id(example["tail"])
                assert explored.opened.split_with(*asked) == example["split"]
                assert example["path"] is not None
                assert len(example["path"]["facts"]) == len(one["body"])
                for fact in example["path"]["facts"]:
                    ids = (
                        words.entity_id(fact["head"]),
                        words.relation_id(fact["relation"]),
                        words.entity_id(fact["tail"]),
                    )
                    assert explored.opened.split_with(*ids) == "train"
            assert one["rule"] not in {alike["rule"]["rule"] for alike in page["alike"]}
    assert fails


def test_new_facts_come_in_pages_that_join(explored: Explored, api: TestClient) -> None:
    pages, start = [], 0
    while start is not None:
        page = get(api, "complete", relation="sibling_of", start=start, heads=20)
        pages += page["facts"]
        start = page["next"]
    found = explored.model.complete(graph=explored.graph, known=explored.known, relations=["sibling_of"], top="all")
    assert {(f["head"], f["tail"], f["score"]) for f in pages} == {(f.head, f.tail, f.score) for f in found}


def test_what_makes_no_sense_is_a_problem_with_the_way_out(api: TestClient) -> None:
    assert "Closest: 'sibling_of'" in refuse(api, 404, "answer", head="id:0", relation="sibling_off")
    assert "No entity 'nobody'" in refuse(api, 404, "entity", name="nobody")
    assert "k: " in refuse(api, 422, "answer", head="id:0", relation="sibling_of", k=1001)
    assert "relation: Field required" in refuse(api, 422, "answer", head="id:0")
    assert "expected '('" in refuse(api, 422, "rule", rule="x")
    assert refuse(api, 404, "nothing") == "There is no page /api/v1/nothing."
    assert refuse(api, 405, "score") == "Method Not Allowed"
    assert "is an inverse" in refuse(api, 422, "complete", relation="~sibling_of")
    many = {"queries": [{"head": "id:0", "relation": "sibling_of"}] * 101}
    assert api.post("/api/v1/answers", json=many).status_code == 422


def test_hostile_names_are_data_and_nothing_else() -> None:
    api = open_api(Explored(learn_hostile()))
    for name in HOSTILE:
        shown = get(api, "entity", name=name)
        assert shown["name"] == name
        assert get(api, "search", text=name[:100])[0]["name"] == name
        assert get(api, "neighbourhood", name=name)["center"] == name
        get(api, "likely", name=name)
        get(api, "answer", head=name, relation="in\u202e&", reasons=5)


def test_what_takes_too_long_is_given_up_and_does_not_block() -> None:
    explored, go = explore_small(), threading.Event()
    workers = Workers(threads=2, seconds=0.2, waiting=0)
    api = open_api(explored, workers=workers)

    def find_slowly(*_: object) -> list[Any]:
        go.wait(10)
        return []

    explored.index.find = find_slowly  # type: ignore[method-assign,assignment]
    with api:
        slow = [threading.Thread(target=lambda: refuse(api, 503, "search", text="a")) for _ in range(2)]
        for thread in slow:
            thread.start()
        for thread in slow:
            thread.join()  # nobody waits any more, but the work goes on
        assert "Too many requests" in refuse(api, 503, "model")
        go.set()
        deadline = time.monotonic() + 5
        while api.get("/api/v1/model").status_code != 200:
            assert time.monotonic() < deadline


@pytest.mark.slow
def test_nothing_that_the_schema_allows_is_an_error_of_ours() -> None:
    call_everything(make_api(Explored(learn_hostile())), examples=15)
