"""`stablerule experiment`: run the cells of an experiment, and build its tables, figures and pages."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.padding import Padding

from stablerule.cli.output import console, errors, make_printed_table, plain, print_note, print_table
from stablerule.datasets import CATALOG
from stablerule.errors import MissingExtra, OptionError, WriteError, spell_closest
from stablerule.extending import is_dataset_at_hand
from stablerule.io import write_beside
from stablerule_lab.experiments.cells import Cell, fresh_cells, read_cells
from stablerule_lab.experiments.document import Results, figures_of, fill, has_marks, inlined
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
DOCS, PAGE = Path("docs"), Path("docs") / "paper.md"
SPLITS = ("test", "valid")
RESULTS = Path("results")
TABLE = "cells.parquet"
SHOWING = ("align", "split", "reference")  # options that change the tables, not the cells


def experiment(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help=f"{', '.join(EXPERIMENTS)}; or {LIST}, {PAPER}, {EXPORT}.")
    ],
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder with all results.")] = RESULTS,
    graphs: Annotated[str | None, typer.Option(help="Graphs, separated by commas.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas.")] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Number of seeds (5) or list of seeds (0,1,2).", show_default="planned")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume/--again", help="Keep finished cells, or run them again.")] = True,
    minutes: Annotated[float | None, typer.Option(help="Start no cell after this; 0 runs none.")] = None,
    biases: Annotated[str | None, typer.Option(help="train-side: biases, such as 0,0.5,0.9.")] = None,
    split: Annotated[str | None, typer.Option(help="train-side: evaluate on test or valid.")] = None,
    reference: Annotated[str | None, typer.Option(help="train-side: method to compare with.")] = None,
    align: Annotated[
        str | None,
        typer.Option(help="completion, inductive, ablation: number groups by density, or arbitrary."),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="paper: the only page to fill.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"export: the Parquet file (default: {BUILT}/{TABLE})."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="export: replace an existing file.")] = False,
) -> None:
    """Run an experiment's missing cells and print its tables.

    `list` lists the experiments. `paper` fills the tables and figures of the pages in `docs`. `export` writes all
    cells to one Parquet file.
    """
    if name == EXPORT:
        export_cells(results, output, overwrite=overwrite)
        return
    if output is not None or overwrite:
        raise OptionError(f"-o and --overwrite only work with {EXPORT}. Set the folder of results with --results.")
    if name == LIST:
        list_experiments(results)
        return
    if name == PAPER:
        write_pages(page, results)
        return
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise OptionError(f"No experiment {name!r}.{spell_closest(name, EXPERIMENTS)} Experiments: {known}.")
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
        tell=lambda cell, error: print_note(f"{', '.join(f'{key} {cell[key]}' for key in cell)} failed: {error}"),
    )
    _write(spec, results, own)
    made = spec.tables(spec.summarise(ran.results, own), own)
    _print(made)
    errors.print(f"{len(ran.results):,} of {len(asked):,} cells are in {plain(str(cells))}", highlight=False)
    if ran.failed:
        raise typer.Exit(1)


def _write(spec: Experiment, results: Path, own: dict[str, Any]) -> None:
    """Write rows, tables, figures and a page of all finished cells, whichever run they are from."""
    rows = spec.summarise(spec.own(read_cells(spec.cell_file(results)), own), own)
    made = spec.tables(rows, own)
    texts = {".json": json.dumps(rows, indent=1) + "\n", ".md": markdown(made)}
    try:
        drawn = spec.figures(rows, own)
        texts |= {f"-{one.name}.svg": one.svg for one in drawn}
        texts[".html"] = results_page(f"Experiment: {spec.name}", spec.about, drawn, made)
    except MissingExtra as missing:
        print_note(f"Figures and HTML page skipped. {missing}")
    _write_files({results / BUILT / f"{_stem(spec, own)}{ending}": text for ending, text in texts.items()})


def _write_files(texts: Mapping[Path, str]) -> None:
    """Write files and make their folders."""
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_beside(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _stem(spec: Experiment, own: dict[str, Any]) -> str:
    """Return a file name for the experiment, with the options that change its tables."""
    asked = {key: own[key] for key, value in spec.options.items() if key in SHOWING and own[key] != value}
    return "-".join([spec.name, *(f"{key}-{value}" for key, value in asked.items())]).replace(" ", "_")


def write_pages(page: Path | None, folder: Path) -> None:
    """Fill a page, by default all of `docs`, with the newest tables and figures; write the main one as HTML, too."""
    main = page or PAGE
    if not main.is_file():
        raise OptionError(f"No page {str(main)!r} here. Run this in the folder 'lab' of a checkout, or set --page.")
    pages = [main] if page else [path for path in sorted(DOCS.glob("*.md")) if has_marks(path)]
    results = Results(folder.resolve())
    for path in pages:
        text = path.read_text(encoding="utf-8")
        figures = {place: drawing.svg for place, drawing in figures_of(text, results, path).items()}
        _write_files({path: fill(text, results, path.resolve())} | figures)
    alone = folder / BUILT / "paper.html"
    text = main.read_text(encoding="utf-8")
    _write_files({alone: document_page(inlined(text, results, main, alone))})
    errors.print(f"wrote {', '.join(plain(str(path)) for path in (*pages, alone))}", highlight=False)


def export_cells(results: Path, output: Path | None, *, overwrite: bool) -> None:
    """Write the finished cells of all experiments as one flat table; the default file is always replaced."""
    path = output or results / BUILT / TABLE
    if path.suffix.lower() != ".parquet":
        raise OptionError(f"-o must be a .parquet file, got {str(path)!r}.")
    if output is not None and os.path.lexists(output) and not overwrite:
        raise WriteError(f"{output}: already exists. Choose another file, or add --overwrite.")
    cells = flatten_cells(results)
    if output is None:
        path.parent.mkdir(exist_ok=True)
    with write_beside(path) as temporary:
        cells.write_parquet(temporary)
    errors.print(f"wrote {cells.height:,} cells, {cells.width} columns, to {plain(str(path))}", highlight=False)


def list_experiments(results: Path) -> None:
    """Print what each experiment asks and needs, and how many of its cells are finished."""
    for spec in EXPERIMENTS.values():
        planned = spec.asked_cells((), (), (), spec.options)
        there = fresh_cells(read_cells(spec.cell_file(results)), planned, spec.made_with)
        hours = f" in {sum(one['seconds'] for one in there) / 3600:,.1f} hours" if there else ""
        to_fetch = _not_at_hand(spec)
        lines = [
            spec.about,
            f"graphs: {', '.join(spec.graphs)}" + (f"; not downloaded: {', '.join(to_fetch)}" if to_fetch else ""),
            f"methods: {len(spec.methods)}; seeds: {_seeds_of(planned)}; {spec.needs}",
            f"finished: {len(there):,} of {len(planned):,} cells{hours}",
        ]
        console.print(f"[bold]{spec.name}[/bold]", highlight=False)
        for line in lines:
            console.print(Padding(plain(line), (0, 0, 0, 2), expand=False), highlight=False)


def _seeds_of(cells: list[Cell]) -> str:
    """Return the number of seeds: one number, or that of slow and that of fast cells."""
    found = defaultdict(set)
    for cell in cells:
        found[cell["graph"], cell["method"]].add(cell["seed"])
    return " or ".join(str(count) for count in sorted({len(seeds) for seeds in found.values()}))


def _not_at_hand(spec: Experiment) -> list[str]:
    """Return the graphs of the catalog that are not downloaded yet; a part of a graph needs the whole."""
    names = dict.fromkeys(graph.removesuffix(ENDING) for graph in spec.graphs)
    return [name for name in names if name in CATALOG and not is_dataset_at_hand(name)]


def _own_options(spec: Experiment, given: dict[str, str | None]) -> dict[str, Any]:
    """Return the values of the options that only some experiments have."""
    for name, text in given.items():
        if text is not None and name not in spec.options:
            raise OptionError(f"Experiment {spec.name!r} has no option --{name}.")
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
        raise OptionError(f"{option} must be one of {', '.join(known)}, got {word!r}.{spell_closest(word, known)}")
    return word


def _some(option: str, text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """Read names separated by commas."""
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise OptionError(f"{option} must be some of {', '.join(known)}; got {word!r}.{spell_closest(word, known)}")
    return tuple(words)


def _seeds(text: str | None) -> tuple[int, ...]:
    """Read a number of seeds (`3`: 0, 1 and 2) or a list of seeds (`3,`: only 3)."""
    words = None if text is None else text.strip().rstrip(",")
    asked = _numbers("--seeds", words, int)
    if text is not None and "," not in text:
        asked = tuple(range(asked[0]))
    if text is not None and (not asked or min(asked) < 0):
        raise OptionError(f"--seeds must be a number from 1, such as 5, or a list, such as 0,1,2; got {text!r}.")
    return asked


def _numbers(option: str, text: str | None, kind: type[T]) -> tuple[T, ...]:
    try:
        return tuple(kind(word) for word in ([] if text is None else text.split(",")))  # type: ignore[call-arg]
    except ValueError as error:
        raise OptionError(f"{option} must be numbers separated by commas, got {text!r}.") from error


def _print(tables: list[Table]) -> None:
    for made in tables:
        rows = make_printed_table(*made.headings, right=made.headings[1:])
        for row in made.rows:
            rows.add_row(*map(plain, row))
        console.print(f"\n[bold]{plain(made.title)}[/bold]", highlight=False)
        print_table(rows)
