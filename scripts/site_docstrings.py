"""Makes docstrings read well on the site (an extension of griffe, see mkdocs.yml)."""

from __future__ import annotations

from typing import Any

import griffe
from site_text import fence_examples, list_arguments


class Docstrings(griffe.Extension):
    """Fences the examples of every docstring, and lists its arguments."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Change all docstrings of a package, which by then is loaded whole."""
        self.change(pkg)

    def change(self, one: Any) -> None:
        """Change the docstring of an object, then those of its members."""
        if one.docstring:
            one.docstring.value = fence_examples(list_arguments(one.docstring.value, find_names(one)))
        for member in one.members.values():
            if not member.is_alias:
                self.change(member)


def find_names(one: Any) -> set[str]:
    """Return what a docstring may describe: the arguments of a function; those of a class, and its attributes."""
    if one.is_function:
        return {parameter.name for parameter in one.parameters}
    if one.is_class:
        own = {name for name, member in one.members.items() if not member.is_alias and member.is_attribute}
        made = one.members.get("__init__")
        return own | (find_names(made) if made is not None and made.is_function else set())
    return set()
