"""Each page says what it should, is an address, works as a plain form, and shows every name as text."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from stablerule.explorer.desk import Desk
from stablerule.explorer.explored import Explored
from stablerule.explorer.web.app import make_explorer
from stablerule.explorer.web.rendering import STATIC, STATIC_HASHES
from stablerule.explorer.web.safety import Door
from tests.explorer.everything import call_everything
from tests.explorer.small import (
    CSRF,
    HOSTILE,
    TOKEN,
    learn_hostile,
    open_desk,
    open_pages,
    wait_for_job,
)

IN = "in\u202e&"
VOID = {"meta", "link", "input", "br", "img"}


class Reader(HTMLParser):
    """Reads a page as a browser would, and notes what may do harm."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.links: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.note(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(tag, dict(attrs))

    def note(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "script":
            self.scripts.append(given.get("src") or "")
        if tag in ("img", "iframe", "object", "embed") and not str(given.get("src", "")).startswith("/"):
            self.wrong.append(f"{tag} {given}")
        self.wrong += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action", "hx-get", "hx-post", "data-source"):
            address = given.get(name)
            if address is not None:
                self.links += [address] if name != "action" else []
                if not address.startswith(("/", "#")) or address.startswith("//"):
                    self.wrong.append(f"{tag} {name}={address}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else")


def read(pages: TestClient, address: str, status: int = 200) -> str:
    answer = pages.get(address)
    assert answer.status_code == status, answer.text
    found = Reader(answer.text)
    assert found.wrong == []
    assert all(source.startswith("/static/") for source in found.scripts)
    return answer.text


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return open_desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def pages(desk: Desk) -> Any:
    with open_pages(desk) as client:
        yield client


def test_every_link_of_every_page_leads_somewhere(desk: Desk, pages: TestClient) -> None:
    words = desk.explored.graph.vocabulary
    head = quote(words.entity_name(0))
    starts = ["/", "/ask", "/rules", "/curate", "/shift", "/compare", "/decisions", f"/entity?name={head}"]
    starts += [f"/ask?head={head}&relation=sibling_of", f"/rule?rule={quote(str(desk.explored.rules[0].rule))}"]
    seen = set(starts)
    found: dict[str, None] = dict.fromkeys(starts)
    for address in starts:
        for link in Reader(read(pages, address)).links:
            plain = html.unescape(link)
            kind = re.sub(r"=[^&]*", "=", plain)  # one of each form is enough
            if kind not in seen and not plain.startswith("#"):
                seen.add(kind)
                found[plain] = None
    for address in list(found)[len(starts) :]:
        if any(form in address for form in ("/curate/", "/jobs/")):
            continue  # only sent
        answer = pages.get(address)
        assert answer.status_code == 200, address


def test_a_page_and_its_json_say_the_same(desk: Desk, pages: TestClient) -> None:
    head = desk.explored.graph.vocabulary.entity_name(0)
    page = read(pages, f"/ask?head={quote(head)}&relation=sibling_of&k=5")
    (json_url,) = re.findall(r'rel="alternate" type="application/json" href="([^"]*)"', page)
    for answer in pages.get(html.unescape(json_url)).json()["answers"]:
        assert html.escape(answer["entity"]) in page


def test_a_typo_leads_to_the_names_that_were_meant(desk: Desk, pages: TestClient) -> None:
    name = desk.explored.graph.vocabulary.entity_name(3)
    page = read(pages, f"/ask?head={quote(name)}x&relation=sibling_of", 404)
    assert "Did you mean" in page
    links = [html.unescape(link) for link in Reader(page).links]
    assert f"/ask?head={name}&relation=sibling_of" in [link.replace("+", " ") for link in links]
    assert "There is no page" in read(pages, "/nowhere", 404)
    assert "max_length" in read(pages, "/rules?max_length=x", 422)


def test_fields_that_are_sent_empty_ask_for_nothing(desk: Desk, pages: TestClient) -> None:
    page = read(pages, "/rules?head_relation=&body_relation=&kind=&max_length=&min_support=&inverse=true")
    assert f"{len(desk.explored.rules):,} rules." in page


def test_somebody_decides_without_scripts(tmp_path: Path) -> None:
    desk = open_desk(tmp_path)
    with open_pages(desk) as pages:
        assert "Fill the queue" in read(pages, "/curate")
        started = pages.post(
            "/jobs/complete", data={"csrf": TOKEN, "relations": "sibling_of", "top": "12", "min_probability": ""}
        )
        assert started.status_code == 200
        wait_for_job(pages, 1)
        for verdict in ("accept", "reject", "unsure"):
            page = read(pages, "/curate?job=1&order=likely")
            fields = dict(
                re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.split('class="decide"')[1])
            )
            form = {name: html.unescape(value) for name, value in fields.items()} | {
                "verdict": verdict,
                "comment": "so",
            }
            after = pages.post("/curate/decide?job=1", data=form)
            assert after.status_code == 200
            pages.post("/curate/decide?job=1", data=form)  # the back button, and again
        assert "<b>3</b> of 12 decided" in read(pages, "/curate")
        assert "1 accepted, 1 rejected, 1 unsure" in read(pages, "/curate")
        page = read(pages, "/decisions?verdict=reject")
        (number,) = re.findall(r'name="number" value="(\d+)"', page)
        pages.post("/curate/undo?verdict=reject", data={"csrf": TOKEN, "number": number, "back": "decisions"})
        assert "1 accepted, 0 rejected, 1 unsure" in read(pages, "/curate")
        pages.post("/curate/who", data={"csrf": TOKEN, "who": "Bö"})
        assert 'name="who" value="Bö"' in read(pages, "/curate")


