"""`stablerule ask`: the best answers to one query, or to a file of queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablerule.cli.output import (
    STDOUT,
    check_output_option,
    plain,
    print_atoms,
    print_json,
    print_message,
    print_note,
    show_control_characters,
)
from stablerule.cli.queries import answer_queries_of_file, read_queries, write_answers
from stablerule.cli.reading import GraphOption, ModelArgument, open_model_argument
from stablerule.errors import OptionError, WriteError, spell_count
from stablerule.graph import invert_relation_name
from stablerule.io import write_beside
from stablerule.io.files import COMPRESSIONS, open_compressed, split_suffixes
from stablerule.io.streams import is_stream
from stablerule.reasoning.answers import spell_reason_share, spell_score
from stablerule.registry import METHODS

if TYPE_CHECKING:
    from stablerule.reasoning.model_on_graph import ModelOnGraph, RankedAnswer

CANDIDATES = ("all", "range")
TABLES = (".tsv", ".txt")
LEAST_SHARE = 0.01  # of the best score: a new answer below it is printed without a reason


def ask(
    model: ModelArgument,
    head: Annotated[str | None, typer.Argument(metavar="HEAD", help="The entity to ask about.")] = None,
    relation: Annotated[
        str | None, typer.Argument(metavar="RELATION", help="The relation to ask for; ~name is its inverse.")
    ] = None,
    top: Annotated[int, typer.Option(help="Number of answers to a query.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show the best rule and path of each answer.")] = False,
    inverse: Annotated[bool, typer.Option("--inverse", help="Answer (?, RELATION, HEAD) instead.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Skip answers that are already known facts.")] = False,
    candidates: Annotated[str, typer.Option(help="all entities, or range: tails seen with the relation.")] = "all",
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Queries as TSV, with ? for the answer; - is standard input.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="With --queries: file for the answers.")] = None,
    graph: GraphOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing output file.")] = False,
) -> None:
    """Answer one query, best answers first, or all queries of a file.

    The query is (HEAD, RELATION, ?). The answers to a file are a tab-separated table.
    """
    if top < 1:
        raise OptionError(f"--top must be at least 1, got {top}.")
    if candidates not in CANDIDATES:
        raise OptionError(f"--candidates must be one of {', '.join(CANDIDATES)}, got {candidates!r}.")
    if queries is not None:
        for option, given in (("HEAD", head), ("--explain", explain), ("--inverse", inverse), ("--json", json)):
            if given:
                raise OptionError(f"--queries takes its queries from the file and prints a table. Leave {option} out.")
        if output == STDOUT:
            output = None
        if output is not None:
            _check_ask_output(output, overwrite=overwrite)
        _answer_query_file(model, graph, queries, output, top, new=new, candidates=candidates)
        return
    if head is None or relation is None:
        raise OptionError("No query. Pass HEAD and RELATION, or a file of queries with --queries FILE.")
    if output is not None or overwrite:
        raise OptionError("-o and --overwrite need --queries; the answers to one query are printed.")
    opened = open_model_argument(model, graph)
    asked = invert_relation_name(relation) if inverse else relation
    answers = opened.rank_answers(
        head,
        asked,
        top,
        new=new,
        candidates=candidates,
        most_reasons=1 if explain else 0,
    )
    if json:
        print_json({"head": head, "relation": asked, "answers": [row.to_json(explain=explain) for row in answers]})
    elif answers:
        _print_ranked_answers(answers)
    else:
        print_message(plain(f"No {'new ' if new else ''}answer: {_explain_empty_answers(opened, head, asked)}"))


def _explain_empty_answers(opened: ModelOnGraph, head: str, relation: str) -> str:
    if not METHODS[opened.model.method].explains:
        return f"{opened.model.method} scores no entity for {head!r} and {relation!r}."
    if not {relation, invert_relation_name(relation)} & set(opened.model.rules.relations):
        return f"the model has no rules for {relation!r}."
    return (
        f"no rule for {relation!r} fires at {head!r}. To see why an expected answer is missing, use stablerule explain."
    )


def _print_ranked_answers(answers: list[RankedAnswer]) -> None:
    """Print a line for each answer, and below it the rule and the facts if asked for.

    The name comes last because it may be long. If any answer has a probability, there is a column for it. A new answer
    with a very low score gets no reason.
    """
    likely = any(row.answer.probability is not None for row in answers)
    least, without = LEAST_SHARE * answers[0].answer.score, 0
    typer.echo(f"rank    score  {'probability  ' if likely else ''}known  answer")
    for row in answers:
        p, reasons = row.answer.probability, row.answer.reasons[:1]
        cells = [f"{row.rank:>4}", f"{spell_score(row.answer.score):>7}"]
        cells += [f"{'-' if p is None else spell_reason_share(p):>11}"] if likely else []
        typer.echo("  ".join([*cells, f"{row.split or '-':<5}", show_control_characters(row.answer.entity)]))
        if reasons and row.split is None and row.answer.score < least:
            without, reasons = without + 1, ()
        for reason in reasons:
            for line in reason.lines()[:2]:
                print_atoms(f"      {line}")
    if without:
        print_note(
            f"no reason shown for {spell_count(without, 'answer')} below {spell_reason_share(LEAST_SHARE)} of the best "
            "score. To see it, use stablerule explain."
        )


def _answer_query_file(
    model: Path, graph: str | None, queries: Path, output: Path | None, top: int, *, new: bool, candidates: str
) -> None:
    """Answer all queries of a file; the output file is written completely or not at all."""
    opened = open_model_argument(model, graph)
    found = answer_queries_of_file(
        opened, read_queries(queries, opened.graph.vocabulary), top, new=new, candidates=candidates
    )
    if output is None:
        asked, without = write_answers(opened, found, lambda text: typer.echo(text, nl=False))
    else:
        with write_beside(output) as temporary, open_compressed(temporary, like=output) as stream:
            asked, without = write_answers(opened, found, lambda text: stream.write(text.encode()))
        print_message(plain(f"Answered {spell_query_count(asked)}. Saved to {output}"))
    if without:
        print_note(f"{without:,} of {spell_query_count(asked)} have no answer and no line in the table.")


def spell_query_count(count: int) -> str:
    """Spell a number of queries.

    >>> spell_query_count(1), spell_query_count(1200)
    ('1 query', '1,200 queries')
    """
    return "1 query" if count == 1 else f"{count:,} queries"


def _check_ask_output(path: Path, *, overwrite: bool) -> None:
    """Check that the output can be written before starting."""
    if not is_stream(path) and split_suffixes(path)[1] not in ("", *TABLES):
        raise OptionError(
            f"-o must end in {' or '.join(TABLES)} (with {', '.join(COMPRESSIONS)} if compressed) or have no suffix, "
            f"got {str(path)!r}."
        )
    if path.is_file() and not is_stream(path) and not overwrite:
        raise WriteError(f"{path}: already exists. Choose another file, or replace it with --overwrite.")
    check_output_option(path, "-o")
