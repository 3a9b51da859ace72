"""Read labels of entities or of facts from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stablerule.errors import InputError, ReadError
from stablerule.io.files import open_bytes
from stablerule.io.text import read_text_lines
from stablerule.shifts.grouping import NO_LABEL, Grouping, by_labels, group_by_names

if TYPE_CHECKING:
    from os import PathLike

    from stablerule.graph import Graph, Triples

Fact = tuple[str, str, str]
EXPECTED = "Expected an entity and its label, or head, relation, tail and label, tab-separated."


def by_file(
    facts: Triples, graph: Graph, path: str | PathLike[str], *, seed: int = 0, measure: bool = True
) -> Grouping:
    """Group facts by a file with a label for each entity (two columns) or for each fact (four columns).

    Entities that are not in the graph are skipped, so one file can be used with several graphs.
    """
    path = Path(path)
    entities, labelled = read_labels(path)
    if entities:
        made = by_labels(facts, graph, entities, kind="by_file", seed=seed, measure=measure)
    else:
        rows = graph.vocabulary.decode(facts).select("head", "relation", "tail").rows()
        names = [labelled.get(row, NO_LABEL) for row in rows]
        if all(name == NO_LABEL for name in names):
            raise InputError(
                f"{path}: none of its {len(labelled):,} facts is among the {len(facts):,} to group, such as "
                f"{' '.join(map(repr, rows[0]))}."
            )
        made = group_by_names(facts, graph, names, kind="by_file", seed=seed, measure=measure)
    return Grouping(made.kind, made.names, made.labels, {"file": path.name}, made.shift, made.notes)


def read_labels(path: str | PathLike[str]) -> tuple[dict[str, str], dict[Fact, str]]:
    """Read labels of entities or of facts: one of the two is empty. Blank lines are skipped."""
    path = Path(path)
    entities: dict[str, str] = {}
    facts: dict[Fact, str] = {}
    width = 0
    with open_bytes(path) as stream:
        for line, text in read_text_lines(stream, path):
            if not text.strip():
                continue
            fields = text.split("\t")
            width = width or len(fields)
            if len(fields) != width or width not in (2, 4) or "" in fields:
                raise ReadError(f"found {text!r}. {EXPECTED}", path=path, line=line)
            before = (
                entities.setdefault(fields[0], fields[1])
                if width == 2
                else facts.setdefault((fields[0], fields[1], fields[2]), fields[3])
            )
            if before != fields[-1]:
                what = " ".join(map(repr, fields[:-1]))
                raise ReadError(
                    f"{what} has the label {before!r} on an earlier line and {fields[-1]!r} here. Keep one of them.",
                    path=path,
                    line=line,
                )
    if not width:
        raise ReadError(f"no labels. {EXPECTED}", path=path)
    return entities, facts
