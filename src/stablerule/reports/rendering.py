"""Templates to text: everything that is filled in is escaped."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from stablerule.errors import MissingExtra
from stablerule.reports.directions import split_directions


def need_jinja() -> None:
    """Say how to install jinja2 where it is missing."""
    if find_spec("jinja2") is None:
        raise MissingExtra("Writing a page", package="jinja2", extra="report")


def render(template: str, values: dict[str, Any], *, package: str = "stablerule.reports") -> str:
    """Fill a template of a package, which has them in its folder `templates`.

    Filters: `decimal` 0.731, `share` 37.4%, `percent` 95%, `count` 1,281; `directions` cuts a text into runs.
    """
    need_jinja()
    import jinja2  # noqa: PLC0415  # an extra

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(decimal=decimal, share=share, percent=percent, count=count, directions=split_directions)
    return environment.get_template(template).render(values)


def decimal(value: float) -> str:
    """Write a measure with three digits."""
    return f"{value:.3f}"


def share(value: float) -> str:
    """Write a measured share.

    >>> share(0.3742)
    '37.4%'
    """
    return f"{value:.1%}"


def percent(value: float) -> str:
    """Write a chosen share with the digits that it has.

    >>> percent(0.95), percent(0.125)
    ('95%', '12.5%')
    """
    return f"{round(100 * value, 4):g}%"


def count(value: float) -> str:
    """Write a number of queries."""
    return f"{value:,.0f}"
