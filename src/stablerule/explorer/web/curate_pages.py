"""The pages where somebody decides: the queue, and what was decided. They work without scripts as well."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Cookie, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException

from stablerule.explorer.decisions.candidates import (
    Order,
    QueueFilter,
    Show,
    list_candidates,
    list_queue_relations,
)
from stablerule.explorer.decisions.deciding import (
    LONGEST_COMMENT,
    LONGEST_KEY,
    LONGEST_WHO,
    Verdict,
    decide,
    find_last_decision,
    list_decisions,
    undo_decision,
)
from stablerule.explorer.decisions.exports import ENDINGS
from stablerule.explorer.decisions.precision import measure_precision
from stablerule.explorer.jobs.completing import MOST
from stablerule.explorer.views.answers import explain_answer
from stablerule.explorer.web.api import LONGEST_NAME, Page
from stablerule.explorer.web.desk_api import NewJob, add_job, make_form_check
from stablerule.explorer.web.pages import API, DRAWING, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from stablerule.explorer.desk import Desk
    from stablerule.explorer.web.limits import Workers
    from stablerule.explorer.web.rendering import Renderer
    from stablerule.explorer.web.safety import Door

SOON = 6  # candidates that are shown beside the first
WHO = "stablerule_who"


def make_curate_pages(desk: Desk, door: Door, workers: Workers, renderer: Renderer) -> APIRouter:
    """Return the pages for decisions."""
    router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
    run, store, links, jobs = workers.run, desk.store, renderer.links, desk.jobs
    checked: dict[str, Any] = {"dependencies": [make_form_check(door)]}

    async def show(template: str, make: Callable[[], dict[str, Any]], **values: Any) -> HTMLResponse:
        return HTMLResponse(await run(lambda: renderer.render(f"{template}.html.jinja", **values, **make())))

    @router.get("/curate")
    async def curate(
        job: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        relation: Text | None = None,
        min_probability: Annotated[float | None, Query(ge=0, le=1)] = None,
        max_probability: Annotated[float | None, Query(ge=0, le=1)] = None,
        rule: Annotated[str | None, Query(max_length=3 * LONGEST_NAME)] = None,
        show_: Annotated[Show, Query(alias="show")] = "open",
        order: Order = "likely",
        page: Page = 1,
        fill: bool = False,
        stablerule_who: Annotated[str, Cookie()] = "",
    ) -> Response:
        def make() -> dict[str, Any]:
            queues = jobs.list_all("complete")
            chosen = jobs.show(job) if job is not None else next(iter(queues), None)
            values: dict[str, Any] = {"queues": queues, "job": chosen, "queue": None, "most": MOST}
            if chosen is None or fill:
                return values
            wanted = QueueFilter(chosen.id, relation, min_probability, max_probability, rule, show_)
            queue = list_candidates(store, wanted, order=order, page=page, size=SOON + 1)
            first = queue.candidates[0] if queue.candidates else None
            return values | {
                "queue": queue,
                "first": first,
                "reasons": _explain_first(desk, first),
                "relations": list_queue_relations(store, chosen.id),
                "last": find_last_decision(store),
                "precision": measure_precision(store, model=desk.explored.sha256),
                "asked": _list_given(wanted, order),
                "endings": ENDINGS,
            }

        json_url = links.to(f"{API}/queue", job=job) if job else f"{API}/jobs?kind=complete"
        who = _read_who(stablerule_who) or desk.who
        scripts = (*DRAWING, "curate.js", "jobs.js")
        return await show("curate", make, here="/curate", json_url=json_url, who=who, key=uuid.uuid4(), scripts=scripts)

    @router.post("/curate/decide", **checked)
    async def decide_form(
        request: Request,
        head: Annotated[str, Form(max_length=LONGEST_NAME)],
        relation: Annotated[str, Form(max_length=LONGEST_NAME)],
        tail: Annotated[str, Form(max_length=LONGEST_NAME)],
        verdict: Annotated[Verdict, Form()],
        key: Annotated[str, Form(max_length=LONGEST_KEY)],
        comment: Annotated[str, Form(max_length=LONGEST_COMMENT)] = "",
        stablerule_who: Annotated[str, Cookie()] = "",
    ) -> Response:
        more = {"comment": comment, "who": _read_who(stablerule_who) or desk.who, "key": key}
        await run(lambda: decide(store, desk.explored, head, relation, tail, verdict, **more))
        return _go_back(request, "/curate")

    @router.post("/curate/undo", **checked)
    async def undo_form(
        request: Request, number: Annotated[int, Form(ge=1)], back: Annotated[str, Form()] = ""
    ) -> Response:
        await run(undo_decision, store, number)
        return _go_back(request, "/decisions" if back == "decisions" else "/curate")

    @router.post("/curate/who", **checked)
    async def who_form(request: Request, who: Annotated[str, Form(max_length=LONGEST_WHO)] = "") -> Response:
        response = _go_back(request, "/curate")
        response.set_cookie(WHO, who.encode("unicode_escape").decode(), httponly=True, samesite="strict")
        return response

    @router.get("/decisions")
    async def decisions(verdict: Verdict | None = None, page: Page = 1) -> Response:
        def make() -> dict[str, Any]:
            return {"decisions": list_decisions(store, verdict=verdict, page=page)}

        json_url = links.to(f"{API}/decisions", verdict=verdict, page=page if page > 1 else None)
        return await show("decisions", make, here="/curate", json_url=json_url, verdict=verdict, endings=ENDINGS)

    @router.post("/jobs/complete", **checked)
    async def complete_form(
        relations: Annotated[list[str], Form()] = [],  # noqa: B006
        top: Annotated[int, Form(ge=1, le=MOST)] = 1000,
        min_probability: Annotated[str, Form()] = "",
        unlinked: Annotated[bool, Form()] = False,
        second_values: Annotated[bool, Form()] = False,
    ) -> Response:
        named = [one for one in relations if one]
        least = _read_share(min_probability)
        asked = NewJob("complete", named or None, top, least, second_values=second_values, unlinked=unlinked)
        job = await run(add_job, desk, asked)
        return RedirectResponse(links.to("/curate", job=job.id), 303)

    return router


def _explain_first(desk: Desk, first: Any) -> Any:
    """Return the paths behind the first candidate, which are drawn at once."""
    if first is None or not desk.explored.has_rules:
        return None
    return explain_answer(desk.explored, first.head, first.relation, first.tail, most=3)


def _list_given(wanted: QueueFilter, order: str) -> dict[str, Any]:
    """Return the filters as an address has them, without those that are as usual."""
    usual = {"show": "open", "order": "likely"}
    given = {**vars(wanted), "order": order}
    return {name: value for name, value in given.items() if value is not None and usual.get(name) != value}


def _go_back(request: Request, place: str) -> RedirectResponse:
    """Lead back to where the form was, with the same filters."""
    query = request.url.query
    return RedirectResponse(f"{place}?{query}" if query else place, 303)


def _read_who(cookie: str) -> str:
    try:
        return cookie.encode().decode("unicode_escape")[:LONGEST_WHO].strip()
    except UnicodeDecodeError:
        return ""


def _read_share(text: str) -> float | None:
    """Read a field that may be empty."""
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise HTTPException(422, f"The least probability must be a number from 0 to 1, got {text!r}.") from None
