"""`stablerule explore`: a model in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from stablerule.cli.reading import GraphOption, ModelArgument, open_model_argument
from stablerule.cli.serving import AllowOption, HostOption, PortOption, read_token_variable, run_until_interrupted
from stablerule.explorer.extras import need_web
from stablerule.io.atomic import claim_output


def explore(
    model: ModelArgument,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="MODEL", help="Another model, for the page Compare.")
    ] = None,
    decisions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file of decisions. [MODEL.decisions.db, beside the model]")
    ] = None,
    who: Annotated[str, typer.Option("--as", metavar="NAME", help="Who decides. [the user's name]")] = "",
    graph: GraphOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    allow_host: AllowOption = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Look at the graph, the rules and the reasons in a browser, and decide about new facts.

    Nothing is written but the file of decisions, which a kill at any moment leaves whole.
    """
    need_web("The explorer")
    from stablerule.explorer.decisions.store import Store  # noqa: PLC0415  # the rest may be missing
    from stablerule.explorer.desk import Desk  # noqa: PLC0415
    from stablerule.explorer.explored import Explored  # noqa: PLC0415
    from stablerule.explorer.web.app import make_explorer  # noqa: PLC0415
    from stablerule.explorer.web.safety import make_secret  # noqa: PLC0415
    from stablerule.explorer.web.server import open_door  # noqa: PLC0415

    token = read_token_variable()
    explored = Explored.from_folder(open_model_argument(model, graph), model)
    other = None if compare is None else Explored.from_folder(open_model_argument(compare, graph), compare)
    place = decisions or name_decisions_file(model)
    with claim_output(place):
        store = Store(place)
        try:
            door = open_door(host, allow_host or (), token, csrf=store.setting("csrf", make_secret()))
            desk = Desk(explored, store, other=other, who=who)
            show = (lambda _: None) if no_browser else webbrowser.open
            run_until_interrupted(explored, make_explorer(desk, door), host, port, door, show)
        finally:
            store.close()


def name_decisions_file(model: Path) -> Path:
    """Return the file of decisions beside a model."""
    place = model.resolve()
    return place.with_name(f"{place.name}.decisions.db")
