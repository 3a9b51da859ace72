"""`stablerule explore`: a model in a browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from stablerule.cli.reading import GraphOption, ModelArgument, open_model_argument
from stablerule.cli.serving import AllowOption, HostOption, PortOption, read_token_variable, run_until_interrupted
from stablerule.explorer.explored import Explored
from stablerule.explorer.extras import need_web


def explore(
    model: ModelArgument,
    graph: GraphOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    allow_host: AllowOption = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Look at the graph, the rules and the reasons in a browser, and decide about new facts."""
    need_web("The explorer")
    from stablerule.explorer.web.app import make_explorer  # noqa: PLC0415  # an extra
    from stablerule.explorer.web.server import open_door  # noqa: PLC0415

    door = open_door(host, allow_host or (), read_token_variable())
    explored = Explored.from_folder(open_model_argument(model, graph), model)
    show = (lambda _: None) if no_browser else webbrowser.open
    run_until_interrupted(explored, make_explorer(explored, door), host, port, door, show)
