"""What goes wrong, as an answer: JSON for programs, a page for people, never a traceback."""

from __future__ import annotations

import html
import logging
import sqlite3
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse

from stablerule.errors import InputError, MissingExtra, OutputExists, StableRuleError, UnknownName, WriteError
from stablerule.explorer.web.limits import Busy

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from stablerule.explorer.web.rendering import Renderer

API = "/api/"
NOTES = logging.getLogger(__name__)
LONGEST = 2000
STATUSES: list[tuple[type[Exception], int]] = [
    (UnknownName, 404),
    (InputError, 422),
    (OutputExists, 409),
    (WriteError, 507),
    (MissingExtra, 501),
    (Busy, 503),
    (StableRuleError, 500),
    (sqlite3.Error, 503),
]


@dataclass(frozen=True)
class Problem:
    """What was wrong, and the way out."""

    problem: str


def add_problem_handlers(app: FastAPI, renderer: Renderer | None = None) -> None:
    """Answer every error as a problem: as JSON, or as a page if there are any."""

    def answer(request: Request, status: int, text: str, headers: Any = None) -> Response:
        if renderer is None or request.url.path.startswith(API):
            return make_problem_response(status, text, request.url.path, headers)
        closest = _list_closest(renderer, request) if status == 404 else []
        page = renderer.render("problem.html.jinja", status=status, text=text, closest=closest)
        return HTMLResponse(page, status, headers)

    async def known(request: Request, error: Exception) -> Response:
        status = next(code for kind, code in STATUSES if isinstance(error, kind))
        text = f"The decisions file can't be used: {error}." if isinstance(error, sqlite3.Error) else str(error)
        return answer(request, status, text)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101  # it is registered for nothing else
        return answer(request, 422, _spell_invalid(error))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        text = f"There is no page {request.url.path}." if error.status_code == 404 else str(error.detail)
        return answer(request, error.status_code, text, error.headers)

    async def unexpected(request: Request, error: Exception) -> Response:
        NOTES.error("%s: %s", request.url.path, error, exc_info=error)
        text = "This should not have happened; the server's log says more."
        return make_problem_response(500, text, request.url.path)

    for kind, _ in STATUSES:
        app.add_exception_handler(kind, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, unexpected)


def _list_closest(renderer: Renderer, request: Request) -> list[tuple[str, str]]:
    """List the same address with names that the graph has in place of the first one that it lacks."""
    asked, words = dict(request.query_params), renderer.explored.graph.vocabulary
    for field, kind, known in (
        ("name", "entity", words.entities),
        ("head", "entity", words.entities),
        ("tail", "entity", words.entities),
        ("relation", "relation", words.relations),
    ):
        if field in asked and asked[field].removeprefix("~") not in known:
            hits = renderer.explored.index.find(asked[field], 5, kind)  # type: ignore[arg-type]
            return [(hit.name, renderer.links.to(request.url.path, **{**asked, field: hit.name})) for hit in hits]
    return []


def make_problem_response(status: int, text: str, path: str, headers: Any = None) -> Response:
    """Return a problem as JSON for the API, else as a plain page."""
    text = text[:LONGEST].encode(errors="replace").decode()
    if path.startswith(API):
        return JSONResponse(asdict(Problem(text)), status, headers=headers)
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A problem</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/static/explorer.css"></head><body><main class="problem">'
        f'<h1>That did not work</h1><p>{html.escape(text)}</p><p><a href="/">Go to the first page</a></p>'
        "</main></body></html>"
    )
    return HTMLResponse(page, status, headers=headers)


async def respond_with_problem(status: int, text: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a problem from outside of the application."""
    await make_problem_response(status, text, scope["path"])(scope, receive, send)


def _spell_invalid(error: RequestValidationError) -> str:
    parts = []
    for one in error.errors()[:5]:
        name = ".".join(str(part) for part in one["loc"][1:]) or str(one["loc"][0])
        parts.append(f"{name}: {one['msg']}")
    return "; ".join(parts) + "."
