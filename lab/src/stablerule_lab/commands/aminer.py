"""`stablerule data aminer`: make a data folder from a dump of AMiner's DBLP citation network."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablerule.cli.output import console, errors, make_printed_table, name_options_as_typed, plain, print_table
from stablerule.cli.reading import parse_split_option
from stablerule_lab.aminer import read_aminer
from stablerule_lab.aminer.citations import check_citations_place

if TYPE_CHECKING:
    from stablerule_lab.aminer import CitationGraph

COUNTRIES_SHOWN = 5


def aminer(
    source: Annotated[list[Path], typer.Argument(metavar="FILE", help="Dump, text or JSON, compressed or not.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    from_year: Annotated[int | None, typer.Option(help="Keep papers from this year on.")] = None,
    to_year: Annotated[int | None, typer.Option(help="Keep papers up to this year.")] = None,
    venue: Annotated[list[str] | None, typer.Option(help="Keep papers of this venue; repeatable.")] = None,
    max_papers: Annotated[int | None, typer.Option(help="Keep at most this many papers.")] = None,
    min_papers: Annotated[int, typer.Option(help="Keep authors with at least this many papers.")] = 1,
    top_countries: Annotated[int | None, typer.Option(help="Keep papers from the k most frequent countries.")] = None,
    countries: Annotated[
        bool, typer.Option("--countries/--no-countries", help="Infer countries from affiliations.")
    ] = True,
    country_facts: Annotated[
        bool, typer.Option("--country-facts", help="Add countries to the training facts.")
    ] = False,
    skip_damaged: Annotated[bool, typer.Option("--skip-damaged", help="Skip and count unreadable records.")] = False,
    encoding: Annotated[str, typer.Option(help="Encoding of the dump.")] = "utf-8",
    split: Annotated[str, typer.Option(help="Training, validation, test shares of `wrote` facts.")] = "0.8,0.1,0.1",
    seed: Annotated[int, typer.Option(help="Seed of the split.")] = 0,
    suffix: Annotated[str, typer.Option("--to", help="Format: tsv, csv or parquet; also .gz, .xz, .zst.")] = "tsv",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing folder.")] = False,
) -> None:
    """Make a graph of papers, authors and venues from AMiner's DBLP dump."""
    suffix = f".{suffix.removeprefix('.')}"
    check_citations_place(output, suffix, overwrite=overwrite)
    with name_options_as_typed():
        graph = read_aminer(
            source,
            from_year=from_year,
            to_year=to_year,
            venues=venue or None,
            max_papers=max_papers,
            min_papers=min_papers,
            countries=countries,
            top_countries=top_countries,
            skip_damaged=skip_damaged,
            split=parse_split_option(split),
            seed=seed,
            encoding=encoding,
        )
    graph.save(output, overwrite=overwrite, suffix=suffix, country_facts=country_facts)
    _print_graph(graph)
    errors.print(f"wrote {plain(str(output))}", highlight=False, soft_wrap=True)


def _print_graph(graph: CitationGraph) -> None:
    dataset = graph.dataset
    rows = make_printed_table("relation", *dataset.splits, right=tuple(dataset.splits))
    for place, relation in enumerate(dataset.vocabulary.relations):
        counts = (int((facts.relations == place).sum()) for facts in dataset.splits.values())
        rows.add_row(relation, *(f"{count:,}" for count in counts))
    print_table(rows)
    sizes = Counter(graph.countries.values())
    if sizes:
        most = ", ".join(f"{country} {count:,}" for country, count in sizes.most_common(COUNTRIES_SHOWN))
        more = len(sizes) - COUNTRIES_SHOWN
        rest = f" and {more:,} others" if more > 0 else ""
        console.print(f"\nAuthors: {plain(most)}{rest}", highlight=False, soft_wrap=True)
