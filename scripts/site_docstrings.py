"""Makes docstrings read well on the site: examples become code blocks (an extension of griffe, see mkdocs.yml)."""

from __future__ import annotations

import re
from typing import Any

import griffe

# From `>>>` up to the next empty line, with the indentation of its first line.
EXAMPLE = re.compile(r"(?m)^(?P<indent>[ \t]*)>>> .*\n?(?:(?P=indent)(?!>>> ?$).*\S.*\n?)*")


def fence_examples(docstring: str) -> str:
    """Put each example into a fenced block; between blocks that only empty lines part, they stay apart.

    >>> print(fence_examples("Add.\\n\\n>>> 1 + 1\\n2\\n"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    """

    def fence(match: re.Match[str]) -> str:
        indent = match["indent"]
        return f"{indent}```pycon\n{match[0].rstrip()}\n{indent}```\n"

    return EXAMPLE.sub(fence, docstring)


class Examples(griffe.Extension):
    """Fences the examples of every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = fence_examples(obj.docstring.value)
