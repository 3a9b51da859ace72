"""The JSON API that only reads: what `stablerule serve` offers, and the pages as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Query, Response

from stablerule.explorer.views.answers import (
    MOST_ANSWERS,
    MOST_REASONS,
    MOST_TRIPLES,
    AnswersView,
    Candidates,
    ExplanationView,
    WhyNotView,
    ask,
    explain_answer,
    explain_why_not,
    score_triples,
)
from stablerule.explorer.views.completion import MOST_HEADS, CompletionPage, complete_page
from stablerule.explorer.views.entity import EntityView, show_entity
from stablerule.explorer.views.home import FindingView, GraphView, ModelView, find_findings, show_graph, show_model
from stablerule.explorer.views.likely import LikelyFacts, find_likely_facts
from stablerule.explorer.views.neighbourhood import MOST, USUAL, Neighbourhood, draw_neighbourhood
from stablerule.explorer.views.paging import LONGEST_PAGE
from stablerule.explorer.views.records import FactView
from stablerule.explorer.views.rule import RulePage, show_rule
from stablerule.explorer.views.rules import (
    SIZE,
    FormatName,
    RuleFilter,
    RulesView,
    SortName,
    export_rules,
    list_rules,
)
from stablerule.explorer.views.search import Hit
from stablerule.explorer.web.problems import Problem
from stablerule.reasoning.wanted import WantedFacts

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored
    from stablerule.explorer.web.limits import Workers

PREFIX = "/api/v1"
LONGEST_NAME, MOST_OFF, MOST_QUERIES, MOST_PAGES = 20_000, 50, 100, 1_000_000
MEDIA = {"json": "application/json", "parquet": "application/vnd.apache.parquet"}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": what}
    for code, what in (
        (404, "A name that is not in the graph: says the closest ones"),
        (413, "The request is too large"),
        (422, "Something asked for makes no sense: says what"),
        (503, "Too busy, or it took too long"),
    )
}

Name = Annotated[str, Query(min_length=1, max_length=LONGEST_NAME, description="A name of the graph.")]
Relation = Annotated[str, Query(min_length=1, max_length=LONGEST_NAME, description="A relation; ~name is its inverse.")]
Page = Annotated[int, Query(ge=1, le=MOST_PAGES)]
Off = Annotated[list[str], Query(max_length=MOST_OFF, description="Rules that do not count, by their text.")]


@dataclass(frozen=True)
class Asked:
    """A query (head, relation, ?)."""

    head: str
    relation: str


@dataclass(frozen=True)
class Queries:
    """Some queries, and how many answers to each."""

    queries: Annotated[list[Asked], Body(min_length=1, max_length=MOST_QUERIES)]
    k: Annotated[int, Body(ge=1, le=MOST_ANSWERS)] = 10
    new: bool = False
    candidates: Candidates = "all"
    reasons: Annotated[int, Body(ge=0, le=MOST_REASONS)] = 0


@dataclass(frozen=True)
class Triples:
    """Triples to score."""

    triples: Annotated[list[FactView], Body(min_length=1, max_length=MOST_TRIPLES)]


@dataclass(frozen=True)
class Scores:
    """The score of each triple, in their order."""

    scores: list[float]


def read_rule_filter(
    head_relation: Annotated[str | None, Query(max_length=LONGEST_NAME)] = None,
    body_relation: Annotated[str | None, Query(max_length=LONGEST_NAME, description="Either way round.")] = None,
    kind: Literal["chains", "constants"] | None = None,
    max_length: Annotated[int | None, Query(ge=1, le=100)] = None,
    min_support: Annotated[float | None, Query(ge=0)] = None,
    min_confidence: Annotated[float | None, Query(ge=0, le=1)] = None,
    inverse: Annotated[bool, Query(description="Also rules that conclude an inverse.")] = True,
) -> RuleFilter:
    """Read which rules are wanted from an address."""
    return RuleFilter(head_relation, body_relation, kind, max_length, min_support, min_confidence, inverse)


Wishes = Annotated[RuleFilter, Depends(read_rule_filter)]


def make_read_api(explored: Explored, workers: Workers) -> APIRouter:
    """Return the routes that ask a model and change nothing."""
    router, run = APIRouter(prefix=PREFIX, responses=PROBLEMS), workers.run

    @router.get("/model", tags=["model"])
    async def model() -> ModelView:
        """Return what the model is: method, data, rules, calibration."""
        return await run(show_model, explored)

    @router.get("/graph", tags=["graph"])
    async def graph() -> GraphView:
        """Return what the graph is: sizes, degrees, relations."""
        return await run(show_graph, explored)

    @router.get("/findings", tags=["graph"])
    async def findings() -> list[FindingView]:
        """Return what the data check finds; the first time takes seconds on a large graph."""
        return await run(explored.remember, "findings", lambda: find_findings(explored))

    @router.get("/search", tags=["graph"])
    async def search(
        text: Annotated[str, Query(max_length=LONGEST_NAME, description="The beginning of a name, or a part of it.")],
        most: Annotated[int, Query(ge=1, le=50)] = 10,
        kind: Literal["entity", "relation"] | None = None,
    ) -> list[Hit]:
        """Return names that begin so or hold the text; the closest ones where none does."""
        return await run(explored.index.find, text, most, kind)

    @router.get("/entity", tags=["graph"])
    async def entity(
        name: Name, relation: Annotated[str | None, Query(max_length=LONGEST_NAME)] = None, page: Page = 1
    ) -> EntityView:
        """Return the facts of an entity by relation, or a page of those of one relation."""
        return await run(show_entity, explored, name, relation=relation, page=page)

    @router.get("/neighbourhood", tags=["graph"])
    async def neighbourhood(name: Name, most: Annotated[int, Query(ge=1, le=MOST)] = USUAL) -> Neighbourhood:
        """Return an entity with some neighbours along each relation, and the facts between them."""
        return await run(draw_neighbourhood, explored, name, most=most)

    @router.get("/likely", tags=["answers"])
    async def likely(name: Name, most: Annotated[int, Query(ge=1, le=100)] = 20) -> LikelyFacts:
        """Return new facts about an entity, the most likely first."""
        return await run(find_likely_facts, explored, name, most=most)

    @router.get("/rules", tags=["rules"])
    async def rules(
        wanted: Wishes,
        sort: SortName | None = None,
        descending: bool = True,
        page: Page = 1,
        size: Annotated[int, Query(ge=1, le=LONGEST_PAGE)] = SIZE,
    ) -> RulesView:
        """Return a page of the rules that meet all conditions."""
        return await run(list_rules, explored, wanted, sort=sort, descending=descending, page=page, size=size)

    @router.get("/rules/export", tags=["rules"], response_class=Response)
    async def rules_export(
        wanted: Wishes,
        format: FormatName,  # noqa: A002
    ) -> Response:
        """Return the rules that meet all conditions as a file."""
        content, suffix = await run(export_rules, explored, wanted, format)
        headers = {"content-disposition": f'attachment; filename="rules{suffix}"'}
        return Response(content, media_type=MEDIA.get(format, "text/plain; charset=utf-8"), headers=headers)

    @router.get("/rule", tags=["rules"])
    async def rule(
        rule: Annotated[str, Query(min_length=1, max_length=3 * LONGEST_NAME, description="Its text.")],
        seed: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> RulePage:
        """Return a rule with examples where it holds and where it fails, and rules that say nearly the same."""
        return await run(show_rule, explored, rule, seed=seed)

    @router.get("/answer", tags=["answers"])
    async def answer(
        head: Name,
        relation: Relation,
        k: Annotated[int, Query(ge=1, le=MOST_ANSWERS)] = 10,
        new: Annotated[bool, Query(description="Leave out what is known in train, valid or test.")] = False,
        candidates: Candidates = "all",
        reasons: Annotated[int, Query(ge=0, le=MOST_REASONS)] = 1,
        off: Off = [],  # noqa: B006  # FastAPI makes a new one
    ) -> AnswersView:
        """Return the best answers to (head, relation, ?)."""
        return await run(ask, explored, head, relation, k=k, new=new, candidates=candidates, reasons=reasons, off=off)

    @router.post("/answers", tags=["answers"])
    async def answers(asked: Queries) -> list[AnswersView]:
        """Return the best answers to several queries."""

        def answer_all() -> list[AnswersView]:
            more = {"k": asked.k, "new": asked.new, "candidates": asked.candidates, "reasons": asked.reasons}
            return [ask(explored, one.head, one.relation, **more) for one in asked.queries]  # type: ignore[arg-type]

        return await run(answer_all)

    @router.get("/explain", tags=["answers"])
    async def explain(
        head: Name,
        relation: Relation,
        tail: Name,
        most: Annotated[int, Query(ge=1, le=1000)] = 20,
        off: Off = [],  # noqa: B006
    ) -> ExplanationView:
        """Return the rules that lead from head to tail, by which facts."""
        return await run(explain_answer, explored, head, relation, tail, most=most, off=off)

    @router.get("/why-not", tags=["answers"])
    async def why_not(head: Name, relation: Relation, tail: Name) -> WhyNotView:
        """Return the rank of (head, relation, tail) among the answers, and why it is not higher."""
        return await run(explain_why_not, explored, head, relation, tail)

    @router.post("/score", tags=["answers"])
    async def score(asked: Triples) -> Scores:
        """Return the score of each triple."""
        return Scores(await run(score_triples, explored, asked.triples))

    @router.get("/complete", tags=["answers"])
    async def complete(
        relation: Relation,
        start: Annotated[int, Query(ge=0, le=2**31)] = 0,
        heads: Annotated[int, Query(ge=1, le=MOST_HEADS, description="How many heads to ask.")] = 200,
        per_query: Annotated[int, Query(ge=1, le=100)] = 10,
        min_probability: Annotated[float | None, Query(ge=0, le=1)] = None,
        threshold: Annotated[float | None, Query(ge=0)] = None,
        second_values: bool = False,
        unlinked: bool = False,
    ) -> CompletionPage:
        """Return the new facts about some heads of a relation; `next` is the start of the next page."""
        wanted = WantedFacts(
            top="all",
            per_query=per_query,
            min_probability=min_probability,
            threshold=threshold,
            second_values=second_values,
            unlinked=unlinked,
        )
        return await run(complete_page, explored, relation, wanted, start=start, heads=heads)

    return router
