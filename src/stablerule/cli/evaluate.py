"""`stablerule evaluate`: how often the right answer comes first."""

from __future__ import annotations

import json as to_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablerule.cli.grouping import HELP, grouping_for, print_shift
from stablerule.cli.output import console, errors, note, plain, print_json, print_table, table
from stablerule.cli.places import check_file
from stablerule.cli.reading import takes_data
from stablerule.errors import OptionError
from stablerule.evaluation import evaluate as judge
from stablerule.evaluation.evaluate import GRAPHS
from stablerule.evaluation.metrics import METRICS
from stablerule.graph import SPLITS, Dataset
from stablerule.io import write_beside
from stablerule.reasoning.ranks import FORMS, check_ties
from stablerule.registry import METHODS, load_model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from stablerule.reasoning import Reasoner

STDOUT = Path("-")
WORST_SHOWN = 5
HEADINGS = ("MRR", "Hits@1", "Hits@3", "Hits@10")


@takes_data
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")],
    dataset: Dataset,
    split: Annotated[
        str, typer.Option(help=f"The facts to ask about: {', '.join(SPLITS)}. (To cut a single file: --shares.)")
    ] = "test",
    ties: Annotated[
        str, typer.Option(help=f"Rank among equal scores: {', '.join(FORMS)}. A claim uses realistic.")
    ] = "realistic",
    graph: Annotated[str, typer.Option(help=f"The facts to answer from: {' or '.join(GRAPHS)}.")] = "train",
    groups: Annotated[str | None, typer.Option(metavar="GROUPS", help=HELP)] = None,
    per_relation: Annotated[bool, typer.Option("--per-relation", help="Show every relation, not the worst.")] = False,
    json: Annotated[
        Path | None,
        typer.Option(help="Also write the result to this file as JSON, in place of one that is there; - prints it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the groups and of the bootstrap intervals.")] = 0,
) -> None:
    """Rank the right answers of all queries, from both ends, and say how well they stand."""
    form = check_ties(ties, "--ties")
    for option, value, choices in (("--split", split, SPLITS), ("--graph", graph, GRAPHS)):
        if value not in choices:
            raise OptionError(f"{option} must be one of {', '.join(choices)}, got {value!r}.")
    if json is not None and json != STDOUT:
        check_file(json, "--json")
    judged = load_model(model)
    _say_other_data(judged, dataset)
    asked = dataset.split(split)
    # Without facts there is nothing to group, and the evaluator says so.
    grouping = None if groups is None or not len(asked) else grouping_for(groups, dataset, asked, seed)
    for text in grouping.notes if grouping else ():
        note(text)
    found = judge(judged, dataset, split=split, graph=graph, groups=grouping, seed=seed)  # type: ignore[arg-type]
    result = found.to_json(form) | ({"grouping": grouping.to_json()} if grouping else {})
    if found.in_graph:
        note(
            f"{found.in_graph:,} of the {found.n // 2:,} facts asked about stand in the graph that answers ({graph}): "
            "their figures say little about new facts."
        )
    if json is not None and json != STDOUT:
        with write_beside(json) as temporary:
            temporary.write_text(to_text.dumps(result, indent=2) + "\n", encoding="utf-8")
    if json == STDOUT:
        print_json(result)
    else:
        _print_for_people(result, every_relation=per_relation)
        if grouping:
            _print_groups(result)
            print_shift(grouping)


def _say_other_data(model: Reasoner, dataset: Dataset) -> None:
    if model.data_.sha256 != dataset.graph.sha256:
        note(
            f"the model learned from {model.data_.name!r} ({model.data_.facts:,} facts), which is not the train of "
            f"{dataset.name!r} ({dataset.graph.n_facts:,} facts). It is asked about the latter all the same."
        )


def _print_for_people(result: dict[str, Any], *, every_relation: bool) -> None:
    options, form = result["options"], result["options"]["ties"]
    console.print(
        f"[bold]{plain(result['data']['name'])}[/bold], {options['split']}: {result['n']:,} queries, two a fact, "
        f"answered by {plain(result['model']['method'])} from {options['graph']}",
        highlight=False,
        soft_wrap=True,
    )
    rows = table("ties", *HEADINGS, right=HEADINGS)
    for name in (form, *(other for other in FORMS if other != form)):
        rows.add_row(name, *_numbers(result["forms"][name]))
        if name == form:
            bounds = ("-".join(f"{bound:.3f}" for bound in result["intervals"][metric]) for metric in METRICS)
            rows.add_row(f"  {options['confidence']:.0%} interval", *bounds)
    _section(rows)
    _section(_figures("asked for the", result["directions"].items()))
    _section(_figures("facts at the entity", result["degrees"].items()))
    worst_first = sorted(result["relations"].items(), key=lambda item: (item[1]["mrr"], item[0]))
    shown = worst_first if every_relation else worst_first[:WORST_SHOWN]
    _section(_figures("relation" if len(shown) == len(worst_first) else "worst relations", shown))
    if len(shown) < len(worst_first):
        errors.print(
            f"{len(shown)} of {len(worst_first):,} relations; --per-relation shows all.",
            highlight=False,
            soft_wrap=True,
        )
    told = f"Ranked in {result['seconds']:.1f} s."
    if METHODS[result["model"]["method"]].kind not in ("embedding", "graph network"):  # those score every entity
        told = (
            f"A score above the floor: {result['coverage']:.1%} of the right answers; those below it stand by "
            "popularity, that is by how many facts of the relation end there.\n"
            f"No candidate at all: {result['no_candidate']:.1%} of the queries.\n{told}"
        )
    console.print(f"\n{told}", highlight=False, soft_wrap=True)


def _print_groups(result: dict[str, Any]) -> None:
    over, share = result["groups"], f"{result['options']['confidence']:.0%} interval"
    columns = ("queries", HEADINGS[0], share, *HEADINGS[1:], "covered")
    rows = table("group", *columns, right=columns)
    for name, row in over["names"].items():
        low, high = row["intervals"]["mrr"]
        mrr, *hits = _numbers(row)
        rows.add_row(plain(name), f"{row['n']:,}", mrr, f"{low:.3f}-{high:.3f}", *hits, f"{row['coverage']:.1%}")
    for title, values in (("mean of groups", over["mean"]), ("deviation", over["std"])):
        mrr, *hits = _numbers(values)
        rows.add_row(f"[italic]{title}[/italic]", "", mrr, "", *hits, "")
    mrr, *hits = _numbers({metric: chance["mean"] for metric, chance in over["std_by_chance"].items()})
    rows.add_row("[italic]... by chance[/italic]", "", mrr, "", *hits, "")
    _section(rows)
    worst, chance, found = over["worst"]["mrr"], over["std_by_chance"]["mrr"], over["std"]["mrr"]
    console.print(
        f"\nWorst group by MRR: {plain(worst['group'])}, {worst['value']:.3f}. The groups differ "
        + ("more than" if found > chance["high"] else "no more than")
        + f" random ones, which stay below {chance['high']:.3f} in 95% of cases.",
        highlight=False,
        soft_wrap=True,
    )


def _figures(title: str, rows: Iterable[tuple[str, dict[str, Any]]]) -> Table:
    made = table(title, "queries", *HEADINGS, "covered", right=("queries", *HEADINGS, "covered"))
    for name, row in rows:
        made.add_row(plain(name), f"{row['n']:,}", *_numbers(row), f"{row['coverage']:.1%}")
    return made


def _numbers(row: dict[str, float]) -> list[str]:
    return [f"{row[metric]:.3f}" for metric in METRICS]


def _section(rows: Table) -> None:
    console.print()
    print_table(rows)
