"""Addresses of pages, which can be shared, because they contain the query and the filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored

LONGEST = 300  # bytes of a name in an address; a longer one goes by its number
NUMBERED = ("name", "head", "tail")


class Links:
    """Makes addresses about one graph."""

    def __init__(self, explored: Explored) -> None:
        self._explored = explored

    def to(self, place: str, **asked: Any) -> str:
        """Return the address of a page; None and False are left out, and a list is there once for each of its values.

        >>> Links(None).to("/ask", head="Paris & co", k=5, new=False, off=["a", "b"])  # type: ignore[arg-type]
        '/ask?head=Paris+%26+co&k=5&off=a&off=b'
        """
        given = {name: value for name, value in asked.items() if value is not None and value is not False}
        short = {name: self._shorten(value) if name in NUMBERED else _spell(value) for name, value in given.items()}
        return f"{place}?{urlencode(short, doseq=True, errors='replace')}" if short else place

    def entity(self, name: str, **more: Any) -> str:
        """Return the address of an entity."""
        return self.to("/entity", name=name, **more)

    def rule(self, text: str, **more: Any) -> str:
        """Return the address of a rule."""
        return self.to("/rule", rule=text, **more)

    def _shorten(self, name: str) -> str:
        if len(name) <= LONGEST and len(name.encode(errors="replace")) <= LONGEST:
            return name
        number = self._explored.graph.vocabulary.entities.id_of(name)
        return name if number is None else f"id:{number}"


def _spell(value: Any) -> Any:
    return "true" if value is True else list(value) if isinstance(value, tuple) else value
