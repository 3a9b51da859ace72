"""`stablerule evaluate`: ranking metrics of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablerule.cli.grouping import HELP, print_group_shift, read_groups_option
from stablerule.cli.output import (
    STDOUT,
    check_output_option,
    console,
    make_printed_table,
    plain,
    print_json,
    print_line,
    print_message,
    print_note,
    print_table,
    write_json,
)
from stablerule.cli.reading import open_dataset_of_model_argument, take_data_options
from stablerule.errors import InputError, OptionError
from stablerule.evaluation import evaluate as judge
from stablerule.evaluation.evaluation import GRAPHS
from stablerule.evaluation.metrics import METRICS
from stablerule.graph import SPLITS, Dataset
from stablerule.reasoning.ranks import FORMS, check_ties
from stablerule.registry import METHODS, load_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from stablerule.evaluation import Evaluation
    from stablerule.evaluation.metrics import Figures
    from stablerule.reasoning import Reasoner
    from stablerule.reasoning.ranks import Ties

WORST_SHOWN = 5
HEADINGS = ("MRR", "Hits@1", "Hits@3", "Hits@10")


@take_data_options
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")],
    dataset: Dataset | None = None,
    split: Annotated[str, typer.Option(help=f"Facts to evaluate: {', '.join(SPLITS)}.")] = "test",
    ties: Annotated[str, typer.Option(help=f"Rank among equal scores: {', '.join(FORMS)}.")] = "realistic",
    answer_from: Annotated[str, typer.Option(help=f"Facts to answer from: {' or '.join(GRAPHS)}.")] = "train",
    groups: Annotated[str | None, typer.Option(metavar="GROUPS", help=HELP)] = None,
    per_relation: Annotated[
        bool, typer.Option("--per-relation", help="Show all relations, not only the worst.")
    ] = False,
    json: Annotated[
        Path | None,
        typer.Option(help="Also write JSON, replacing the file; - prints it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of groups and intervals.")] = 0,
) -> None:
    """Evaluate a model: filtered ranks of the test answers, both directions."""
    form = check_ties(ties, "--ties")
    for option, value, choices in (("--split", split, SPLITS), ("--answer-from", answer_from, GRAPHS)):
        if value not in choices:
            cure = " To split a single file: --shares." if option == "--split" and "," in value else ""
            raise OptionError(f"{option} must be one of {', '.join(choices)}, got {value!r}.{cure}")
    if json is not None and json != STDOUT:
        check_output_option(json, "--json")
    judged = load_model(model)
    if dataset is None:
        dataset = open_dataset_of_model_argument(judged, model)
        _check_own_split(dataset, split, model)
    _note_other_data(judged, dataset)
    asked = dataset.split(split)
    # Without facts there is nothing to group, and the evaluator raises an error.
    grouping = None if groups is None or not len(asked) else read_groups_option(groups, dataset, asked, seed)
    for text in grouping.notes if grouping else ():
        print_note(text)
    found = judge(judged, dataset, split=split, graph=answer_from, groups=grouping, seed=seed)  # type: ignore[arg-type]
    if found.in_graph:
        print_note(
            f"{found.in_graph:,} of the {found.n // 2:,} evaluated facts are also in the graph that the model answers "
            f"from ({answer_from}). Metrics on them say little about new facts."
        )
    if json is not None:
        result = found.to_json(form) | ({"grouping": grouping.to_json()} if grouping else {})
        if json == STDOUT:
            print_json(result)
            return
        write_json(result, json)
    _print_evaluation(found, form, every_relation=per_relation)
    if grouping:
        _print_group_figures(found, form)
        print_group_shift(grouping)


def _check_own_split(dataset: Dataset, split: str, model: Path) -> None:
    """Raise an error that names the splits with facts, if the one asked for has none."""
    if not len(dataset.split(split)):
        others = [name for name in ("test", "valid") if len(dataset.split(name))]
        cure = f"--split {others[0]}, or " if others else ""
        raise InputError(f"{model}: its data has no facts in {split}. Pass {cure}the facts to evaluate as DATA.")


def _note_other_data(model: Reasoner, dataset: Dataset) -> None:
    if model.data_.sha256 != dataset.graph.sha256:
        print_note(
            f"the model was trained on {model.data_.name!r} ({model.data_.facts:,} facts), not on the training facts "
            "of "
            f"{dataset.name!r} ({dataset.graph.n_facts:,} facts)."
        )


def _print_evaluation(found: Evaluation, form: Ties, *, every_relation: bool) -> None:
    print_line(
        f"[bold]{plain(found.data['name'])}[/bold], {found.options['split']}: {found.n:,} queries, two for each fact, "
        f"answered by {plain(found.model['method'])} from {found.options['graph']}"
    )
    rows = make_printed_table("ties", *HEADINGS, right=HEADINGS)
    for name in (form, *(other for other in FORMS if other != form)):
        rows.add_row(name, *_format_figure_cells(found.figures(name)))
        if name == form:
            intervals = found.intervals(form)
            bounds = ("-".join(f"{bound:.3f}" for bound in intervals[metric]) for metric in METRICS)
            rows.add_row(f"  {found.resampling.confidence:.0%} interval", *bounds)
    _print_section(rows)
    _print_section(_print_figures_table("direction", found.by_direction(form).items()))
    _print_section(_print_figures_table("degree of the entity", found.by_degree(form).items()))
    worst_first = sorted(found.by_relation(form).items(), key=lambda item: (item[1].mrr, item[0]))
    shown = worst_first if every_relation else worst_first[:WORST_SHOWN]
    _print_section(_print_figures_table("relation" if len(shown) == len(worst_first) else "worst relations", shown))
    if len(shown) < len(worst_first):
        print_message(f"{len(shown)} of {len(worst_first):,} relations; --per-relation shows all.")
    method, summary = METHODS[found.model["method"]], f"Ranked in {found.seconds:.1f} s."
    if method.kind not in ("embedding", "graph network"):  # those score every entity
        reached = "reached by a rule; the others are ranked by popularity" if method.explains else "scored above zero"
        summary = (
            f"{found.coverage:.1%} of the correct answers are {reached}.\n"
            f"{found.no_candidate:.1%} of the queries have no candidate.\n{summary}"
        )
    print_line(f"\n{summary}")


def _print_group_figures(found: Evaluation, form: Ties) -> None:
    over = found.by_group(form)
    if over is None:
        return
    columns = ("queries", HEADINGS[0], f"{found.resampling.confidence:.0%} interval", *HEADINGS[1:], "covered")
    rows = make_printed_table("group", *columns, right=columns)
    for name, figures in over.groups.items():
        low, high = over.intervals[name]["mrr"]
        mrr, *hits = _format_figure_cells(figures)
        rows.add_row(plain(name), f"{figures.n:,}", mrr, f"{low:.3f}-{high:.3f}", *hits, f"{figures.coverage:.1%}")
    chance = {metric: spread.mean for metric, spread in over.by_chance.items()}
    for title, values in (("mean of groups", over.mean), ("std of groups", over.std), ("std by chance", chance)):
        mrr, *hits = _format_figure_cells(values)
        rows.add_row(f"[italic]{title}[/italic]", "", mrr, "", *hits, "")
    _print_section(rows)
    worst, most = over.worst["mrr"], over.by_chance["mrr"].high
    print_line(
        f"\nWorst group by MRR: {plain(worst.group)}, {worst.value:.3f}. The groups differ "
        + ("more than" if over.std["mrr"] > most else "no more than")
        + f" random groups (std below {most:.3f} in 95% of cases)."
    )


def _print_figures_table(title: str, rows: Iterable[tuple[str, Figures]]) -> Table:
    made = make_printed_table(title, "queries", *HEADINGS, "covered", right=("queries", *HEADINGS, "covered"))
    for name, figures in rows:
        made.add_row(plain(name), f"{figures.n:,}", *_format_figure_cells(figures), f"{figures.coverage:.1%}")
    return made


def _format_figure_cells(figures: Figures | Mapping[str, float]) -> list[str]:
    return [f"{figures[metric]:.3f}" for metric in METRICS]


def _print_section(rows: Table) -> None:
    console.print()
    print_table(rows)
