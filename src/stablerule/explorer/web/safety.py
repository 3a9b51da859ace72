"""Who may come in, and what a browser may do with what it gets: a wall around the whole application.

A page elsewhere may send a browser here, in two ways. It may make its own name point to this machine (DNS rebinding):
so only the names that this server is known by are answered. It may send forms: so a write needs a token that only
pages from here have, and a request that says it comes from elsewhere is refused.
"""

from __future__ import annotations

import hmac
import html
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from starlette.exceptions import HTTPException

from stablerule.explorer.web.problems import respond_with_problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
COOKIE, CSRF_HEADER, CSRF_FIELD = "stablerule_token", b"x-csrf-token", "csrf"
BODY, UPLOAD = 1 << 20, 20 << 20  # bytes
UPLOADS = ("/shift", "/api/v1/shift")
POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]


def make_secret() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Door:
    """Whom to let in.

    hosts: names and addresses that a request may be sent to, without port. token: what others than this machine must
    bring; None asks nobody. csrf: what pages from here bring with a write.
    """

    hosts: frozenset[str] = LOOPBACK
    token: str | None = None
    csrf: str = field(default_factory=make_secret)

    def knows_host(self, host: str) -> bool:
        """Tell whether a Host header is one of ours.

        >>> [Door().knows_host(host) for host in ("localhost:80", "[::1]:80", "evil.example", "")]
        [True, True, False, False]
        """
        try:
            return urlsplit(f"//{host}").hostname in self.hosts
        except ValueError:
            return False

    def takes(self, token: str | None) -> bool:
        """Tell whether a token is ours, in a time that says nothing about it."""
        return self.token is None or (token is not None and _is_same(token, self.token))

    def takes_csrf(self, token: str | None) -> bool:
        """Tell the same of the token of a write."""
        return token is not None and _is_same(token, self.csrf)


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())


class Wall:
    """Stands around an application: what does not come through it, no route ever sees."""

    def __init__(self, app: ASGIApp, door: Door, *, uploads: Iterable[str] = UPLOADS) -> None:
        self.app, self.door, self.uploads = app, door, tuple(uploads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        guarded = _with_headers(send)
        refused = self._refuse(scope, headers)
        if refused is not None:
            await respond_with_problem(*refused, scope, receive, guarded)
            return
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        if self.door.token is not None and asked is not None and self.door.takes(asked):
            await _welcome(scope, asked, guarded)
            return
        if not self.door.takes(_find_token(headers)):
            problem = "This server needs its token. Open the address that it printed when it was started."
            await respond_with_problem(401, problem, scope, receive, guarded)
            return
        most = UPLOAD if scope["path"] in self.uploads else BODY
        declared = headers.get(b"content-length", "")
        if declared.isdecimal() and int(declared) > most:
            await respond_with_problem(413, _spell_limit(most), scope, receive, guarded)
            return
        await self.app(scope, _limit_body(receive, most), guarded)

    def _refuse(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        host = headers.get(b"host", "")
        if not self.door.knows_host(host):
            known = ", ".join(sorted(self.door.hosts))
            return 421, f"This server does not answer to {host!r}. It answers to {known}; --allow-host adds a name."
        if scope["method"] in SAFE_METHODS:
            return None
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or (origin is not None and urlsplit(origin).netloc != host):
            return 403, "This request was sent from a page of another site."
        return None


def _limit_body(receive: Receive, most: int) -> Receive:
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, _spell_limit(most))
        return message

    return limited


def _spell_limit(most: int) -> str:
    return f"A request may have {most / (1 << 20):.3g} MB at most."


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            more = [(name, value) for name, value in HEADERS if name not in given]
            if b"cache-control" not in given:
                more.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return guarded


def _find_token(headers: dict[bytes, str]) -> str | None:
    scheme, _, bearer = headers.get(b"authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return bearer.strip()
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(headers.get(b"cookie", ""))
    except CookieError:
        return None
    return cookies[COOKIE].value if COOKIE in cookies else None


async def _welcome(scope: Scope, token: str, send: Send) -> None:
    """Keep the token in a cookie, and go on to the same address without it.

    A redirect would be part of the visit that began elsewhere, and would not carry a strict cookie: a refresh does.
    """
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query.pop("token", None)
    left = urlencode(query, doseq=True)
    place = "/" + quote(scope["path"].lstrip("/\\"))  # two slashes would name another host
    address = html.escape(place + (f"?{left}" if left else ""))
    page = f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={address}"><a href="{address}">Go on</a>'
    cookie = f"{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"set-cookie", cookie.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": page.encode(errors="replace")})
