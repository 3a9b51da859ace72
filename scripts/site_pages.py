"""What the site has beside docs/: pages made from the code, pages from elsewhere, and links that lead to them.

mkdocs calls the `on_...` functions while `scripts/docs` builds the site (`hooks` in mkdocs.yml):

- `on_config` fills the parts of the navigation that follow from the code and from the decisions;
- `on_files` adds the reference, the pages of the laboratory, and the files that pages link to;
- `on_page_markdown` turns links between files of the project into links between pages of the site.

So pages link to one another as files do, and can be read on a code host as well.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, InclusionLevel
from site_commands import describe_commands
from site_text import ROOT, find_file, find_links, first_sentence, place_of, rewrite_links

if TYPE_CHECKING:
    from collections.abc import Iterator

# Pages with a tab of their own: beside them there is nothing to navigate to.
ALONE = {"index.md", "tutorial.md"}
PACKAGE = ROOT / "src" / "stablerule"
ROOMS = [
    "graph",
    "io",
    "rules",
    "samples",
    "datasets",
    "reasoning",
    "evaluation",
    "shifts",
    "shifts.splits",
    "learning",
    "registry",
    "errors",
    "extending",
]


def on_config(config: Any) -> None:
    """Spell out the folders in the navigation."""
    config.nav = [expand(entry) for entry in config.nav]


def expand(entry: Any) -> Any:
    """Replace a folder in the navigation by the list of its pages."""
    if isinstance(entry, list):
        return [expand(one) for one in entry]
    if isinstance(entry, dict):
        return {title: expand(one) for title, one in entry.items()}
    if entry == "decisions/":
        folder = ROOT / "docs" / "decisions"
        return ["decisions/README.md", *(f"decisions/{path.name}" for path in sorted(folder.glob("0*.md")))]
    if entry == "reference/":
        rooms = [{f"stablerule.{room}": f"reference/{room}.md"} for room in ROOMS]
        return ["reference/index.md", {"Command line": "reference/command-line.md"}, *rooms]
    return entry


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/, and what pages link to."""
    for path in pages_from_elsewhere():
        files.append(File.generated(config, place_of(path), abs_src_path=str(ROOT / path)))
    for name, text in make_reference().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    linked = {path for file in files if file.is_documentation_page() for path in linked_files(file)}
    for path in sorted(linked):
        if files.get_file_from_path(place_of(path)) is None:
            copy = File.generated(config, place_of(path), abs_src_path=str(ROOT / path))
            copy.inclusion = InclusionLevel.NOT_IN_NAV
            files.append(copy)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files of the project into links to pages of the site."""
    if page.file.src_uri in ALONE:
        page.meta["hide"] = ["navigation"]
    if page.file.src_uri.startswith("reference/"):
        page.meta["search"] = {"boost": 0.5}  # a search finds what explains before what lists
    source = page.file.abs_src_path
    text = markdown if source is None else rewrite_links(markdown, Path(source), page.file.src_uri)
    return re.sub(r"(?m)^```python\n(?=>>> )", "```pycon\n", text)


def pages_from_elsewhere() -> Iterator[str]:
    """List the project's files outside of docs/ that become files of the site."""
    yield from ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "lab/README.md")
    for path in sorted((ROOT / "lab" / "docs").rglob("*")):
        if path.is_file():
            yield path.relative_to(ROOT).as_posix()


def linked_files(file: Any) -> Iterator[str]:
    """List the files of the project that a page links to, by their path in the project."""
    if file.abs_src_path is None:
        return
    source = Path(file.abs_src_path)
    for _, target in find_links(source.read_text(encoding="utf-8")):
        path = find_file(source, target)
        if path is not None and (ROOT / path).is_file():
            yield path


def make_reference() -> dict[str, str]:
    """Write the pages of the reference: the front door, each room, and the command line."""
    pages = {"index": front_page(), "command-line": describe_commands()}
    return pages | {room: room_page(room) for room in ROOMS}


def room_page(room: str) -> str:
    """Write the page of a room: its docstring, then its public names."""
    names = public_names(PACKAGE, room)
    inside = f"stablerule.{room}."
    lines = [f"# stablerule.{room}", "", f"::: stablerule.{room}", "    options:", "      members:"]
    lines += [f"        - {name}" for name in names if address_of(room, name) == inside + name]
    for name in names:
        if address_of(room, name) != inside + name:
            lines += ["", f"::: {address_of(room, name)}", "    options:", "      show_root_heading: true"]
    return "\n".join([*lines, ""])


def address_of(room: str, name: str) -> str:
    """Return the name by which the reference finds an object: where a module has the same name, that of the original.

    >>> address_of("evaluation", "Ranks"), address_of("evaluation", "compare")
    ('stablerule.evaluation.Ranks', 'stablerule.evaluation.compare.compare')
    """
    folder = PACKAGE.joinpath(*room.split("."))
    return f"stablerule.{room}.{name}" + (f".{name}" if (folder / f"{name}.py").exists() else "")


def front_page() -> str:
    """List the names of `import stablerule`, each with its first sentence."""
    rows = [f"| [`{name}`][{address_of(room, name)}] | {about} |" for name, room, about in front_door()]
    rooms = [f"| [`stablerule.{room}`]({room}.md) | {about_room(room)} |" for room in ROOMS]
    return "\n".join(
        [
            "# Reference",
            "",
            "Made from the code: what `import stablerule` gives, the public names of each room, and every command.",
            "",
            "## import stablerule",
            "",
            "| name | |",
            "|---|---|",
            *rows,
            "",
            "## Rooms",
            "",
            "| module | |",
            "|---|---|",
            *rooms,
            "",
            "The [command line](command-line.md) has a page of its own.",
            "",
        ]
    )


def front_door() -> Iterator[tuple[str, str, str]]:
    """List the names of `stablerule.__all__` with their room and the first sentence of their docstring."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    rooms = {
        alias.name: node.module.removeprefix("stablerule.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    for name in public_names(PACKAGE, ""):
        yield name, rooms[name], first_sentence(find_docstring(rooms[name], name))


def find_module(package: Path, room: str) -> Path:
    """Return the file of a module, given as `graph` or `shifts.splits`; empty for the package."""
    path = package.joinpath(*room.split(".")) if room else package
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def public_names(package: Path, room: str) -> list[str]:
    """Return `__all__` of a module; without one, its public classes and functions, in their order."""
    tree = ast.parse(find_module(package, room).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return list(ast.literal_eval(node.value))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]


def find_docstring(room: str, name: str) -> str:
    """Return the docstring of a name, following one import after another."""
    tree = ast.parse(find_module(PACKAGE, room).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return ast.get_docstring(node) or ""
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return find_docstring(node.module.removeprefix("stablerule."), name)
    return ""


def about_room(room: str) -> str:
    """Return the first sentence of a module's docstring."""
    tree = ast.parse(find_module(PACKAGE, room).read_text(encoding="utf-8"))
    return first_sentence(ast.get_docstring(tree) or "")
