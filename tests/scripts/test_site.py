"""What scripts/docs makes: pages from the code and the commands, links between pages, nothing from elsewhere."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import stablerule
from stablerule.cli.main import COMMANDS, GROUPS
from tests.terminal import run

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


@pytest.fixture
def text() -> Any:
    return importlib.import_module("site_text")


@pytest.fixture
def check() -> Any:
    return importlib.import_module("site_check")


def test_the_examples_in_the_docstrings_hold(text: Any) -> None:
    assert doctest.testmod(text).failed == 0
    assert doctest.testmod(importlib.import_module("versions")).failed == 0


# --- links


@pytest.mark.parametrize(
    ("source", "uri", "link", "becomes"),
    [
        ("docs/learning.md", "learning.md", "[a](answering.md#why)", "[a](answering.md#why)"),
        ("docs/data.md", "data.md", "[a](../lab/docs/paper.md)", "[a](lab/paper.md)"),
        ("docs/index.md", "index.md", "[a](decisions/README.md)", "[a](decisions/README.md)"),
        (
            "docs/decisions/0003-realistic-ties.md",
            "decisions/0003-realistic-ties.md",
            "[a](../data.md)",
            "[a](../data.md)",
        ),
        ("lab/docs/paper.md", "lab/paper.md", "[a](../../docs/learning.md)", "[a](../learning.md)"),
        ("lab/README.md", "lab/index.md", "[a](docs/paper.md)", "[a](paper.md)"),
        (
            "CONTRIBUTING.md",
            "contributing.md",
            "[a](docs/data.md) and [b](README.md)",
            "[a](data.md) and [b](index.md)",
        ),
        ("docs/learning.md", "learning.md", "![a](images/answer.svg)", "![a](images/answer.svg)"),
        ("docs/learning.md", "learning.md", "[a](../benchmarks/reading.py)", "[a](files/benchmarks/reading.py)"),
        ("lab/docs/paper.md", "lab/paper.md", "see [the files](../results) here", "see the files here"),
        ("docs/data.md", "data.md", "[a](https://example.org/docs/data.md)", "[a](https://example.org/docs/data.md)"),
        ("docs/data.md", "data.md", "[a](no-such-page.md)", "[a](no-such-page.md)"),
        ("docs/data.md", "data.md", "```\n[a](../lab/docs/paper.md)\n```", "```\n[a](../lab/docs/paper.md)\n```"),
    ],
)
def test_links_between_files_become_links_between_pages(
    text: Any, source: str, uri: str, link: str, becomes: str
) -> None:
    assert text.rewrite_links(link, ROOT / source, uri) == becomes


def test_each_page_is_a_file_that_is_there() -> None:
    pages = re.findall(r"(?m)^ +- (?:[^:\n]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    text = importlib.import_module("site_text")
    files = {text.place_of(path.relative_to(ROOT).as_posix()) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]}
    files |= {
        text.place_of(path.relative_to(ROOT).as_posix())
        for path in [ROOT / "lab/README.md", *ROOT.glob("lab/docs/*.md")]
    }
    assert set(pages) <= files
    assert files - set(pages) <= {text.place_of("README.md")}


# --- examples in docstrings


def test_examples_in_docstrings_become_code_blocks(text: Any) -> None:
    docstring = "Do it.\n\n    >>> x = 1\n    >>> x\n    1\n\nMore: `a`.\n\n>>> 2\n2\n>>> 3\n3\n"
    fenced = text.fence_examples(docstring)
    assert fenced.count("```") == 4
    assert "    ```pycon\n    >>> x = 1\n    >>> x\n    1\n    ```\n" in fenced
    assert fenced.endswith("```pycon\n>>> 2\n2\n>>> 3\n3\n```\n")
    assert re.sub(r" *```\w*\n", "", fenced) == docstring


# --- the command line


def test_every_command_and_option_is_described() -> None:
    page = importlib.import_module("site_commands").describe_commands()
    headings = re.findall(r"(?m)^##+ stablerule ?(.*)$", page)
    assert {"", "learn", "ask", "data", "data stats"} <= set(headings)
    for command in ("learn", "complete", "shift"):
        section = page.split(f"## stablerule {command}\n")[1].split("\n## ")[0]
        shown = run(command, "--help").stdout
        for option in re.findall(r"(?m)^│ (?:\*| ) +(--[a-z-]+)", shown):
            assert option == "--help" or option in section
    assert "&#x27;" not in page
    assert len(headings) == 1 + len(COMMANDS) + len(GROUPS)


# --- what is fetched from elsewhere


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        "<script src=//cdn.example.org/x.js></script>",
        '<link rel="stylesheet" href="https://fonts.example.org/css">',
        '<link rel="preconnect" href="https://fonts.example.org" crossorigin>',
        '<img alt="" src="http://example.org/badge.svg">',
        '<img srcset="https://example.org/a.png 2x" src="a.png">',
        '<iframe src="https://example.org"></iframe>',
        '<p style="background: url(https://example.org/a.png)">x</p>',
        "<style>@import 'https://example.org/a.css';</style>",
        '<svg><image href="https://example.org/a.png"/></svg>',
    ],
)
def test_what_a_page_fetches_from_elsewhere_is_found(check: Any, html: str) -> None:
    assert len(check.find_in_page(f"<html><body>{html}</body></html>")) == 1


def test_links_to_follow_and_own_files_are_no_fault(check: Any) -> None:
    html = (
        '<a href="https://example.org">x</a><link rel="canonical" href="https://example.org">'
        '<script src="../assets/x.js"></script><img src="data:image/png;base64,//8="><img src="a.png">'
        "<pre>&lt;script src=https://example.org&gt; url(https://example.org)</pre>"
    )
    assert check.find_in_page(html) == []


def test_faults_name_the_page(check: Any, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.html").write_text('<img src="https://example.org/a.png">', encoding="utf-8")
    (tmp_path / "b.css").write_text("body { background: url('//example.org/b.png') }", encoding="utf-8")
    (tmp_path / "c.html").write_text('<img src="c.png">', encoding="utf-8")
    found = [fault.replace("\\", "/") for fault in check.find_foreign(str(tmp_path))]
    assert found == ["b.css: //example.org/b.png", "sub/a.html: https://example.org/a.png"]


# --- the API


def test_every_public_room_has_a_page() -> None:
    tree = ast.parse((ROOT / "scripts" / "site_pages.py").read_text(encoding="utf-8"))
    (rooms,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ROOMS"
    ]
    imports = ast.parse(Path(stablerule.__file__).read_text(encoding="utf-8")).body
    used = {
        node.module.removeprefix("stablerule.") for node in imports if isinstance(node, ast.ImportFrom) and node.module
    }
    assert used <= set(rooms)
    for room in rooms:
        importlib.import_module(f"stablerule.{room}")
