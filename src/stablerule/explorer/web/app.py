"""The application: routes, errors as problems, and the wall around it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from stablerule.explorer.web.api import PREFIX, make_read_api
from stablerule.explorer.web.curate_pages import make_curate_pages
from stablerule.explorer.web.desk_api import make_desk_api
from stablerule.explorer.web.job_pages import make_job_pages
from stablerule.explorer.web.limits import Workers
from stablerule.explorer.web.pages import make_read_pages
from stablerule.explorer.web.problems import API, add_problem_handlers
from stablerule.explorer.web.rendering import STATIC, Renderer
from stablerule.explorer.web.safety import Door, Wall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from stablerule.explorer.desk import Desk
    from stablerule.explorer.explored import Explored

TITLE = "StableRule"
ABOUT = (
    "Ask a model that learned rules from a knowledge graph: answers with reasons, rules, new facts. "
    "A name that is not in the graph is an error that says the closest ones."
)
# Nothing is measured for others, and nothing leaves the host; versions that can't measure take it for no option.
QUIET: dict[str, Any] = {"telemetry": {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}}


def make_application(workers: Workers, renderer: Renderer | None = None, desk: Desk | None = None) -> FastAPI:
    """Make an application without routes; its documents are plain JSON, since pages of FastAPI fetch from elsewhere."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if desk is not None:
            desk.jobs.start()
        yield
        if desk is not None:
            desk.jobs.stop()
        workers.close()

    app = FastAPI(
        title=TITLE,
        version="1",
        description=ABOUT,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        **QUIET,
    )
    add_problem_handlers(app, renderer)
    return app


def make_api(explored: Explored, door: Door | None = None, *, workers: Workers | None = None) -> ASGIApp:
    """Make the API without pages: it reads, and writes nothing."""
    workers = workers or Workers()
    app = make_application(workers)
    app.include_router(make_read_api(explored, workers))
    return Wall(app, door or Door(), uploads=())


def make_explorer(desk: Desk, door: Door | None = None, *, workers: Workers | None = None) -> ASGIApp:
    """Make the pages and the API below them."""
    workers, door = workers or Workers(), door or Door()
    renderer = Renderer(desk.explored, door)
    app = make_application(workers, renderer, desk)
    app.include_router(make_read_api(desk.explored, workers))
    app.include_router(make_desk_api(desk, door, workers))
    app.include_router(make_read_pages(desk.explored, workers, renderer))
    app.include_router(make_curate_pages(desk, door, workers, renderer))
    app.include_router(make_job_pages(desk, door, workers, renderer))
    app.mount("/static", KeptFiles(directory=STATIC))
    return Wall(DropEmptyFields(app), door)


class KeptFiles(StaticFiles):
    """Files whose address says what is in them: a browser may keep them for ever."""

    def file_response(self, *given: Any, **options: Any) -> Response:
        """Return a file."""
        response = super().file_response(*given, **options)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


class DropEmptyFields:
    """Forgets the fields that a form sends empty: nothing was asked there."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the API gets its own as it was sent."""
        if scope["type"] == "http" and scope["query_string"] and not scope["path"].startswith(API):
            fields = scope["query_string"].split(b"&")
            scope = {**scope, "query_string": b"&".join(field for field in fields if not field.endswith(b"="))}
        await self.app(scope, receive, send)
