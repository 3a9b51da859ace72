"""`stablerule shift`: check whether a model will hold up on your queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablerule.cli.output import (
    STDOUT,
    check_output_option,
    console,
    make_printed_table,
    plain,
    print_json,
    print_line,
    print_note,
    print_table,
    write_json,
)
from stablerule.cli.reading import GraphOption, ModelArgument, open_model_argument
from stablerule.errors import InputError, OptionError
from stablerule.io import write_beside
from stablerule.reasoning import RuleReasoner
from stablerule.reports.rendering import need_jinja
from stablerule.reports.shift_page import render_shift_page
from stablerule.shifts import QuerySet, compare_queries, read_query_set
from stablerule.shifts.report import FIGURES, Condition

if TYPE_CHECKING:
    from stablerule.reasoning.model_on_graph import ModelOnGraph
    from stablerule.shifts import ShiftReport

REFERENCES = ("test", "valid")


def shift(
    model: ModelArgument,
    queries: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Your queries as TSV: head, relation, and ? or the answer.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write an HTML page.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write JSON; - prints it.")] = None,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Also measure MRR on the answers in the file."),
    ] = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help=f"Exit with 1 if true, such as 'worst_mrr<0.3'. Figures: {', '.join(FIGURES)}.",
        ),
    ] = None,
    reference: Annotated[str | None, typer.Option(help="Facts to compare with: test (if any) or valid.")] = None,
    graph: GraphOption = None,
    seed: Annotated[int, typer.Option(help="Random seed for resampling.")] = 0,
) -> None:
    """Check whether a model will hold up on your queries."""
    conditions = [Condition.parse(text, FIGURES) for text in fail_if or []]
    if output is not None:
        if output == STDOUT:
            raise OptionError("-o must be a file, got '-'. To print the report as JSON: --json -.")
        need_jinja()
    _check_shift_options(seed, reference, {"-o": output, "--json": json})
    opened = open_model_argument(model, graph)
    if not isinstance(opened.model, RuleReasoner):
        raise InputError(
            f"{model}: a shift report needs a model that answers by rules, got {opened.model.method}. Train one with "
            "stablerule or tabular."
        )
    asked = read_query_set(queries, opened.graph)
    if labels and not len(asked.labelled):
        raise InputError(f"{queries}: --labels needs queries with answers, but each has a ? or an unseen entity there.")
    if not labels:
        asked = asked.without_answers()
    name, judged = _read_reference_option(opened, reference)
    report = compare_queries(judged, asked, opened.graph, model=opened.model, known=opened.known, seed=seed)
    about = {"model": str(model), "queries": queries.name, "reference": name, "data": opened.dataset.name}
    report.about.update(about)
    found = report.to_json()
    if output is not None:
        with write_beside(output) as temporary:
            temporary.write_text(render_shift_page(found), encoding="utf-8")
    if json is not None and json != STDOUT:
        write_json(found, json)
    if json == STDOUT:
        print_json(found)
    else:
        _print_shift_report(report)
        if output is not None:
            print_line(f"\nHTML page: {plain(str(output))}")
    failed = [condition for condition in conditions if condition.holds(report.figures)]
    for condition in failed:
        value = report.figures[condition.name]
        has = "has no value" if value is None else f"is {value:.3f}"
        print_note(f"--fail-if {condition}: {condition.name} {has}.")
    if failed:
        raise typer.Exit(1)


def _check_shift_options(seed: int, reference: str | None, places: dict[str, Path | None]) -> None:
    """Check the options, and that the results can be written, before starting."""
    if seed < 0:
        raise OptionError(f"--seed must be a whole number of at least 0, got {seed}.")
    if reference is not None and reference not in REFERENCES:
        raise OptionError(f"--reference must be one of {', '.join(REFERENCES)}, got {reference!r}.")
    for option, path in places.items():
        if path is not None and path != STDOUT:
            check_output_option(path, option)


def _read_reference_option(opened: ModelOnGraph, asked: str | None) -> tuple[str, QuerySet]:
    for name in [asked] if asked else REFERENCES:
        facts = opened.dataset.split(name)
        if len(facts):
            if name == "valid":
                print_note("the validation facts also chose the aggregation, so their metrics are slightly too high.")
            return name, QuerySet.from_facts(facts.distinct(), opened.graph.n_relations)
    where = asked or "test or valid"
    raise InputError(f"Dataset {opened.dataset.name!r} has no {where} facts to compare with.")


def _print_shift_report(report: ShiftReport) -> None:
    about, expected, reach = report.about, report.expected, report.reach
    print_line(
        f"[bold]{report.verdict}[/bold]: {about['current_queries']:,} queries compared with "
        f"{about['reference_queries']:,} {about['reference']} queries (model: {plain(about['method'])})"
    )
    for reason in report.reasons:
        print_line(f"  {plain(reason)}")
    console.print()
    if expected.mrr is None:
        print_line(
            f"Expected MRR: cannot be estimated ({plain(expected.refused or '')}). Reference: {expected.reference:.3f}"
        )
    else:
        print_line(
            f"Expected MRR: [bold]{expected.mrr:.3f}[/bold] ({expected.confidence:.0%} interval {expected.low:.3f} to "
            f"{expected.high:.3f}). Reference: {expected.reference:.3f}"
        )
        print_line(f"  based on an effective sample of {expected.effective:,.0f} queries")
        if expected.blind is not None and expected.high is not None and expected.blind > expected.high - expected.mrr:
            print_line(
                f"  up to {expected.blind:.3f} wrong if the answers changed and the queries did not, which queries "
                "alone cannot show"
            )
    if report.measured_mrr is not None:
        print_line(f"Measured MRR: {report.measured_mrr:.3f} on {report.labelled:,} queries with answers")
    print_line(
        f"Out of reach: {reach.outside:.1%} (unseen entity {reach.unseen_entity:,}, unseen relation "
        f"{reach.unseen_relation:,}, no rule fires {reach.nothing_fires:,})"
    )
    if report.distances:
        columns = ("value", "by chance", "up to", "p")
        rows = make_printed_table("distance", *columns, "", right=columns)
        for one in report.distances:
            shown = (f"{number:.3f}" for number in (one.value, one.null, one.null_high, one.p))
            rows.add_row(one.measure, *shown, "shifted" if one.is_shifted else "")
        console.print()
        print_table(rows)
    if report.causes:
        print_line("\n[bold]What changed[/bold]")
        for cause in report.causes[:8]:
            print_line(f"  {plain(str(cause))}")
    if report.weak_spots:
        headings: tuple[str, ...] = ("queries", "expected MRR", "measured")
        headings = headings if report.measured_mrr is not None else headings[:2]
        rows = make_printed_table("weak spots", *headings, right=headings)
        for spot in report.weak_spots:
            known = "" if spot.measured_mrr is None else f"{spot.measured_mrr:.3f}"
            name = spot.name if spot.kind == "degree" else f"{spot.kind}: {spot.name}"
            cells = (f"{spot.n:,}", f"{spot.expected_mrr:.3f}", known)
            rows.add_row(plain(name), *cells[: len(headings)])
        console.print()
        print_table(rows)
    print_line("\n[bold]What to do[/bold]")
    for text in report.advice:
        print_line(f"  - {plain(text)}")
