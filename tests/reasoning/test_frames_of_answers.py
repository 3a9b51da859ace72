"""Answers, reasons, new facts and evaluations as frames, and what a notebook shows of them."""

from __future__ import annotations

import polars as pl
import pytest

from stablerule import Dataset, Tabular, evaluate, households, to_pandas
from stablerule.reasoning.answers import Answers

WORLD = households(families=4, seed=0).dataset
GROUPS = [f"{relation} or so" for relation in WORLD.frame("test")["relation"]]


@pytest.fixture(scope="module")
def model() -> Tabular:
    return Tabular(walks=20_000, max_length=2).fit(WORLD)


def test_answers_are_rows(model: Tabular) -> None:
    queries = [(h, r) for h, r, *_ in WORLD.frame("test").rows()[:5]]
    lists = list(model.answer(queries, k=4, explain=True))
    frame = pl.concat(answers.to_frame() for answers in lists)
    rows = [
        (*query, rank, one.entity, one.score, str(one.reasons[0].rule.rule) if one.reasons else None)
        for query, answers in zip(queries, lists, strict=True)
        for rank, one in enumerate(answers, 1)
    ]
    assert frame.select("head", "relation", "rank", "entity", "score", "rule").rows() == rows
    assert Answers().to_frame().schema == frame.schema  # none at all has the same columns
    assert to_pandas(frame)["entity"].tolist() == frame["entity"].to_list()


def test_reasons_and_new_facts_are_rows(model: Tabular) -> None:
    fact = next(model.complete())
    reasons = model.explain(fact.head, fact.relation, fact.tail)
    frame = reasons.to_frame()
    assert frame["rule"].to_list() == [str(one.rule.rule) for one in reasons]
    assert frame["share"].sum() == pytest.approx(1)
    assert tuple(frame["path"][0]) == reasons[0].groundings[0]
    assert frame["confidence"].to_list() == [one.rule.confidence for one in reasons]
    found = model.complete(top=5).to_frame()
    facts = list(model.complete(top=5))
    assert found.select("head", "relation", "tail").rows() == [(f.head, f.relation, f.tail) for f in facts]
    assert found["score"].to_list() == [f.score for f in facts]
    rest = model.complete(top=5)
    next(rest)
    assert rest.to_frame().equals(found[1:])


def test_an_evaluation_has_a_row_for_each_query(model: Tabular) -> None:
    found = evaluate(model, WORLD, resamples=2, groups=GROUPS)
    frame = found.to_frame()
    assert (1 / frame["rank"]).mean() == pytest.approx(found.mrr)
    asked = {row[:3] for row in WORLD.frame("test").rows()}
    assert {row[:3] for row in frame.rows()} == asked
    by_end = dict(frame.group_by("asked").agg((1 / pl.col("rank")).mean()).rows())
    assert by_end == {end: pytest.approx(row.mrr) for end, row in found.by_direction().items()}
    assert set(frame["group"]) == set(GROUPS)
    assert (found.to_frame("optimistic")["rank"] <= frame["rank"]).all()


def test_notebooks_show_tables_with_escaped_names(model: Tabular) -> None:
    odd = Dataset.from_names("<b>", train=[("<script>", "r", "x")])
    shown = odd._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "<td>train</td><td>1</td>" in shown
    assert "(not fitted)" in Tabular()._repr_html_()
    for words in ("trained on", "rules", "aggregation", "probabilities"):
        assert f"<td>{words}</td>" in model._repr_html_()
    found = evaluate(model, WORLD, resamples=2)
    assert f"<td>realistic</td><td>{found.mrr:.3f}</td>" in found._repr_html_()
    (answers,) = model.answer([WORLD.frame("test").row(0)[:2]])
    assert answers[0].entity in answers._repr_html_()
    assert "share" in model.explain(*WORLD.frame("test").row(0)[:3])._repr_html_()
