"""Makes docstrings read well on the site: examples become code blocks (an extension of griffe, see mkdocs.yml)."""

from __future__ import annotations

from typing import Any

import griffe
from site_text import fence_examples


class Examples(griffe.Extension):
    """Fences the examples of every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = fence_examples(obj.docstring.value)
