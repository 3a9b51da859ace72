"""The pages of what takes long: jobs, what was measured, Shift and Compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException

from stablerule.explorer.jobs.judging import find_judging_split
from stablerule.explorer.web.desk_api import NewJob, Number, add_job, describe_upload, make_form_check, read_upload
from stablerule.explorer.web.pages import API
from stablerule.reports.shift_page import render_shift_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from stablerule.explorer.desk import Desk
    from stablerule.explorer.jobs.jobs import Job
    from stablerule.explorer.web.limits import Workers
    from stablerule.explorer.web.rendering import Renderer
    from stablerule.explorer.web.safety import Door

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"


def make_job_pages(desk: Desk, door: Door, workers: Workers, renderer: Renderer) -> APIRouter:
    """Return the pages for jobs."""
    router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
    run, jobs = workers.run, desk.jobs
    checked: dict[str, Any] = {"dependencies": [make_form_check(door)]}

    async def show(template: str, make: Callable[[], dict[str, Any]], **values: Any) -> HTMLResponse:
        return HTMLResponse(await run(lambda: renderer.render(f"{template}.html.jinja", **values, **make())))

    @router.post("/jobs/{kind}/start", **checked)
    async def start_form(kind: str) -> Response:
        if kind not in ("evaluate", "compare"):
            raise HTTPException(404, "There is no such job.")
        await run(add_job, desk, NewJob(kind))  # type: ignore[arg-type]
        return RedirectResponse("/compare" if kind == "compare" else "/measured", 303)

    @router.post("/jobs/{number}/cancel", **checked)
    async def cancel_form(number: Number) -> Response:
        job = await run(jobs.cancel, number)
        return RedirectResponse(_place_job(job), 303)

    @router.get("/jobs/{number}")
    async def job_page(number: Number) -> Response:
        return RedirectResponse(_place_job(await run(jobs.show, number)), 303)

    @router.get("/measured")
    async def measured() -> Response:
        def make() -> dict[str, Any]:
            found = jobs.list_all("evaluate", 1)
            job = found[0] if found else None
            return {"job": job, "result": jobs.result(job.id) if job else None}

        split = find_judging_split(desk.explored)
        return await show(
            "measured", make, here="/", json_url=f"{API}/jobs?kind=evaluate", split=split, scripts=("jobs.js",)
        )

    @router.get("/shift")
    async def shift() -> Response:
        def make() -> dict[str, Any]:
            return {"reports": jobs.list_all("shift"), "split": find_judging_split(desk.explored)}

        return await show("shift", make, here="/shift", json_url=f"{API}/jobs?kind=shift", job=None)

    @router.post("/shift", **checked)
    async def shift_form(queries: UploadFile, labels: Annotated[bool, Form()] = False) -> Response:
        options = describe_upload(queries, labels=labels)
        job = await run(jobs.add, "shift", options, await read_upload(queries))
        return RedirectResponse(f"/shift/{job.id}", 303)

    @router.get("/shift/{number}")
    async def shift_job(number: Number) -> Response:
        job = await run(jobs.show, number)
        if job.kind != "shift":
            raise HTTPException(404, "There is no such report.")
        json_url = f"{API}/jobs/{number}/result"
        scripts = ("jobs.js", "frame.js")
        return await show(
            "shift", dict, here="/shift", json_url=json_url, job=job, reports=[], split="", scripts=scripts
        )

    @router.get("/shift/{number}/report")
    async def shift_report(number: Number) -> Response:
        found = await run(jobs.result, number)
        if found is None or "verdict" not in found:
            raise HTTPException(404, "There is no such report.")
        headers = {"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
        return HTMLResponse(await run(render_shift_page, found), headers=headers)

    @router.get("/compare")
    async def compare() -> Response:
        def make() -> dict[str, Any]:
            found = jobs.list_all("compare", 1) if desk.other is not None else []
            job = found[0] if found else None
            return {"job": job, "result": jobs.result(job.id) if job else None}

        values = {"other": desk.other, "split": find_judging_split(desk.explored), "scripts": ("jobs.js",)}
        return await show("compare", make, here="/compare", json_url=f"{API}/jobs?kind=compare", **values)

    return router


def _place_job(job: Job) -> str:
    places = {"complete": f"/curate?job={job.id}", "shift": f"/shift/{job.id}", "compare": "/compare"}
    return places.get(job.kind, "/measured")
