"""Nobody gets in who should not: by another name, from another page, without the token, or with too much."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from stablerule.errors import OptionError
from stablerule.explorer.web import safety
from stablerule.explorer.web.safety import COOKIE, Door
from stablerule.explorer.web.server import bind_socket, open_door, spell_address
from tests.explorer.small import explore_small, open_api

SCORE = {"triples": [{"head": "id:0", "relation": "sibling_of", "tail": "id:1"}]}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "", "[::1", "127.0.0.2"])
def test_only_names_of_this_machine_are_answered(host: str) -> None:
    api = open_api(explore_small())
    answer = api.get("/api/v1/model", headers={"host": host})
    assert answer.status_code == 421
    assert "--allow-host" in answer.json()["problem"]
    assert api.get("/api/v1/model", headers={"host": "localhost:99"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://127.0.0.1:8470", "sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_what_another_page_sends_is_refused(headers: dict[str, str], status: int) -> None:
    assert open_api(explore_small()).post("/api/v1/score", json=SCORE, headers=headers).status_code == status


def test_another_address_needs_the_token_and_keeps_it_in_a_cookie() -> None:
    door = open_door("192.0.2.7", ["graph.example"], "s3cret-s3cret-s3cret")
    assert door.hosts >= {"192.0.2.7", "graph.example", "localhost"}
    assert door.token is not None
    api = open_api(explore_small(), door)
    there = {"host": "graph.example"}
    for wrong in (there, there | {"authorization": "Bearer s3cret"}, there | {"cookie": f"{COOKIE}=other"}):
        answer = api.get("/api/v1/model?token=wrong", headers=wrong)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
    assert api.get("/api/v1/model", headers=there | {"authorization": f"Bearer {door.token}"}).status_code == 200
    first = api.get(f"/api/v1/search?token={door.token}&text=%22%3E%3Cb", headers=there)
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in first.headers["set-cookie"].split(";")}
    assert 'url=/api/v1/search?text=%22%3E%3Cb"' in first.text
    assert door.token not in first.text
    assert api.get("/api/v1/model", headers=there | {"cookie": f"{COOKIE}={door.token}"}).status_code == 200
    elsewhere = api.get(f"/%5C/evil.example/x?token={door.token}", headers=there)
    assert 'href="/evil.example/x"' in elsewhere.text


def test_this_machine_needs_no_token_and_another_address_always_has_one() -> None:
    assert open_door("127.0.0.1").token is None
    made = open_door("0.0.0.0").token
    assert made is not None
    assert len(made) >= 40
    assert socket.gethostname().lower() in open_door("0.0.0.0").hosts


def test_large_requests_are_refused_before_they_are_read(monkeypatch: Any) -> None:
    monkeypatch.setattr(safety, "BODY", 1000)
    api = open_api(explore_small())
    assert api.post("/api/v1/score", content=b" " * 1001).status_code == 413
    assert api.post("/api/v1/score", content=iter([b" " * 600, b" " * 600])).status_code == 413
    assert api.post("/api/v1/score", json=SCORE).status_code == 200


def test_every_answer_tells_the_browser_what_it_may_do() -> None:
    api = open_api(explore_small())
    for answer in (api.get("/api/v1/model"), api.get("/nowhere"), api.get("/", headers={"host": "evil.example"})):
        assert answer.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_a_port_is_found_and_one_that_is_taken_is_said() -> None:
    with bind_socket("127.0.0.1", None) as first, bind_socket("127.0.0.1", None) as second:
        port = first.getsockname()[1]
        assert port != second.getsockname()[1]
        assert spell_address(first, Door()) == f"http://127.0.0.1:{port}/"
        assert spell_address(first, Door(token="t")) == f"http://127.0.0.1:{port}/?token=t"
        with pytest.raises(OptionError, match=rf"Can't listen on 127.0.0.1, port {port}: .* Choose another --port"):
            bind_socket("127.0.0.1", port)
    with pytest.raises(OptionError, match="Choose another --host"):
        bind_socket("192.0.2.1", None)
