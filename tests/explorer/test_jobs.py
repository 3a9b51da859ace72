"""Jobs go on in the background, are cancelled, fail with a reason, and go on after a kill."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from stablerule import Tabular
from stablerule.errors import InputError, OptionError
from stablerule.explorer.decisions.candidates import QueueFilter, list_candidates
from stablerule.explorer.decisions.store import Store
from stablerule.explorer.explored import Explored
from stablerule.explorer.jobs.completing import check_completion_options
from stablerule.explorer.jobs.jobs import Jobs, Task
from stablerule.reasoning.model_on_graph import ModelOnGraph
from tests.explorer.small import CSRF, explore_small, learn_small, open_desk, open_pages, wait_for_job


def wait(jobs: Jobs, number: int, *states: str) -> Any:
    deadline = time.monotonic() + 20
    while (job := jobs.show(number)).state not in states:
        assert time.monotonic() < deadline, job
        time.sleep(0.01)
    return job


def test_the_queue_is_filled_as_complete_would(tmp_path: Path) -> None:
    desk = open_desk(tmp_path)
    with open_pages(desk) as pages:
        made = pages.post("/api/v1/jobs", json={"kind": "complete", "top": 40}, headers=CSRF).json()
        job = wait_for_job(pages, made["id"])
        assert (job["state"], job["done"]) == ("done", job["total"])
        queue = pages.get("/api/v1/queue", params={"job": job["id"]}).json()
    explored = desk.explored
    expected = list(explored.model.complete(graph=explored.graph, known=explored.known, top=40))
    kept = list_candidates(desk.store, QueueFilter(job["id"]), size=100).candidates
    assert queue["of"] == len(kept) == 40
    assert [(c.probability, c.score) for c in kept] == [(f.probability, f.score) for f in expected]
    facts = {(f.head, f.relation, f.tail): (f.rule, list(f.path)) for f in expected}
    assert all(facts.get((c.head, c.relation, c.tail), (c.rule, c.path)) == (c.rule, c.path) for c in kept)


def test_a_killed_job_goes_on_behind_what_is_finished(tmp_path: Path) -> None:
    first = open_desk(tmp_path)
    options = {"top": 30, "relations": ["sibling_of", "spouse_of", "cousin_of"]}
    job = first.jobs.add("complete", options)
    explored = first.explored
    of: list[int] = []
    completion = explored.opened.completion

    class Killed(BaseException):
        pass

    def completion_that_dies(*given: Any) -> Any:
        made = completion(*given)
        whole = made.of

        def watched(relation: int, *more: Any, **options: Any) -> Any:
            of.append(relation)
            if len(of) == 2:
                raise Killed
            return whole(relation, *more, **options)

        made.of = watched  # type: ignore[method-assign]
        return made

    object.__setattr__(explored.opened, "completion", completion_that_dies)
    try:
        with pytest.raises(Killed):
            first.jobs._do(job.id)
        assert first.jobs.show(job.id).state == "running"  # as a kill leaves it
        first.store.close()
        second = open_desk(tmp_path, explored)
        second.jobs.start()
        wait(second.jobs, job.id, "done")
    finally:
        object.__delattr__(explored.opened, "completion")
    assert of.count(of[0]) == 1, "what was finished is not done again"
    assert len(of) == 4
    second.jobs.stop()
    (tmp_path / "alone").mkdir()
    alone = open_desk(tmp_path / "alone")
    again = alone.jobs.add("complete", options)
    alone.jobs._do(again.id)

    def listed(store: Store, number: int) -> list[tuple[Any, ...]]:
        found = list_candidates(store, QueueFilter(number), size=100).candidates
        return sorted((c.relation, c.head, c.tail, c.score) for c in found)

    assert listed(second.store, job.id) == listed(alone.store, again.id)


def make_jobs(tmp_path: Path, work: Any) -> Jobs:
    return Jobs(Store(tmp_path / "jobs.db"), "m", {"work": work})


def test_a_job_is_cancelled_and_the_next_one_begins(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def work(task: Task) -> Any:
        if not task.options.get("long"):
            return {"found": task.given.decode() if task.given else None}
        task.start(10, 0)
        begun.set()
        go.wait(10)
        task.advance(1, "on the way")
        raise AssertionError("not reached")

    jobs = make_jobs(tmp_path, work)
    jobs.start()
    long, short = jobs.add("work", {"long": True}), jobs.add("work", {}, b"given")
    assert begun.wait(10)
    assert jobs.show(short.id).state == "waiting"
    jobs.cancel(long.id)
    go.set()
    assert wait(jobs, short.id, "done").share == 1
    assert jobs.show(long.id).state == "cancelled"
    assert jobs.result(short.id) == {"found": "given"}
    assert jobs.result(long.id) is None
    jobs.stop()


def test_a_job_that_fails_says_why_and_what_is_ours_is_not_told(tmp_path: Path, caplog: Any) -> None:
    def work(task: Task) -> None:
        raise InputError("The facts are odd.") if task.options.get("theirs") else KeyError("secret")

    jobs = make_jobs(tmp_path, work)
    jobs.start()
    theirs, ours = jobs.add("work", {"theirs": True}), jobs.add("work", {})
    assert wait(jobs, theirs.id, "failed").problem == "The facts are odd."
    assert "secret" not in (wait(jobs, ours.id, "failed").problem or "")
    assert "secret" in caplog.text
    jobs.stop()


def test_a_server_that_ends_leaves_its_job_to_the_next(tmp_path: Path) -> None:
    begun = threading.Event()

    def work(task: Task) -> str:
        task.start(100, 0)
        for _ in range(100 if not begun.is_set() else 0):
            begun.set()
            time.sleep(0.05)
            task.advance(1, "")
        return "found"

    jobs = make_jobs(tmp_path, work)
    jobs.start()
    job = jobs.add("work", {})
    assert begun.wait(10)
    jobs.stop()
    assert jobs.show(job.id).state == "running"
    jobs.store.close()
    after = make_jobs(tmp_path, work)
    after.start()
    wait(after, job.id, "done")
    assert after.result(job.id) == "found"
    after.stop()


def test_events_say_how_far_a_job_is_and_end(tmp_path: Path) -> None:
    desk = open_desk(tmp_path)
    with open_pages(desk) as pages:
        made = pages.post("/api/v1/jobs", json={"kind": "evaluate"}, headers=CSRF).json()
        with pages.stream("GET", f"/api/v1/jobs/{made['id']}/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = [line for line in stream.iter_lines() if line]
    assert lines[-2] == "event: end"
    assert json.loads(lines[-1].removeprefix("data: "))["state"] == "done"
    found = desk.jobs.result(made["id"])
    assert found["figures"]["mrr"]["low"] <= found["figures"]["mrr"]["value"] <= found["figures"]["mrr"]["high"]


def test_options_are_looked_at_before_the_job_waits() -> None:
    explored = explore_small()
    assert check_completion_options(explored, {"top": 5, "relations": [], "unlinked": True}) == {
        "top": 5,
        "unlinked": True,
    }
    for options, why in (
        ({"top": 0}, "'top' must be a whole number from 1 to"),
        ({"relations": ["nothing"]}, "No relation 'nothing'"),
        ({"relations": ["~sibling_of"]}, "is an inverse"),
        ({"min_probability": 2}, "must be a number between 0 and 1"),
        ({"colour": "red"}, "has no option 'colour'"),
    ):
        with pytest.raises(Exception, match=why):
            check_completion_options(explored, options)


def test_too_many_jobs_are_refused(tmp_path: Path) -> None:
    jobs = make_jobs(tmp_path, lambda task: None)
    for _ in range(20):
        jobs.add("work", {})
    with pytest.raises(OptionError, match="20 jobs are waiting already"):
        jobs.add("work", {})
    with pytest.raises(OptionError, match="must be one of work"):
        jobs.add("play", {})


def test_queries_are_uploaded_and_the_report_is_shown(tmp_path: Path) -> None:
    desk = open_desk(tmp_path)
    facts = desk.explored.dataset.frame("test").rows()[:60]
    lines = "".join(f"{head}\t{relation}\t{tail}\n" for head, relation, tail in facts)
    with open_pages(desk) as pages:
        files = {"queries": ("../../<b>mine</b>.tsv", lines.encode())}
        assert pages.post("/api/v1/shift", files=files).status_code == 403
        made = pages.post("/api/v1/shift", files=files, data={"labels": "true"}, headers=CSRF).json()
        job = wait_for_job(pages, made["id"])
        assert job["state"] == "done", job
        report = pages.get(f"/shift/{job['id']}/report")
        assert "&lt;b&gt;mine&lt;/b&gt;.tsv" in report.text
        assert "script" not in report.headers["content-security-policy"]
        assert pages.get(f"/api/v1/jobs/{job['id']}/result").json()["measured"]["queries"] == 120 // 2
        bad = pages.post("/api/v1/shift", files={"queries": ("bad.tsv", b"one column\n")}, headers=CSRF).json()
        assert "found 'one column'" in wait_for_job(pages, bad["id"])["problem"]
        assert pages.post("/api/v1/shift", files={"queries": ("no.tsv", b"")}, headers=CSRF).status_code == 422


def test_two_models_are_held_against_each_other(tmp_path: Path) -> None:
    opened = learn_small()
    other = ModelOnGraph(Tabular(walks=10_000, max_length=1, constants=False).fit(opened.dataset), opened.dataset)
    desk = open_desk(tmp_path, other=Explored(other, "shorter", "1" * 64))
    with open_pages(desk) as pages:
        assert "Compare them" in pages.get("/compare").text
        made = pages.post("/api/v1/jobs", json={"kind": "compare"}, headers=CSRF).json()
        assert wait_for_job(pages, made["id"])["state"] == "done"
        found = pages.get(f"/api/v1/jobs/{made['id']}/result").json()
        page = pages.get("/compare").text
    values = [model["figures"]["mrr"]["value"] for model in found["models"]]
    assert found["differences"]["mrr"]["difference"] == pytest.approx(values[0] - values[1])
    both = found["rules"]["both"]
    assert both + found["rules"]["only"][0]["count"] == len(desk.explored.rules)
    assert both + found["rules"]["only"][1]["count"] == len(other.model.rules)
    away = [abs(1 / one["ranks"][0] - 1 / one["ranks"][1]) for one in found["disagreements"]]
    assert away == sorted(away, reverse=True)
    assert "Only shorter" in page
