"""`stablerule data`: list, get, check, stats, convert."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablerule.cli.output import (
    console,
    make_printed_table,
    plain,
    print_json,
    print_line,
    print_message,
    print_table,
    spell_byte_size,
)
from stablerule.cli.reading import take_data_options
from stablerule.datasets import CATALOG, describe, load
from stablerule.graph import Dataset
from stablerule.graph import check as find_trouble
from stablerule.io import write_dataset

if TYPE_CHECKING:
    from stablerule.datasets import Description
    from stablerule.graph import Finding

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

MOST_NAMES = 8  # relations printed of one kind
COLOURS = {"serious": "red", "warning": "yellow", "note": "cyan"}


def list_datasets(json: Json = False) -> None:
    """List the known graphs."""
    if json:
        print_json(
            [
                {"name": e.name, "about": e.about, "licence": e.licence, "address": e.address, **vars(e.counts)}
                for e in CATALOG.values()
            ]
        )
        return
    rows = make_printed_table(
        "name",
        "entities",
        "relations",
        "train",
        "valid",
        "test",
        "about",
        right=("entities", "relations", "train", "valid", "test"),
    )
    for entry in CATALOG.values():
        counts = entry.counts
        numbers = (counts.entities, counts.relations, counts.train, counts.valid, counts.test)
        rows.add_row(entry.name, *(f"{n:,}" for n in numbers), entry.about)
    print_table(rows)


def get(
    name: Annotated[str, typer.Argument(help="A name from `stablerule data list`.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also save it to this folder as TSV.")] = None,
) -> None:
    """Get a known graph from STABLERULE_DATA, the cache or the network."""
    dataset = load(name)
    print_line(plain(repr(dataset)))
    if output is not None:
        write_dataset(dataset, output)
        print_message(f"Saved to {plain(str(output))}")


@take_data_options
def check(
    dataset: Dataset,
    json: Json = False,
) -> None:
    """Check data for leaks and other problems; exit with 1 if one is serious."""
    findings = find_trouble(dataset)
    serious = any(finding.severity == "serious" for finding in findings)
    if json:
        print_json({"data": dataset.name, "serious": serious, "findings": [f.to_dict() for f in findings]})
    else:
        print_line(plain(repr(dataset)))
        for finding in findings:
            _print_finding(finding)
        console.print(_print_check_verdict(findings))
    raise typer.Exit(1 if serious else 0)


@take_data_options
def stats(
    dataset: Dataset,
    json: Json = False,
) -> None:
    """Print the size of a graph, its relations, and what rules can answer."""
    description = describe(dataset)
    if json:
        print_json(description.to_dict())
    else:
        _print_description(description)


@take_data_options
def convert(
    dataset: Dataset,
    output: Annotated[Path, typer.Argument(help="Folder for the result.")],
    suffix: Annotated[
        str, typer.Option("--to", help="Format: tsv, csv, parquet, nt, ttl, nq; tsv.gz to compress.")
    ] = "tsv",
    base: Annotated[str | None, typer.Option(help="For RDF: IRI prefix of plain names.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing folder.")] = False,
) -> None:
    """Save data in another format; --shares splits a single file."""
    write_dataset(dataset, output, suffix=f".{suffix.removeprefix('.')}", overwrite=overwrite, base=base)
    print_message(f"Saved {plain(repr(dataset))} to {plain(str(output))}")


def _print_finding(finding: Finding) -> None:
    colour = COLOURS[finding.severity]
    print_line(f"\n[{colour}]{finding.severity}[/{colour}]  {plain(finding.what)}")
    print_line(f"  for example: {plain(finding.example)}")
    print_line(f"  what to do:  {plain(finding.advice)}")


def _spell_some_names(names: list[str]) -> str:
    """Spell the number of names, and the first of them."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return plain(f"{len(names):,}: {', '.join(names[:MOST_NAMES])}{more}")


def _print_check_verdict(findings: list[Finding]) -> str:
    if any(finding.severity == "serious" for finding in findings):
        return "\n[red]Serious:[/red] a test result on this data would be wrong."
    return "\nNo serious problem." if findings else "No problem found."


def _print_description(description: Description) -> None:
    facts = ", ".join(f"{name} {count:,}" for name, count in description.facts.items())
    degrees, reach = description.degrees, description.reach
    rows = make_printed_table("", "")
    rows.show_header = False
    rows.add_row("entities", f"{description.entities:,}")
    rows.add_row("relations", f"{description.relations:,}")
    rows.add_row("facts", facts)
    rows.add_row("facts per entity", f"median {degrees.median:g}, mean {degrees.mean:.1f}")
    rows.add_row("most facts", f"{degrees.highest:,} at {plain(degrees.highest_entity)}")
    if degrees.without_facts:
        rows.add_row("without facts in train", f"{degrees.without_facts:,} entities")
    if reach:
        within = ", ".join(f"{share:.1%} within {steps}" for steps, share in reach.within.items())
        rows.add_row(f"{reach.split} pairs linked", f"{within} steps")
    for kind, names in vars(description.kinds).items():
        if names:
            rows.add_row(f"{kind.replace('_', '-')} relations", _spell_some_names(names))
    rows.add_row("memory of the graph", spell_byte_size(description.graph_bytes))
    print_line(f"[bold]{plain(description.name)}[/bold]")
    console.print(rows)
    if reach:
        console.print(
            f"(Rules of length 3 can answer at most {reach.within[3]:.1%} of the {reach.split} facts.)", highlight=False
        )
    frequent = make_printed_table("facts", "most frequent relations", right=("facts",))
    for name, count in description.frequent_relations:
        frequent.add_row(f"{count:,}", plain(name))
    console.print()
    console.print(frequent)
