"""`stablerule experiment`: cells that are run one by one, each kept as a line of a file."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.padding import Padding

from stablerule.cli.output import console, errors, make_printed_table, note, plain, print_table
from stablerule.datasets import CATALOG
from stablerule.errors import MissingExtra, OptionError, WriteError, closest
from stablerule.extending import is_dataset_at_hand
from stablerule.io import write_beside
from stablerule_lab.experiments.cells import Cell, fresh_cells, read_cells
from stablerule_lab.experiments.document import Results, figures_of, fill, inlined
from stablerule_lab.experiments.experiment import BUILT, CACHE, Experiment
from stablerule_lab.experiments.export import flatten_cells
from stablerule_lab.experiments.inductive import ENDING
from stablerule_lab.experiments.path_groups import ALIGNMENTS
from stablerule_lab.experiments.runner import run_cells
from stablerule_lab.experiments.specs import EXPERIMENTS
from stablerule_lab.pages.document_page import document_page
from stablerule_lab.pages.results_page import results_page
from stablerule_lab.pages.tables import Table, markdown

T = TypeVar("T")
LIST, PAPER, EXPORT = "list", "paper", "export"
PAGE = Path("docs") / "paper.md"
SPLITS = ("test", "valid")
RESULTS = Path("results")
TABLE = "cells.parquet"
RETELLING = ("align", "split", "reference")  # options that change what is told, not what is run


def experiment(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"One of {', '.join(EXPERIMENTS)}; or {LIST}; or {PAPER}; or {EXPORT}."),
    ],
    results: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder with the results of all experiments.")
    ] = RESULTS,
    graphs: Annotated[str | None, typer.Option(help="Some graphs, with commas between them.")] = None,
    methods: Annotated[str | None, typer.Option(help="Some methods, with commas between them.")] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="How many, such as 5; or which, with commas between them, such as 0,1,2. By default all of the "
            "experiment where a cell is cheap, one where it is dear."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--again", help="Go on with what is there, or run what is asked for again.")
    ] = True,
    minutes: Annotated[
        float | None, typer.Option(help="No cell is begun after so many; 0 only reads what is there.")
    ] = None,
    biases: Annotated[str | None, typer.Option(help="Of train-side, such as 0,0.5,0.9.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Of train-side, what is judged: test, or valid where something is chosen.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Of train-side, the method that the others are compared with.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help=f"Of paper, a document whose tables are filled; by default {PAGE}.")
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(help="Of completion, inductive and ablation, how groups are numbered: density or arbitrary."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help=f"Of {EXPORT}, the Parquet file; by default {TABLE} in the folder {BUILT} of the results.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of -o if there is one.")] = False,
) -> None:
    """Run an experiment's missing cells and print its tables.

    `list` shows the experiments; `paper` puts the newest tables and figures of all of them into the page about the
    paper, and writes it as one HTML page, too; `export` writes all cells as one Parquet table.
    """
    if name == EXPORT:
        export_cells(results, output, overwrite=overwrite)
        return
    if output is not None or overwrite:
        raise OptionError(f"-o and --overwrite are for {EXPORT}. The folder of results is set with --results FOLDER.")
    if name == LIST:
        list_experiments(results)
        return
    if name == PAPER:
        write_paper(page or PAGE, results)
        return
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise OptionError(f"There is no experiment {name!r}.{closest(name, EXPERIMENTS)} There are: {known}.")
    spec = EXPERIMENTS[name]
    own = _own_options(spec, {"biases": biases, "split": split, "reference": reference, "align": align})
    asked = spec.asked_cells(
        _some("--graphs", graphs, spec.all_graphs), _some("--methods", methods, spec.all_methods), _seeds(seeds), own
    )
    if minutes is not None and minutes < 0:
        raise OptionError(f"--minutes must be at least 0, got {minutes}.")
    cells = spec.cell_file(results)
    own[CACHE] = cache = spec.cache(results)
    ran = run_cells(
        asked,
        cells,
        lambda cell: spec.run(cell, cache),
        made_with=spec.made_with,
        minutes=minutes,
        again=not resume,
        tell=lambda cell, error: note(f"{', '.join(f'{key} {cell[key]}' for key in cell)} failed: {error}"),
    )
    _write(spec, results, own)
    made = spec.tables(spec.summarise(ran.results, own), own)
    _print(made)
    errors.print(f"{len(ran.results):,} of {len(asked):,} cells, in {plain(str(cells))}", highlight=False)
    if ran.failed:
        raise typer.Exit(1)


def _write(spec: Experiment, results: Path, own: dict[str, Any]) -> None:
    """Write what all its cells say, whichever run they are from: rows, tables, figures and a page."""
    rows = spec.summarise(spec.own(read_cells(spec.cell_file(results)), own), own)
    made = spec.tables(rows, own)
    texts = {".json": json.dumps(rows, indent=1) + "\n", ".md": markdown(made)}
    try:
        drawn = spec.figures(rows, own)
        texts |= {f"-{one.name}.svg": one.svg for one in drawn}
        texts[".html"] = results_page(f"Experiment: {spec.name}", spec.about, drawn, made)
    except MissingExtra as missing:
        note(f"No figures and no page: {missing}")
    _write_files({results / BUILT / f"{_stem(spec, own)}{ending}": text for ending, text in texts.items()})


def _write_files(texts: Mapping[Path, str]) -> None:
    """Write files that are made from cells, and the folders for them."""
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_beside(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _stem(spec: Experiment, own: dict[str, Any]) -> str:
    """Name files by the experiment, and by options that say something else about the same cells."""
    asked = {key: own[key] for key, value in spec.options.items() if key in RETELLING and own[key] != value}
    return "-".join([spec.name, *(f"{key}-{value}" for key, value in asked.items())]).replace(" ", "_")


def write_paper(page: Path, folder: Path) -> None:
    """Fill the tables of a document, write its figures beside it, and all of it as a page that stands alone."""
    if not page.is_file():
        raise OptionError(f"There is no page {str(page)!r} to fill. Run this in a checkout, or say --page FILE.")
    results, text = Results(folder.resolve()), page.read_text(encoding="utf-8")
    alone = folder / BUILT / "paper.html"
    made = {page: fill(text, results, page.resolve()), alone: document_page(inlined(text, results, page, alone))}
    _write_files(made | {path: drawing.svg for path, drawing in figures_of(text, results, page).items()})
    errors.print(f"wrote {plain(str(page))} and {plain(str(alone))}", highlight=False)


def export_cells(results: Path, output: Path | None, *, overwrite: bool) -> None:
    """Write the finished cells of all experiments as one flat table; what is built may always be built again."""
    path = output or results / BUILT / TABLE
    if path.suffix.lower() != ".parquet":
        raise OptionError(f"-o must be a file that ends in .parquet, got {str(path)!r}.")
    if output is not None and os.path.lexists(output) and not overwrite:
        raise WriteError(f"{output}: already exists. Choose another place, or --overwrite it.")
    cells = flatten_cells(results)
    if output is None:
        path.parent.mkdir(exist_ok=True)
    with write_beside(path) as temporary:
        cells.write_parquet(temporary)
    errors.print(f"wrote {cells.height:,} cells, {cells.width} columns, to {plain(str(path))}", highlight=False)


def list_experiments(results: Path) -> None:
    """Say what each asks, what it needs, and how many of its cells are there already."""
    for spec in EXPERIMENTS.values():
        planned = spec.asked_cells((), (), (), spec.options)
        there = fresh_cells(read_cells(spec.cell_file(results)), planned, spec.made_with)
        hours = f", which took {sum(one['seconds'] for one in there) / 3600:,.1f} hours" if there else ""
        to_fetch = _not_at_hand(spec)
        lines = [
            spec.about,
            f"graphs: {', '.join(spec.graphs)}" + (f"; to be fetched: {', '.join(to_fetch)}" if to_fetch else ""),
            f"methods: {len(spec.methods)}; seeds: {_seeds_of(planned)}; needs {spec.needs}",
            f"there: {len(there):,} of {len(planned):,} cells{hours}",
        ]
        console.print(f"[bold]{spec.name}[/bold]", highlight=False)
        for line in lines:
            console.print(Padding(plain(line), (0, 0, 0, 2), expand=False), highlight=False)


def _seeds_of(cells: list[Cell]) -> str:
    """How many seeds the cells have: one number, or that of dear ones and that of cheap ones."""
    found = defaultdict(set)
    for cell in cells:
        found[cell["graph"], cell["method"]].add(cell["seed"])
    return " or ".join(str(count) for count in sorted({len(seeds) for seeds in found.values()}))


def _not_at_hand(spec: Experiment) -> list[str]:
    """The graphs of the catalog that an experiment needs and that are not here; parts of a graph need the whole."""
    names = dict.fromkeys(graph.removesuffix(ENDING) for graph in spec.graphs)
    return [name for name in names if name in CATALOG and not is_dataset_at_hand(name)]


def _own_options(spec: Experiment, given: dict[str, str | None]) -> dict[str, Any]:
    """The options that only some experiments have."""
    for name, text in given.items():
        if text is not None and name not in spec.options:
            raise OptionError(f"--{name} is not for the experiment {spec.name!r}.")
    own = dict(spec.options)
    if given["biases"] is not None:
        own["biases"] = _numbers("--biases", given["biases"], float)
    if given["split"] is not None:
        own["split"] = _one_of("--split", given["split"], SPLITS)
    if given["align"] is not None:
        own["align"] = _one_of("--align", given["align"], ALIGNMENTS)
    if given["reference"] is not None:
        own["reference"] = _one_of("--reference", given["reference"], spec.all_methods)
    return own


def _one_of(option: str, word: str, known: tuple[str, ...]) -> str:
    if word not in known:
        raise OptionError(f"{option} must be one of {', '.join(known)}, got {word!r}.{closest(word, known)}")
    return word


def _some(option: str, text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """Read a list with commas."""
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise OptionError(f"{option} must be some of {', '.join(known)}, got {word!r}.{closest(word, known)}")
    return tuple(words)


def _seeds(text: str | None) -> tuple[int, ...]:
    """A number says how many, a list which; `3,` is the seed 3."""
    words = None if text is None else text.strip().rstrip(",")
    asked = _numbers("--seeds", words, int)
    if text is not None and "," not in text:
        asked = tuple(range(asked[0]))
    if text is not None and (not asked or min(asked) < 0):
        raise OptionError(f"--seeds must be how many, at least 1, or a list of seeds such as 0,1,2; got {text!r}.")
    return asked


def _numbers(option: str, text: str | None, kind: type[T]) -> tuple[T, ...]:
    try:
        return tuple(kind(word) for word in ([] if text is None else text.split(",")))  # type: ignore[call-arg]
    except ValueError as error:
        raise OptionError(f"{option} must be numbers with commas between them, got {text!r}.") from error


def _print(tables: list[Table]) -> None:
    for made in tables:
        rows = make_printed_table(*made.headings, right=made.headings[1:])
        for row in made.rows:
            rows.add_row(*map(plain, row))
        console.print(f"\n[bold]{plain(made.title)}[/bold]", highlight=False)
        print_table(rows)
