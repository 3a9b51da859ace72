"""Render a Markdown document as one self-contained HTML page."""

from __future__ import annotations

import re
from importlib.util import find_spec

from stablerule.errors import MissingExtra
from stablerule.reports.rendering import render_template


def document_page(text: str) -> str:
    """Return the HTML page. HTML in the text is kept, so the text must be trusted.

    >>> page = document_page("# Title\\n\\nA *word*.\\n")
    >>> "<title>Title</title>" in page, "<em>word</em>" in page
    (True, True)
    """
    if find_spec("markdown_it") is None:
        raise MissingExtra("Writing a page", package="markdown-it-py", extra="figures", distribution="./lab")
    from markdown_it import MarkdownIt  # noqa: PLC0415  # an extra

    heading = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    wide = re.sub(r"(<table>.*?</table>)", r'<div class="wide">\1</div>', body, flags=re.DOTALL)
    return render_template(
        "document.html.jinja",
        {"title": heading.group(1) if heading else "Results", "body": wide},
        package="stablerule_lab.pages",
    )
