"""The tables of docs/reliability.md, from the results: python -m tests.faults.report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.faults.campaign import RESULTS, ROOT

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- python -m tests.faults.report -->", "<!-- end -->"


def make_tables(found: dict[str, Any]) -> str:
    """Return both tables as Markdown."""
    damaged, kills = found["malformed"], found["kills"]
    ended = kills["ended"]
    rows = [
        "| tried | how many | how they ended | faults |",
        "|---|---|---|---|",
        f"| damaged files | {damaged['inputs']:,} | {damaged['refused']:,} refused, {damaged['read']:,} read | "
        f"{len(damaged['faults']):,} |",
        f"| kills, interrupts, failing calls | {sum(ended.values()):,} | "
        f"{ended['kill']:,} killed, {ended['interrupt']:,} interrupted, {ended['full disk']:,} without room | "
        f"{len(kills['faults']):,} |",
        "",
        f"The slowest reaction to Ctrl-C took {kills['slowest_interrupt_s']} s, including saving.",
        "",
        "| command | faults while it wrote |",
        "|---|---|",
        *(f"| {name} | {count:,} |" for name, count in kills["by_work"].items()),
    ]
    return "\n".join(rows)


def fill_page(page: str, tables: str) -> str:
    """Put the tables between their marks."""
    pattern = f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})"
    return re.sub(pattern, lambda _: f"{tables}\n", page, flags=re.DOTALL)


def main(page: Path = PAGE) -> None:
    """Write the tables into the page."""
    tables = make_tables(json.loads(RESULTS.read_text(encoding="utf-8")))
    page.write_text(fill_page(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main()
