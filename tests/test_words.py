"""Text for readers uses the field's words, each for one thing; the list has what we used to write instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Documents for readers, and folders whose strings and docstrings readers see.
DOCUMENTS = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/**/*.md"),
    *("lab/README.md", "lab/docs/**/*.md"),
)
SOURCES = ("benchmarks", "examples", "scripts", "lab/src", "src")
# What to write instead, and a pattern for what not to write. Keep it short: a pattern that hits good English goes.
INSTEAD = {
    "competing candidates": r"\brivals?\b",
    "load": r"\b(?:take|takes|took|taken) up\b",
    "evaluate": r"\bjudge[sd]?\b",
    "is, has, comes, ranks": r"\b(?:stands?|stood)\b(?! for\b)",
    "training, validation or test facts": r"\bvalid facts\b|\b(?:on|of|and|in) valid\b|\bfacts of (?:train|test)\b",
    "cannot be estimated, is unknown": r"\bcan(?:'|no)t be told\b",
    "reported": r"\b(?:is|are|and) said\b|\bsays so\b",
    "effective sample size": r"\bworth \d|\bqueries worth\b",
    "assigned at random": r"\bdealt out\b|\bdeals? out\b",
    "drawn from the same distribution": r"\bone pot\b",
    "applies, fires": r"\bleads? (?:somewhere|anywhere)\b",
    "shift": r"\bdrifts?\b",
    "minimum": r"\bthe least (?:score|share)\b",
    "optimistic ties": r"\bkind ties\b",
    "expensive, slow": r"\bdear(?:er)?\b",
    "published": r"\bin print\b",
    "unchanged, skipped": r"\bleft alone\b",
    "time budget": r"\bminutes (?:were|are) over\b",
    "unseen": r"\bnew to (?:it|the model)\b",
}


def collect_documents() -> list[Path]:
    """List the documents for readers."""
    return sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern))


def read_prose(path: Path) -> str:
    """Return the text of a document with its code blanked, so that lines keep their numbers."""
    text = re.sub(r"(?ms)^```.*?^```$", lambda block: "\n" * block[0].count("\n"), path.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`", "", text)


def collect_strings(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the strings and docstrings of a folder's programs, with their places; names and keys are no text."""
    for path in sorted((ROOT / folder).rglob("*")):
        text = path.read_text(encoding="utf-8") if path.suffix in {"", ".py"} and path.is_file() else ""
        if not path.suffix and not text.startswith("#!/usr/bin/env python3"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def find_words(place: str, text: str) -> list[str]:
    """Return a line for each word that has a better one."""
    return [
        f"{place}: {found[0]!r} in {text[max(0, found.start() - 30) : found.end() + 20]!r}; write: {better}"
        for better, pattern in INSTEAD.items()
        for found in re.finditer(pattern, text)
    ]


@pytest.mark.parametrize("path", collect_documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_use_the_words_of_the_field(path: Path) -> None:
    lines = enumerate(read_prose(path).splitlines(), 1)
    assert [found for number, line in lines for found in find_words(str(number), line)] == []


@pytest.mark.parametrize("folder", SOURCES)
def test_programs_use_the_words_of_the_field(folder: str) -> None:
    strings = list(collect_strings(folder))
    assert strings
    assert [found for place, text in strings for found in find_words(place, text)] == []


def test_the_check_finds_words_and_spares_others() -> None:
    assert len(find_words("here", "It can't be told how the rivals stand.")) == 3
    assert find_words("here", "`E` stands for an entity. We understand that a rule leads to the answer.") == []
