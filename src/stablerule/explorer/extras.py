"""What the explorer needs beside the library: said in one line where it is missing."""

from __future__ import annotations

from importlib.util import find_spec

from stablerule.errors import MissingExtra

WEB = ("fastapi", "uvicorn", "jinja2", "python_multipart")
SPELLED = {"python_multipart": "python-multipart"}


def need_web(what: str) -> None:
    """Say how to install the extra where a package of it is missing."""
    _need(what, WEB, "explore")


def need_mcp(what: str) -> None:
    """Say the same of the Model Context Protocol."""
    _need(what, ("mcp",), "mcp")


def _need(what: str, packages: tuple[str, ...], extra: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(what, package=SPELLED.get(package, package), extra=extra)
