"""A table of results, for a terminal and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass

TEXT = 1  # text columns at the left; the others are figures


@dataclass(frozen=True)
class Table:
    """Rows of text with a title and headings.

    >>> print("\\n".join(Table("umls", ("method", "MRR"), (("rotate", "0.801"),)).markdown()))
    **umls**
    <BLANKLINE>
    | method | MRR |
    |---|--:|
    | rotate | 0.801 |
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def without_empty(self) -> Table:
        """Drop columns that are empty in every row.

        >>> Table("umls", ("method", "MRR", "printed"), (("rotate", "0.801", ""),)).without_empty().headings
        ('method', 'MRR')
        """
        kept = [i for i in range(len(self.headings)) if any(row[i] not in ("", "-") for row in self.rows)]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return Table(self.title, tuple(self.headings[i] for i in kept), rows)

    def markdown(self) -> list[str]:
        """Return the table as Markdown lines."""
        rule = "|" + "---|" * TEXT + "--:|" * (len(self.headings) - TEXT)
        return [f"**{self.title}**", "", _line(self.headings), rule, *map(_line, self.rows)]


def markdown(tables: list[Table]) -> str:
    """Return tables as Markdown, one below the other."""
    return "\n\n".join("\n".join(table.markdown()) for table in tables) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |".replace("|  |", "| |").replace("|  |", "| |")
