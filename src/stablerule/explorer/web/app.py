"""The application: routes, errors as problems, and the wall around it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from stablerule.explorer.web.api import PREFIX, make_read_api
from stablerule.explorer.web.limits import Workers
from stablerule.explorer.web.problems import add_problem_handlers
from stablerule.explorer.web.safety import Door, Wall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

    from stablerule.explorer.explored import Explored

TITLE = "StableRule"
ABOUT = (
    "Ask a model that learned rules from a knowledge graph: answers with reasons, rules, new facts. "
    "A name that is not in the graph is an error that says the closest ones."
)
# Nothing is measured for others, and nothing leaves the host; versions that can't measure take it for no option.
QUIET: dict[str, Any] = {"telemetry": {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}}


def make_application(workers: Workers) -> FastAPI:
    """Make an application without routes; its documents are plain JSON, since pages of FastAPI fetch from elsewhere."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
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
    add_problem_handlers(app)
    return app


def make_api(explored: Explored, door: Door | None = None, *, workers: Workers | None = None) -> ASGIApp:
    """Make the API without pages: it reads, and writes nothing."""
    workers = workers or Workers()
    app = make_application(workers)
    app.include_router(make_read_api(explored, workers))
    return Wall(app, door or Door(), uploads=())
