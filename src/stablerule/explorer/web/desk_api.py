"""The JSON API that writes: the queue, decisions and jobs."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Form, Header, Path, Query, Response, UploadFile
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from stablerule.explorer.decisions.candidates import Order, Queue, QueueFilter, Show, list_candidates
from stablerule.explorer.decisions.deciding import (
    LONGEST_COMMENT,
    LONGEST_KEY,
    LONGEST_WHO,
    Decision,
    Decisions,
    Verdict,
    decide,
    list_decisions,
    undo_decision,
)
from stablerule.explorer.decisions.exports import ENDINGS, DecisionFormat, export_decisions
from stablerule.explorer.decisions.precision import Precision, measure_precision
from stablerule.explorer.jobs.completing import MOST, check_completion_options
from stablerule.explorer.jobs.jobs import Job
from stablerule.explorer.web.api import LONGEST_NAME, PREFIX, PROBLEMS, Page
from stablerule.explorer.web.safety import UPLOAD

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stablerule.explorer.desk import Desk
    from stablerule.explorer.web.limits import Workers
    from stablerule.explorer.web.safety import Door

Number = Annotated[int, Path(ge=1, le=2**53)]
MEDIA = {
    "tsv": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "nt": "application/n-triples",
    "prov": "text/turtle; charset=utf-8",
}
WATCHERS, WATCHED, A_MOMENT, BREATH = 50, 3600, 0.3, 15  # watchers at once; seconds
REFUSED: dict[int | str, dict[str, Any]] = {403: {"description": "Without the token that /session gives"}}


@dataclass(frozen=True)
class Session:
    """csrf: goes into the header X-CSRF-Token of every write. who: decides, unless a decision says otherwise."""

    csrf: str
    who: str


@dataclass(frozen=True)
class NewDecision:
    """What somebody decided; key: names the decision, so that it can be sent twice and counts once."""

    head: Annotated[str, Body(min_length=1, max_length=LONGEST_NAME)]
    relation: Annotated[str, Body(min_length=1, max_length=LONGEST_NAME)]
    tail: Annotated[str, Body(min_length=1, max_length=LONGEST_NAME)]
    verdict: Verdict
    comment: Annotated[str, Body(max_length=LONGEST_COMMENT)] = ""
    who: Annotated[str, Body(max_length=LONGEST_WHO)] = ""
    key: Annotated[str | None, Body(max_length=LONGEST_KEY)] = None


@dataclass(frozen=True)
class NewJob:
    """What to do in the background.

    complete: fill the queue. evaluate: rank the held-out answers. compare: hold the model against the other one.
    relations, top, min_probability, per_query, second_values, unlinked: of `complete`.
    """

    kind: Literal["complete", "evaluate", "compare"]
    relations: Annotated[list[str] | None, Body(max_length=1000)] = None
    top: Annotated[int, Body(ge=1, le=MOST)] = 1000
    min_probability: Annotated[float | None, Body(ge=0, le=1)] = None
    per_query: Annotated[int, Body(ge=1, le=100)] = 10
    second_values: bool = False
    unlinked: bool = False


def make_header_check(door: Door) -> Any:
    """Return what refuses a write that does not carry the token in its header."""

    async def check(x_csrf_token: Annotated[str | None, Header()] = None) -> None:
        if not door.takes_csrf(x_csrf_token):
            raise HTTPException(403, "This write lacks the header X-CSRF-Token. /api/v1/session says what it must be.")

    return Depends(check)


def make_form_check(door: Door) -> Any:
    """Return what refuses a form that does not carry the token of a page from here."""

    async def check(
        x_csrf_token: Annotated[str | None, Header()] = None, csrf: Annotated[str | None, Form()] = None
    ) -> None:
        if not door.takes_csrf(x_csrf_token or csrf):
            raise HTTPException(403, "This form was made by a server that has ended. Load the page again.")

    return Depends(check)


def add_job(desk: Desk, asked: NewJob) -> Job:
    """Put a job in the line, after a look at its options."""
    options = {}
    if asked.kind == "complete":
        given = {name: value for name, value in asdict(asked).items() if name != "kind" and value not in (None, False)}
        options = check_completion_options(desk.explored, given)
    return desk.jobs.add(asked.kind, options)


def make_desk_api(desk: Desk, door: Door, workers: Workers) -> APIRouter:
    """Return the routes for decisions and jobs."""
    router = APIRouter(prefix=PREFIX, responses=PROBLEMS)
    run, store = workers.run, desk.store
    checked: dict[str, Any] = {"dependencies": [make_header_check(door)], "responses": REFUSED}
    watchers = asyncio.Semaphore(WATCHERS)

    @router.get("/session", tags=["decisions"])
    async def session() -> Session:
        """Return the token that writes must carry."""
        return Session(door.csrf, desk.who)

    @router.get("/queue", tags=["decisions"])
    async def queue(
        job: Annotated[int, Query(ge=1, le=2**53)],
        relation: Annotated[str | None, Query(max_length=LONGEST_NAME)] = None,
        min_probability: Annotated[float | None, Query(ge=0, le=1)] = None,
        max_probability: Annotated[float | None, Query(ge=0, le=1)] = None,
        rule: Annotated[str | None, Query(max_length=3 * LONGEST_NAME)] = None,
        show: Show = "open",
        order: Order = "likely",
        page: Page = 1,
    ) -> Queue:
        """Return a page of the candidates of a job, and how far the queue is."""
        wanted = QueueFilter(job, relation, min_probability, max_probability, rule, show)
        return await run(list_candidates, store, wanted, order=order, page=page)

    @router.get("/decisions", tags=["decisions"])
    async def decisions(verdict: Verdict | None = None, page: Page = 1) -> Decisions:
        """Return a page of the decisions that hold, the last one first."""
        return await run(list_decisions, store, verdict=verdict, page=page)

    @router.post("/decisions", tags=["decisions"], **checked)
    async def new_decision(asked: NewDecision) -> Decision:
        """Keep a decision; it is on the disk when the answer comes."""
        more: dict[str, Any] = {"comment": asked.comment, "who": asked.who or desk.who, "key": asked.key}
        triple = asked.head, asked.relation, asked.tail
        return await run(lambda: decide(store, desk.explored, *triple, asked.verdict, **more))

    @router.post("/decisions/{number}/undo", tags=["decisions"], **checked)
    async def undo(number: Number) -> Decision:
        """Take a decision back."""
        return await run(undo_decision, store, number)

    @router.get("/decisions/export", tags=["decisions"], response_class=Response)
    async def export(format: DecisionFormat) -> Response:  # noqa: A002
        """Return all decisions as a file: tsv or parquet, accepted facts as nt, or RDF with provenance."""
        content = await run(export_decisions, store, format, desk.explored.dataset.prefixes)
        headers = {"content-disposition": f'attachment; filename="decisions{ENDINGS[format]}"'}
        return Response(content, media_type=MEDIA[format], headers=headers)

    @router.get("/precision", tags=["decisions"])
    async def precision() -> Precision:
        """Return how many of the decided candidates were right, beside how many were predicted to be."""
        return await run(measure_precision, store, model=desk.explored.sha256)

    @router.get("/jobs", tags=["jobs"])
    async def jobs(kind: Annotated[str | None, Query(max_length=20)] = None) -> list[Job]:
        """Return the jobs of this model, the last one first."""
        return await run(desk.jobs.list_all, kind)

    @router.post("/jobs", tags=["jobs"], **checked)
    async def new_job(asked: NewJob) -> Job:
        """Do something in the background."""
        return await run(add_job, desk, asked)

    @router.post("/shift", tags=["jobs"], **checked)
    async def shift(queries: UploadFile, labels: Annotated[bool, Form()] = False) -> Job:
        """Compare the queries of a file with those that the model was evaluated on; labels: their answers are in it."""
        return await run(desk.jobs.add, "shift", describe_upload(queries, labels=labels), await read_upload(queries))

    @router.get("/jobs/{number}", tags=["jobs"])
    async def job(number: Number) -> Job:
        """Return how far a job is."""
        return await run(desk.jobs.show, number)

    @router.get("/jobs/{number}/result", tags=["jobs"])
    async def result(number: Number) -> Any:
        """Return what a job found, as the command line would; null while it has found nothing."""
        await run(desk.jobs.show, number)
        return await run(desk.jobs.result, number)

    @router.post("/jobs/{number}/cancel", tags=["jobs"], **checked)
    async def cancel(number: Number) -> Job:
        """End a job; what it has found so far is kept."""
        return await run(desk.jobs.cancel, number)

    @router.get("/jobs/{number}/events", tags=["jobs"], response_class=StreamingResponse)
    async def events(number: Number, most: Annotated[int, Query(ge=1, le=WATCHED)] = WATCHED) -> Response:
        """Send how far a job is, whenever that changes, as server-sent events; the last one is called `end`."""
        await run(desk.jobs.show, number)
        if watchers.locked():
            raise HTTPException(503, "Too many are watching. Ask /jobs/{number} now and then.")
        stream = watch_job(desk, workers, number, most, watchers)
        return StreamingResponse(stream, media_type="text/event-stream")

    return router


async def watch_job(
    desk: Desk, workers: Workers, number: int, most: float, watchers: asyncio.Semaphore
) -> AsyncIterator[str]:
    """Yield events until a job is over, or so many seconds have passed."""
    async with watchers:
        before, spoken, end = None, time.monotonic(), time.monotonic() + most
        while time.monotonic() < end and not desk.jobs.is_stopping:
            job = await workers.run(desk.jobs.show, number)
            now = time.monotonic()
            if job != before:
                yield f"event: {'end' if job.is_over else 'progress'}\ndata: {json.dumps(asdict(job))}\n\n"
                before, spoken = job, now
            elif now - spoken > BREATH:
                yield ": still here\n\n"
                spoken = now
            if job.is_over:
                return
            await asyncio.sleep(A_MOMENT)


def describe_upload(queries: UploadFile, *, labels: bool) -> dict[str, Any]:
    """Return what is kept of an upload beside its bytes; its name is text, and never a path."""
    return {"name": (queries.filename or "queries")[:200], "labels": labels}


async def read_upload(queries: UploadFile) -> bytes:
    """Return the bytes of an upload; the wall has limited them already."""
    content = await queries.read(UPLOAD + 1)
    if not content:
        raise HTTPException(
            422, "The file is empty. It must have queries: head, relation, tail by tabs, ? for what is asked."
        )
    return content
