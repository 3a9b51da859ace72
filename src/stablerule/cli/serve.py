"""`stablerule serve`: a model over HTTP."""

from __future__ import annotations

from stablerule.cli.reading import GraphOption, ModelArgument, open_model_argument
from stablerule.cli.serving import AllowOption, HostOption, PortOption, read_token_variable, run_until_interrupted
from stablerule.explorer.explored import Explored
from stablerule.explorer.extras import need_web


def serve(
    model: ModelArgument,
    graph: GraphOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    allow_host: AllowOption = None,
) -> None:
    """Answer over HTTP: the JSON API of a model, without pages.

    It is described at /api/v1/openapi.json, and writes nothing. STABLERULE_TOKEN is a token of your own.
    """
    need_web("Answering over HTTP")
    from stablerule.explorer.web.app import make_api  # noqa: PLC0415  # an extra
    from stablerule.explorer.web.server import open_door  # noqa: PLC0415

    door = open_door(host, allow_host or (), read_token_variable())
    explored = Explored.from_folder(open_model_argument(model, graph), model)
    run_until_interrupted(explored, make_api(explored, door), host, port, door, lambda _: None)
