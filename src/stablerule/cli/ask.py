"""`stablerule ask`: the best answers to one query, or to a file of them."""

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
LEAST_SHARE = 0.01  # of the best score: below, an answer is given without a reason


def ask(
    model: ModelArgument,
    head: Annotated[str | None, typer.Argument(metavar="HEAD", help="The entity that the query is about.")] = None,
    relation: Annotated[
        str | None, typer.Argument(metavar="RELATION", help="Where it leads from there; ~name is the inverse.")
    ] = None,
    top: Annotated[int, typer.Option(help="How many answers to a query.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Add the best rule and a path to each answer.")] = False,
    inverse: Annotated[bool, typer.Option("--inverse", help="Ask which entities have RELATION to HEAD.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Leave out answers known in train, valid or test.")] = False,
    candidates: Annotated[
        str, typer.Option(help="all entities, or the range: those that stand there in some fact of the relation.")
    ] = "all",
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Queries, one a line: head, relation, tail by tabs, ? for what is asked. - is standard input.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --queries: the file for the table of answers.")
    ] = None,
    graph: GraphOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of -o if there is one.")] = False,
) -> None:
    """Answer (HEAD, RELATION, ?), the best answer first; or all queries of a file, as a table with tabs."""
    if top < 1:
        raise OptionError(f"--top must be at least 1, got {top}.")
    if candidates not in CANDIDATES:
        raise OptionError(f"--candidates must be one of {', '.join(CANDIDATES)}, got {candidates!r}.")
    if queries is not None:
        for option, given in (("HEAD", head), ("--explain", explain), ("--inverse", inverse), ("--json", json)):
            if given:
                raise OptionError(f"--queries asks what the file says, as a table with tabs: leave {option} out.")
        if output == STDOUT:
            output = None
        if output is not None:
            _check_ask_output(output, overwrite=overwrite)
        _answer_query_file(model, graph, queries, output, top, new=new, candidates=candidates)
        return
    if head is None or relation is None:
        raise OptionError("Say what to ask: HEAD and RELATION, or a file of queries with --queries FILE.")
    if output is not None or overwrite:
        raise OptionError("-o is for the answers to a file of queries; those to one query are printed.")
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
        return f"{opened.model.method} has nothing to say about {head!r} and {relation!r}."
    if not {relation, invert_relation_name(relation)} & set(opened.model.rules.relations):
        return f"the model has no rule for {relation!r}."
    return (
        f"no rule leads from {head!r} to one for {relation!r}. "
        "For an answer that you expect, stablerule explain says why."
    )


def _print_ranked_answers(answers: list[RankedAnswer]) -> None:
    """Print a line an answer, its name last, since that may be long; below it, if asked for, the rule and the facts.

    There is a column for the probability where some answer has one. An answer that is not known gets no reason where
    there is next to nothing to explain, below a least score.
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
            f"no reason is shown for {spell_count(without, 'answer')} with less than "
            f"{spell_reason_share(LEAST_SHARE)} of the best score. stablerule explain shows it."
        )


def _answer_query_file(
    model: Path, graph: str | None, queries: Path, output: Path | None, top: int, *, new: bool, candidates: str
) -> None:
    """Answer query after query; a file is written whole or not at all."""
    opened = open_model_argument(model, graph)
    found = answer_queries_of_file(
        opened, read_queries(queries, opened.graph.vocabulary), top, new=new, candidates=candidates
    )
    if output is None:
        asked, without = write_answers(opened, found, lambda text: typer.echo(text, nl=False))
    else:
        with write_beside(output) as temporary, open_compressed(temporary, like=output) as stream:
            asked, without = write_answers(opened, found, lambda text: stream.write(text.encode()))
        print_message(plain(f"{spell_query_count(asked)} answered in {output}."))
    if without:
        print_note(f"{without:,} of {spell_query_count(asked)} have no answer, and no line.")


def spell_query_count(count: int) -> str:
    """Say how many.

    >>> spell_query_count(1), spell_query_count(1200)
    ('1 query', '1,200 queries')
    """
    return "1 query" if count == 1 else f"{count:,} queries"


def _check_ask_output(path: Path, *, overwrite: bool) -> None:
    """Look before the work, not after it, whether its result has a place."""
    if not is_stream(path) and split_suffixes(path)[1] not in ("", *TABLES):
        raise OptionError(
            f"-o: answers are a table with tabs, so the file must end in {' or '.join(TABLES)} "
            f"({', '.join(COMPRESSIONS)} behind it), or in nothing; got {str(path)!r}."
        )
    if path.is_file() and not is_stream(path) and not overwrite:
        raise WriteError(f"{path}: already exists. Choose another place, or --overwrite it.")
    check_output_option(path, "-o")
