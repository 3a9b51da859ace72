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

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

MOST_NAMES = 8  # of relations of one kind
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
    name: Annotated[str, typer.Argument(help="A name that `stablerule data list` shows.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write it to this folder as TSV.")] = None,
) -> None:
    """Get a known graph: from STABLERULE_DATA, from the cache, or from the network."""
    dataset = load(name)
    print_line(plain(repr(dataset)))
    if output is not None:
        write_dataset(dataset, output)
        print_message(f"Written to {plain(str(output))}")


@take_data_options
def check(
    dataset: Dataset,
    json: Json = False,
) -> None:
    """Look for what spoils results. Exit code 1 when something makes a test result wrong."""
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
    """Count facts, degrees and relations, and tell how far rules can reach."""
    description = describe(dataset)
    if json:
        print_json(description.to_dict())
    else:
        _print_description(description)


@take_data_options
def convert(
    dataset: Dataset,
    output: Annotated[Path, typer.Argument(help="The folder to write.")],
    suffix: Annotated[
        str, typer.Option("--to", help="Format: tsv, csv, parquet, nt, ttl, nq; .gz, .xz or .zst behind it.")
    ] = "tsv",
    base: Annotated[str | None, typer.Option(help="For RDF: the IRI that goes before names that are none.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it exists.")] = False,
) -> None:
    """Write data in another format, and split a single file into train, valid and test."""
    write_dataset(dataset, output, suffix=f".{suffix.removeprefix('.')}", overwrite=overwrite, base=base)
    print_message(f"{plain(repr(dataset))} written to {plain(str(output))}")


def _print_finding(finding: Finding) -> None:
    colour = COLOURS[finding.severity]
    print_line(f"\n[{colour}]{finding.severity}[/{colour}]  {plain(finding.what)}")
    print_line(f"  for example: {plain(finding.example)}")
    print_line(f"  what to do:  {plain(finding.advice)}")


def _spell_some_names(names: list[str]) -> str:
    """Count the names, and list the first of them."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return plain(f"{len(names):,}: {', '.join(names[:MOST_NAMES])}{more}")


def _print_check_verdict(findings: list[Finding]) -> str:
    if any(finding.severity == "serious" for finding in findings):
        return "\n[red]Serious:[/red] a test result on this data would be wrong."
    return "\nNothing serious." if findings else "Nothing found."


def _print_description(description: Description) -> None:
    facts = ", ".join(f"{name} {count:,}" for name, count in description.facts.items())
    degrees, reach = description.degrees, description.reach
    rows = make_printed_table("", "")
    rows.show_header = False
    rows.add_row("entities", f"{description.entities:,}")
    rows.add_row("relations", f"{description.relations:,}")
    rows.add_row("facts", facts)
    rows.add_row("facts at an entity", f"median {degrees.median:g}, mean {degrees.mean:.1f}")
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
            f"(No rule of length 3 answers more than {reach.within[3]:.1%} of {reach.split}.)", highlight=False
        )
    frequent = make_printed_table("facts", "most frequent relations", right=("facts",))
    for name, count in description.frequent_relations:
        frequent.add_row(f"{count:,}", plain(name))
    console.print()
    console.print(frequent)
