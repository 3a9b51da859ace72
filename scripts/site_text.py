"""The text of pages of the site: links between files become links between pages, examples become code blocks."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
# Where the files of the project are on the site, if they are pages of it: the longest beginning decides.
PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docs/": "",
    "lab/README.md": "lab/index.md",
    "lab/docs/": "lab/",
}
# Other files that pages link to are copied to this folder of the site.
COPIES = "files/"
LINK = re.compile(r'(?P<begin>\]\(|<img [^>]*?src=")(?P<target>[^)\s"]+)(?P<end>[)"\s])')
FENCE = re.compile(r"(?ms)^(```+)[^\n]*\n.*?^\1[ \t]*$")
# From `>>>` up to the next empty line, with the indentation of its first line.
EXAMPLE = re.compile(r"(?m)^(?P<indent>[ \t]*)>>> .*\n?(?:(?P=indent)(?!>>> ?$).*\S.*\n?)*")


def place_of(path: str) -> str:
    """Return where a file of the project is on the site.

    >>> place_of("docs/data.md"), place_of("lab/docs/paper.md"), place_of("benchmarks/reading.py")
    ('data.md', 'lab/paper.md', 'files/benchmarks/reading.py')
    """
    for begin in sorted(PLACES, key=len, reverse=True):
        if path == begin or (begin.endswith("/") and path.startswith(begin)):
            return PLACES[begin] + path[len(begin) :]
    return COPIES + path


def find_links(markdown: str) -> Iterator[tuple[re.Match[str], str]]:
    """Find the links of a page to other files, those in code blocks aside, without what follows a `#`."""
    code = [match.span() for match in FENCE.finditer(markdown)]
    for match in LINK.finditer(markdown):
        target = match["target"].partition("#")[0]
        if target and ":" not in target and not any(begin <= match.start() < end for begin, end in code):
            yield match, target


def find_file(source: Path, target: str) -> str | None:
    """Return the path in the project of what a page links to; None if it is not there."""
    found = Path(os.path.normpath(source.parent / target))
    return found.relative_to(ROOT).as_posix() if found.exists() and found.is_relative_to(ROOT) else None


def rewrite_links(markdown: str, source: Path, uri: str) -> str:
    """Rewrite the links of one page; a folder has no page, so a link to one becomes its text."""
    pieces, done = [], 0
    for match, target in find_links(markdown):
        path = find_file(source, target)
        if path is None:
            continue  # mkdocs reports it
        if (ROOT / path).is_dir():
            begin = markdown.rfind("[", 0, match.start())
            pieces += [markdown[done:begin], markdown[begin + 1 : match.start()]]
        else:
            new = os.path.relpath(place_of(path), PurePosixPath(uri).parent).replace(os.sep, "/")
            rest = match["target"][len(target) :]
            pieces += [markdown[done : match.start()], match["begin"], new, rest, match["end"]]
        done = match.end()
    return "".join([*pieces, markdown[done:]])


def first_sentence(docstring: str) -> str:
    """Return the first paragraph on one line, as a cell of a table.

    >>> first_sentence("Read a | b,\\nthen more.\\n\\nThe rest.")
    'Read a \\\\| b, then more.'
    """
    return " ".join(docstring.split("\n\n", maxsplit=1)[0].split()).replace("|", "\\|")


def fence_examples(docstring: str) -> str:
    """Put each example into a fenced block; between blocks that only empty lines part, they stay apart.

    >>> fence_examples("Add.\\n\\n>>> 1 + 1\\n2\\n")
    'Add.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n'
    """

    def fence(match: re.Match[str]) -> str:
        indent = match["indent"]
        return f"{indent}```pycon\n{match[0].rstrip()}\n{indent}```\n"

    return EXAMPLE.sub(fence, docstring)


def list_arguments(docstring: str, names: Iterable[str]) -> str:
    """Turn a paragraph that describes arguments one after the other into a list.

    >>> list_arguments("Walk.\\n\\nsteps: how many. seed, rng: what\\ndecides.", ["steps", "seed", "rng"])
    'Walk.\\n\\n- `steps`: how many.\\n- `seed`, `rng`: what decides.'
    """
    name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not name:
        return docstring
    label = f"(?:{name})(?:, (?:{name}))*"

    def spell(paragraph: str) -> str:
        if not re.match(f"{label}: ", paragraph):
            return paragraph
        pieces = re.split(f"(?:^|(?<=[.;] ))({label}): ", " ".join(paragraph.split()))
        pairs = zip(pieces[1::2], pieces[2::2], strict=True)
        return "\n".join(f"- `{one.replace(', ', '`, `')}`: {about.strip()}" for one, about in pairs)

    return "\n\n".join(map(spell, docstring.split("\n\n")))
