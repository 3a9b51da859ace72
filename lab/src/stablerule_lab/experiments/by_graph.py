"""Compact tables: a line for each method, a column for each graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stablerule_lab.pages.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stablerule_lab.experiments.differences import Change
    from stablerule_lab.experiments.printed import Printed

SEEDS = 5  # figures with fewer seeds are marked
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def table_by_graph(
    title: str, cells: Mapping[tuple[str, str], str], order: Iterable[str] = (), corner: str = "method"
) -> list[Table]:
    """Return a table of cells by (line, graph); no table without cells.

    order: the order of the lines; by default that of the cells.

    >>> (table,) = table_by_graph("MRR", {("ncrl", "umls"): "0.9", ("drum", "umls"): "0.8", ("drum", "family"): "0.7"})
    >>> table.headings, table.rows
    (('method', 'umls', 'family'), (('ncrl', '0.9', ''), ('drum', '0.8', '0.7')))
    """
    lines, graphs = (dict.fromkeys(cell[place] for cell in cells) for place in (0, 1))
    lines = dict.fromkeys(line for line in order if line in lines) | lines
    rows = tuple((line, *(cells.get((line, graph), "") for graph in graphs)) for line in lines)
    return [Table(title, (corner, *graphs), rows)] if rows else []


def mrr_cell(mrr: float, seeds: int, printed: Printed | None = None) -> str:
    """Write an MRR, the number of seeds if there are fewer than five, and the paper's figure in brackets.

    >>> mrr_cell(0.8641, 5), mrr_cell(0.8641, 1)
    ('0.864', '0.864¹')
    """
    mark = "" if seeds >= SEEDS else str(seeds).translate(SUPERSCRIPT)
    return f"{mrr:.3f}{mark}" + (f" ({printed.mrr / 100:.3f})" if printed else "")


def percent(found: Change) -> str:
    """Write a change as a share of the whole, with half of its 95% interval if there are several seeds."""
    return f"{found.share:+.1%}" + ("" if found.half is None else f" ± {found.half / found.whole:.1%}")
