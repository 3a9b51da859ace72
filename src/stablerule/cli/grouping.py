"""The option --groups: make the groups, and print the shift between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stablerule.cli.output import console, make_printed_table, plain, print_table
from stablerule.errors import OptionError, spell_closest
from stablerule.graph import Graph
from stablerule.io.files import find_path_kind

if TYPE_CHECKING:
    from stablerule.graph import Dataset, Triples
    from stablerule.shifts import Grouping

BUILDERS = ("by_paths", "by_degree", "by_relation", "by_random")
ATTRIBUTE = "by_attribute="
ARBITRARY = "by_paths=arbitrary"
SOME_GROUPS = (
    f"{', '.join(BUILDERS)}, {ARBITRARY}, {ATTRIBUTE}RELATION, or a file of entity labels (two columns) or fact "
    "labels (four)"
)
HELP = f"Also evaluate groups: {SOME_GROUPS}."


def read_groups_option(asked: str, dataset: Dataset, facts: Triples, seed: int, *, measure: bool = True) -> Grouping:
    """Group facts of a dataset. Labels of an attribute may come from all splits, since they answer no query."""
    from stablerule import shifts  # noqa: PLC0415  # few evaluations have groups, and shifts take a moment to import

    graph = dataset.graph
    if asked in BUILDERS:
        made: Grouping = getattr(shifts, asked)(facts, graph, seed=seed, measure=measure)
        return made
    if asked == ARBITRARY:
        return shifts.by_paths(facts, graph, align="arbitrary", seed=seed, measure=measure)
    if asked.startswith(ATTRIBUTE):
        everything = Graph.build(dataset.everything, dataset.vocabulary, dataset.name)
        relation = asked.removeprefix(ATTRIBUTE)
        return shifts.by_attribute(facts, graph, relation, labels_from=everything, seed=seed, measure=measure)
    if find_path_kind(Path(asked)) == "file":
        return shifts.by_file(facts, graph, Path(asked), seed=seed, measure=measure)
    choices = [*BUILDERS, ARBITRARY, f"{ATTRIBUTE}RELATION"]
    raise OptionError(
        f"--groups must be {', '.join(choices)} or an existing file of labels, got {asked!r}."
        f"{spell_closest(asked, choices)}"
    )


def print_group_shift(grouping: Grouping) -> None:
    """Print the distances between the groups, with the distances expected by chance."""
    if not grouping.shift:
        return
    columns = ("distance", "by chance", "up to")
    rows = make_printed_table("shift between groups", *columns, "", right=columns)
    for size in grouping.shift:
        verdict = "shifted" if size.is_shifted else "within chance"
        rows.add_row(size.measure, f"{size.value:.3f}", f"{size.chance:.3f}", f"{size.chance_high:.3f}", plain(verdict))
    console.print()
    print_table(rows)