def test_a_form_from_elsewhere_changes_nothing(desk: Desk, pages: TestClient) -> None:
    form = {"head": "id:0", "relation": "sibling_of", "tail": "id:1", "verdict": "accept", "key": "k"}
    for data, headers in (
        (form, {}),
        ({**form, "csrf": "wrong"}, {}),
        ({**form, "csrf": TOKEN}, {"origin": "http://evil.example"}),
    ):
        assert pages.post("/curate/decide", data=data, headers=headers).status_code == 403
    assert desk.store.read("SELECT * FROM decisions") == []


def test_every_route_that_writes_asks_for_the_token(pages: TestClient) -> None:
    reading = {"/api/v1/score", "/api/v1/answers"}
    wall: Any = pages.app
    routes = list(_list_routes(wall.app.app.routes))
    writing = [route for route in routes if route.methods - {"GET", "HEAD"} and route.path not in reading]
    assert len(writing) >= 10
    for route in writing:
        address = route.path.replace("{number}", "1").replace("{kind}", "evaluate")
        assert pages.post(address, json={}).status_code in (403, 422), route.path
        assert any("check" in str(one.dependency) for one in route.dependencies), route.path


def _list_routes(routes: Any) -> Any:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        else:
            inner = getattr(route, "original_router", None)
            yield from _list_routes(inner.routes if inner is not None else [])


def test_hostile_names_are_text_on_every_page(tmp_path: Path) -> None:
    explored = Explored(learn_hostile(), "<b>bad</b>", "f" * 64)
    desk = open_desk(tmp_path, explored)
    with open_pages(desk) as pages:
        read(pages, "/")
        wait_for_job(pages, pages.post("/api/v1/jobs", json={"kind": "complete", "top": 50}, headers=CSRF).json()["id"])
        for name in HOSTILE:
            page = read(pages, f"/entity?name={quote(name)}")
            assert "\u202e" not in page
            assert "\x1b" not in page
            read(pages, f"/likely?name={quote(name)}")
            read(pages, f"/ask?head={quote(name)}&relation={quote(IN)}")
            read(pages, f"/explain?head={quote(name)}&relation={quote(IN)}&tail=place1")
            read(pages, f"/search?text={quote(name[:80])}")
            sent = {
                "head": name,
                "relation": "in\u202e&",
                "tail": "place1",
                "verdict": "accept",
                "comment": name[:1000],
                "who": name[:150],
            }
            assert pages.post("/api/v1/decisions", json=sent, headers=CSRF).status_code == 200
        for rule in explored.rules.top(20):
            read(pages, f"/rule?rule={quote(str(rule.rule))}")
        for address in ("/rules", "/curate", "/decisions", "/curate?show=all&order=random"):
            page = read(pages, address)
            assert "<script>document" not in page


def test_vendored_scripts_are_those_of_the_list() -> None:
    listed = (STATIC / "vendor" / "VENDORED.md").read_text(encoding="utf-8")
    for name, digest in STATIC_HASHES.items():
        if name.startswith("vendor/") and name.endswith(".js"):
            assert digest in listed, f"{name} is not what VENDORED.md says"
            assert (STATIC / name.replace(".min.js", ".LICENSE.txt")).is_file()


@pytest.mark.slow
def test_nothing_that_the_schema_allows_is_an_error_of_ours(tmp_path: Path) -> None:
    desk = open_desk(tmp_path, Explored(learn_hostile(), "bad", "f" * 64))
    called = call_everything(make_explorer(desk, Door(csrf=TOKEN)), examples=6, headers=CSRF)
    assert "POST /api/v1/decisions" in called
