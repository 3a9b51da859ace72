"""Runs an application on an address, and ends quietly."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from stablerule.errors import OptionError
from stablerule.explorer.web.safety import LOOPBACK, Door, make_secret

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp

PORT, TRIED, WAITING = 8470, 20, 128
LONGEST_HEAD = 1 << 18  # bytes of a request's address and headers
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  # what to compare with


def open_door(host: str, allowed: Iterable[str] = (), token: str | None = None, csrf: str | None = None) -> Door:
    """Decide whom to let in: this machine alone needs no token, any other address one, made up if none is given."""
    hosts = {*LOOPBACK, *(name.lower() for name in allowed)}
    if host not in LOOPBACK:
        token = token or make_secret()
        hosts |= {host.lower(), *(_name_this_machine() if host in EVERY_ADDRESS else ())}
    return Door(frozenset(hosts), token, csrf or make_secret())


def _name_this_machine() -> set[str]:
    name = socket.gethostname()
    found = {name.lower(), socket.getfqdn().lower()}
    with suppress(OSError):
        found |= {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    return found


def bind_socket(host: str, port: int | None) -> socket.socket:
    """Take a port; without one the first that is free from the usual one on."""
    problem: OSError | None = None
    for number in [port] if port is not None else [*range(PORT, PORT + TRIED), 0]:
        bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(WAITING)
        except OSError as error:
            bound.close()
            problem = error
        else:
            return bound
    where = host if port is None else f"{host}, port {port}"
    cure = "another --host" if port is None else "another --port"
    raise OptionError(f"Can't listen on {where}: {(problem and problem.strerror) or problem}. Choose {cure}.")


def spell_address(bound: socket.socket, door: Door) -> str:
    """Return the address to open, with the token if one is needed."""
    host, port = bound.getsockname()[:2]
    shown = "localhost" if host in EVERY_ADDRESS else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + ("" if door.token is None else f"?token={door.token}")


def run_server(app: ASGIApp, bound: socket.socket) -> None:
    """Answer until Ctrl-C."""
    import uvicorn  # noqa: PLC0415  # an extra

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        http="h11",
        loop="asyncio",
        h11_max_incomplete_event_size=LONGEST_HEAD,
        timeout_graceful_shutdown=2,
        proxy_headers=False,
    )
    uvicorn.Server(config).run(sockets=[bound])
