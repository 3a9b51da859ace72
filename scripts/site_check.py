"""Finds what pages of the built site would fetch from elsewhere: scripts, styles, fonts, images, frames."""
# ruff: noqa: UP006, UP035, UP045
# The old spellings of types stay, as in environment.py.

import os
import re
from html.parser import HTMLParser
from typing import Iterator, List, Optional, Tuple

# Attributes that make a browser fetch by itself. A link that the reader follows (<a href>) may lead anywhere.
FETCHED = {"src", "srcset", "data", "poster", "background"}
# <link> elements that only name another page.
NAMED = {"canonical", "alternate", "next", "prev", "author", "license", "help"}
FOREIGN = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:@import\s+|url\(\s*)['\"]?((?:https?:)?//[^'\")\s;]+)", re.IGNORECASE)


class Page(HTMLParser):
    """Collects the addresses that a page fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: List[str] = []
        self.in_style = False

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.in_style = tag == "style"
        if tag == "link" and not NAMED.intersection(values.get("rel", "").lower().split()):
            self.fetched.append(values.get("href", ""))
        if tag in ("use", "image", "feimage"):
            self.fetched += [values.get("href", ""), values.get("xlink:href", "")]
        self.fetched += [value for name, value in values.items() if name in FETCHED]
        self.fetched += IN_STYLE.findall(values.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.fetched += IN_STYLE.findall(data)


def find_in_page(html: str) -> List[str]:
    """List the addresses elsewhere that a page fetches."""
    page = Page()
    page.feed(html)
    return [one for one in page.fetched if FOREIGN.match(one)]


def find_in_style(css: str) -> List[str]:
    """List the addresses elsewhere that a style sheet fetches."""
    return IN_STYLE.findall(css)


def find_foreign(site: str) -> List[str]:
    """Name each page or style sheet of the site with what it would fetch from elsewhere."""
    return sorted(f"{os.path.relpath(path, site)}: {one}" for path, one in look_through(site))


def look_through(site: str) -> Iterator[Tuple[str, str]]:
    for folder, _, names in os.walk(site):
        for name in names:
            find = {".html": find_in_page, ".css": find_in_style, ".svg": find_in_page}.get(os.path.splitext(name)[1])
            if find is not None:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    for one in find(file.read()):
                        yield path, one
