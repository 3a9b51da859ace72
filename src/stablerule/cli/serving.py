"""What the commands share that answer over HTTP: where they listen, and what is printed."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from stablerule.cli.output import plain, print_message
from stablerule.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from stablerule.explorer.explored import Explored
    from stablerule.explorer.web.safety import Door

TOKEN = "STABLERULE_TOKEN"  # noqa: S105  # the name of a variable
FEWEST_LETTERS = 16

HostOption: TypeAlias = Annotated[
    str,
    typer.Option(help="Where to listen. Any other address than this machine's own needs a token; one is printed."),
]
PortOption: TypeAlias = Annotated[int | None, typer.Option(min=0, max=65535, help="[8470, or the next that is free]")]
AllowOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A name that the server answers to as well.")
]


def read_token_variable() -> str | None:
    """Return the token that the environment gives, if it does."""
    token = os.environ.get(TOKEN) or None
    if token is not None and len(token) < FEWEST_LETTERS:
        raise InputError(f"{TOKEN} must have at least {FEWEST_LETTERS} characters, so that nobody guesses it.")
    return token


def run_until_interrupted(
    explored: Explored, app: ASGIApp, host: str, port: int | None, door: Door, then: Callable[[str], object]
) -> None:
    """Listen, print the address, and answer until Ctrl-C; what takes long to make ready is made meanwhile."""
    from stablerule.explorer.web.server import bind_socket, run_server, spell_address  # noqa: PLC0415  # an extra

    bound = bind_socket(host, port)
    address = spell_address(bound, door)

    print_message(f"Listening on {plain(address)}  Ctrl-C ends it.")
    threading.Thread(target=explored.prepare, daemon=True).start()
    then(address)  # whoever comes before the first answer waits in line
    run_server(app, bound)
