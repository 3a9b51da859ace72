"""`stablerule explain`: why an answer was predicted, or why it was not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stablerule.cli.output import print_atoms, print_json
from stablerule.cli.reading import GraphOption, ModelArgument, open_model_argument
from stablerule.errors import OptionError, spell_count
from stablerule.reasoning.answers import spell_facts_of_reason, spell_score
from stablerule.reasoning.queries import encode_triples

if TYPE_CHECKING:
    from collections.abc import Iterable


def explain(
    model: ModelArgument,
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The head entity.")],
    relation: Annotated[str, typer.Argument(metavar="RELATION", help="The relation; ~name is its inverse.")],
    tail: Annotated[str, typer.Argument(metavar="TAIL", help="The answer to explain.")],
    graph: GraphOption = None,
    top: Annotated[int, typer.Option(help="Number of rules to show; 0 shows all.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain an answer by its rules and facts, or why it is not ranked first."""
    if top < 0:
        raise OptionError(f"--top must be 0 or more, got {top}.")
    opened = open_model_argument(model, graph)
    reasons = opened.explain((head, relation, tail))
    asked = encode_triples([(head, relation, tail)], opened.graph.vocabulary)
    doubt = opened.why_not((head, relation, tail))
    split = opened.split_with(*(int(ids[0]) for ids in asked))
    if json:
        print_json(doubt.to_json() | {"split": split, "explanations": [reason.to_json() for reason in reasons]})
        return
    if reasons:
        known = f"a known fact ({split})" if split else "a new fact"
        _print_explanation(
            [f"{spell_facts_of_reason([doubt.triple])}: {doubt.place}, score {spell_score(doubt.score)}, {known}"]
        )
        shown = reasons[:top] if top else reasons
        _print_explanation(line for reason in shown for line in reason.lines())
        if len(shown) < len(reasons):
            typer.echo(f"{spell_count(len(reasons) - len(shown), 'other rule')}; --top 0 shows all.", err=True)
        _print_explanation(doubt.lines_above())
    else:
        _print_explanation(doubt.lines())


def _print_explanation(lines: Iterable[str]) -> None:
    for line in lines:
        print_atoms(line)
