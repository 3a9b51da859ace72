"""Spell small tables as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def spell_html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Spell a table as HTML: names are escaped, numbers have separators and three decimals.

    >>> spell_html_table("a < b", ["split", "facts"], [["train", 1200]])
    '<p>a &lt; b</p><table><thead><tr><th>split</th><th>facts</th></tr></thead>\
<tbody><tr><td>train</td><td>1,200</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_spell_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _spell_cell(cell: object) -> str:
    match cell:
        case bool():
            return str(cell)
        case int():
            return f"{cell:,}"
        case float():
            return f"{cell:.3f}"
    return escape(str(cell))
