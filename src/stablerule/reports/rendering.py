"""Render templates: values are escaped, control characters are made visible, and writing directions are kept apart."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from stablerule.errors import MissingExtra

if TYPE_CHECKING:
    import jinja2

LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
# Without a comma, a bracket or an arrow: those separate names in a rule or a sentence.
TURNED = re.compile(f"([{LETTERS}]+(?:[ _.0-9-]*[{LETTERS}]+)*)")
# Control characters, direction marks and overrides, line separators, and characters not allowed in XML or UTF-8.
HIDDEN = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        0x061C,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
        0xFFFE,
        0xFFFF,
    )
}


def need_jinja() -> None:
    """Raise an error with the install command if jinja2 is missing."""
    if find_spec("jinja2") is None:
        raise MissingExtra("Writing a page", package="jinja2", extra="report")


def render_template(template: str, values: dict[str, Any], *, package: str = "stablerule.reports") -> str:
    """Render a template from the folder `templates` of a package.

    Filters: `decimal` 0.731, `share` 37.4%, `percent` 95%, `count` 1,281; `directions` splits a text into runs.
    """
    need_jinja()
    return make_template_environment(package).get_template(template).render(values)


@cache
def make_template_environment(package: str) -> jinja2.Environment:
    """Make what fills the templates of a package, see `render_template`."""
    import jinja2  # noqa: PLC0415  # an extra

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        decimal=render_decimal,
        share=render_share,
        percent=render_percent,
        count=render_count,
        directions=split_directions,
    )
    return environment


def make_text_visible(value: Any) -> Any:
    r"""Return the same plain values, with control characters escaped in every string and dict key.

    >>> print(make_text_visible({"names": [("a\x00b", 2)]}))
    {'names': [['a\\x00b', 2]]}
    """
    if isinstance(value, str):
        return value.translate(HIDDEN)
    if isinstance(value, dict):
        return {make_text_visible(key): make_text_visible(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [make_text_visible(one) for one in value]
    return value


def split_directions(text: str) -> list[tuple[str, bool]]:
    """Split a text into runs, each with whether it is written from right to left.

    >>> split_directions("r <- ~\u05d0\u05d1")
    [('r <- ~', False), ('אב', True)]
    """
    return [(run, place % 2 == 1) for place, run in enumerate(TURNED.split(text)) if run]


def render_decimal(value: float) -> str:
    """Spell a number with three digits."""
    return f"{value:.3f}"


def render_share(value: float) -> str:
    """Spell a measured share.

    >>> render_share(0.3742)
    '37.4%'
    """
    return f"{value:.1%}"


def render_percent(value: float) -> str:
    """Spell a constant share without trailing zeros.

    >>> render_percent(0.95), render_percent(0.125)
    ('95%', '12.5%')
    """
    return f"{round(100 * value, 4):g}%"


def render_count(value: float) -> str:
    """Spell a number of queries."""
    return f"{value:,.0f}"
