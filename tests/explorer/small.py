"""A small model to explore, learned once for a process, and the names in it that somebody chose to do harm."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi.testclient import TestClient

from stablerule import Dataset, Tabular, households
from stablerule.explorer.decisions.store import Store
from stablerule.explorer.desk import Desk
from stablerule.explorer.explored import Explored
from stablerule.explorer.jobs.jobs import ENDED
from stablerule.explorer.web.app import make_api, make_explorer
from stablerule.explorer.web.safety import Door
from stablerule.reasoning.model_on_graph import ModelOnGraph

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.explorer.web.limits import Workers

HERE = "http://127.0.0.1:8470"
TOKEN = "csrf-of-the-tests"  # noqa: S105
CSRF = {"x-csrf-token": TOKEN}
HOSTILE = (
    "<script>document.title='caught'</script>",
    '"><img src=x onerror="document.title=1">',
    "{{ 7 * 7 }}{% raw %}",
    "\u202eevil\u2066",
    "line\nbreak\ttab\x1b[31m",
    "../../etc/passwd",
    "id:3",
    "عاصمة",
    "?a=1&b=2#c%2F",
    "long " * 2000,
)


@cache
def learn_small() -> ModelOnGraph:
    """Learn from ten households."""
    dataset = households(families=10, seed=0).dataset
    return ModelOnGraph(Tabular(walks=30_000, max_length=2).fit(dataset), dataset)


@cache
def learn_hostile() -> ModelOnGraph:
    """Learn from a graph whose names are as bad as names can be; each of them can be asked about."""
    facts = []
    for i in range(40):
        name = HOSTILE[i % len(HOSTILE)]
        facts += [
            (f"p{i}", "made <b>by</b>", name),
            (name, "in\u202e&", f"place{i % 3}"),
            (f"p{i}", "at", f"place{i % 3}"),
        ]
    dataset = Dataset.from_names("<hostile>", train=facts, test=[("p0", "at", "place1")])
    return ModelOnGraph(Tabular(walks=20_000, max_length=2).fit(dataset), dataset)


def explore_small() -> Explored:
    """Explore the households."""
    return Explored(learn_small(), "small", "0" * 64)


def open_desk(folder: Path, explored: Explored | None = None, other: Explored | None = None) -> Desk:
    """Sit down at a desk with a decisions file of its own."""
    return Desk(explored or explore_small(), Store(folder / "small.decisions.db"), other=other, who="Ann")


def open_pages(desk: Desk, door: Door | None = None) -> TestClient:
    """Return a client of the pages; its jobs run inside of `with`."""
    app = make_explorer(desk, door or Door(csrf=TOKEN))
    return TestClient(app, base_url=HERE, raise_server_exceptions=False, follow_redirects=True)


def wait_for_job(client: TestClient, number: int) -> dict[str, Any]:
    """Return a job when it is over."""
    for _ in range(600):
        job: dict[str, Any] = client.get(f"/api/v1/jobs/{number}").json()
        if job["state"] in ENDED:
            return job
        time.sleep(0.05)
    raise AssertionError(job)


def open_api(explored: Explored, door: Door | None = None, workers: Workers | None = None) -> TestClient:
    """Return a client of the API, at the address that it would have."""
    return TestClient(make_api(explored, door, workers=workers), base_url=HERE, raise_server_exceptions=False)
