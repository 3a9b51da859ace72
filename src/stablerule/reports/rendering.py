"""Templates to text: everything that is filled in is escaped."""

from __future__ import annotations

from typing import Any

from stablerule.errors import MissingExtra
from stablerule.reports.directions import split_directions


def render(template: str, values: dict[str, Any]) -> str:
    """Fill a template of this room.

    Filters: `decimal` 0.731, `share` 37.4%, `percent` 95%, `count` 1,281; `directions` cuts a text into runs.
    """
    try:
        import jinja2  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtra("Writing a page", package="jinja2", extra="report") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("stablerule.reports"),
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
