"""`stablerule data aminer`: a dump of AMiner's DBLP citation network becomes a data folder."""

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
    source: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="The dump, text or JSON, compressed or not; .zip, too.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    from_year: Annotated[int | None, typer.Option(help="Only papers of this year and later.")] = None,
    to_year: Annotated[int | None, typer.Option(help="Only papers of this year and before.")] = None,
    venue: Annotated[list[str] | None, typer.Option(help="Only papers of this venue; may be repeated.")] = None,
    max_papers: Annotated[int | None, typer.Option(help="Only so many papers, the first that are left.")] = None,
    min_papers: Annotated[int, typer.Option(help="Only authors with so many papers.")] = 1,
    top_countries: Annotated[
        int | None, typer.Option(help="Only papers from so many countries, those with the most.")
    ] = None,
    countries: Annotated[
        bool, typer.Option("--countries/--no-countries", help="Whether to tell countries from affiliations.")
    ] = True,
    country_facts: Annotated[
        bool, typer.Option("--country-facts", help="Write countries as facts of train, too, as acl-biblio has them.")
    ] = False,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave out and count what can't be read.")
    ] = False,
    encoding: Annotated[str, typer.Option(help="Encoding of the dump.")] = "utf-8",
    split: Annotated[str, typer.Option(help="Shares of train, valid, test, of who wrote what.")] = "0.8,0.1,0.1",
    seed: Annotated[int, typer.Option(help="Same seed, same split.")] = 0,
    suffix: Annotated[str, typer.Option("--to", help="Format: tsv, csv, parquet; .gz, .xz or .zst behind it.")] = "tsv",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder if it exists.")] = False,
) -> None:
    """Make a graph of papers, authors and venues from a dump of AMiner's DBLP citation network."""
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
    errors.print(f"Written to {plain(str(output))}", highlight=False, soft_wrap=True)


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
