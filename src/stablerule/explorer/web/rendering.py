"""Templates to pages: every name is shown as text, whatever it holds."""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablerule.explorer.web.links import Links
from stablerule.graph import INVERSE
from stablerule.reasoning.answers import spell_reason_share, spell_score
from stablerule.reports.rendering import make_template_environment, make_text_visible

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored
    from stablerule.explorer.web.safety import Door

STATIC = Path(__file__).parents[1] / "static"
LONGEST, BEGINNING, END = 160, 110, 40  # letters of a name that are shown
PACKAGE = "stablerule.explorer"


class Renderer:
    """Fills the templates of the explorer."""

    def __init__(self, explored: Explored, door: Door) -> None:
        self.explored, self.links = explored, Links(explored)
        self._shared = {"csrf": door.csrf, "links": self.links}

    def render(self, template: str, **values: Any) -> str:
        """Return a page."""
        frame = {"here": "", "json_url": None, "scripts": (), "explored": self.explored, "version": self._version}
        page: str = self._environment.get_template(template).render({**frame, **self._shared, **values})
        return page

    @cached_property
    def _environment(self) -> Any:
        environment = make_template_environment(PACKAGE)
        environment.filters.update(
            shown=shorten_name,
            chance=spell_reason_share,
            arrow=lambda rule: shorten_name(rule).replace(" <- ", " ← ", 1),
            score=spell_score,
            percent_whole=lambda share: f"{share:.0%}",
            plain_relation=lambda name: name.removeprefix(INVERSE),
        )
        environment.globals["static"] = name_static_file
        return environment

    @cached_property
    def _version(self) -> str:
        return version("stablerule")


def shorten_name(name: str) -> str:
    r"""Show a name as text, its middle left out if it is long; what can't be seen is spelled.

    >>> shorten_name("New\nYork"), len(shorten_name("x" * 10_000))
    ('New\\nYork', 153)
    """
    shown: str = make_text_visible(name)
    return shown if len(shown) <= LONGEST else f"{shown[:BEGINNING]} … {shown[-END:]}"


def name_static_file(name: str) -> str:
    """Return the address of a file that may be kept for ever, since it says what is in the file."""
    return f"/static/{name}?v={STATIC_HASHES[name]}"


STATIC_HASHES = {
    path.relative_to(STATIC).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    for path in STATIC.rglob("*")
    if path.is_file()
}
