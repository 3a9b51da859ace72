"""`stablerule rules`: read, filter and export what was learned."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from stablerule.cli.output import note, print_message
from stablerule.errors import OptionError, UnknownRelation, closest, listed, spell_count
from stablerule.graph import INVERSE
from stablerule.registry import load_model
from stablerule.rules import RuleSet, read_rules
from stablerule.rules.formats import FORMATS

SORTS = ("score", "confidence", "support", "pca_confidence", "head_coverage")
KINDS = ("chains", "constants", "all")
PRINTABLE = tuple(name for name in FORMATS if name != "parquet")


def rules(
    model: Annotated[Path, typer.Argument(help="The folder of a model, or a file of rules in a known format.")],
    relation: Annotated[str | None, typer.Option(help="Only rules for this relation; ~name is its inverse.")] = None,
    top: Annotated[int, typer.Option(help="How many; 0 prints all.")] = 20,
    per_relation: Annotated[int | None, typer.Option(help="At most so many for each relation.")] = None,
    inverse: Annotated[
        bool, typer.Option("--inverse", help="In text, show the rules for inverse relations as well.")
    ] = False,
    kind: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(KINDS)}; in text, chains where there are any.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(help=f"By {', '.join(SORTS)}; score, or the next that the rules have.")
    ] = None,
    format: Annotated[str, typer.Option(help=f"One of {', '.join(PRINTABLE)}.")] = "text",  # noqa: A002
    max_length: Annotated[int | None, typer.Option(help="Only bodies up to this length.")] = None,
    min_support: Annotated[float | None, typer.Option(help="Only rules with this much support.")] = None,
    min_confidence: Annotated[float | None, typer.Option(help="Only rules with this confidence.")] = None,
) -> None:
    """Print rules, the best first."""
    if format not in PRINTABLE:
        raise OptionError(f"--format must be one of {', '.join(PRINTABLE)}, got {format!r}.")
    if sort is not None and sort not in SORTS:
        raise OptionError(f"--sort must be one of {', '.join(SORTS)}, got {sort!r}.")
    if kind is not None and kind not in KINDS:
        raise OptionError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    if top < 0:
        raise OptionError(f"--top must be 0 or more, got {top}.")
    if per_relation is not None and per_relation < 1:
        raise OptionError(f"--per-relation must be at least 1, got {per_relation}.")
    if max_length is not None and max_length < 1:
        raise OptionError(f"--max-length must be at least 1, got {max_length}.")
    found = _open(model)
    sort = _sort_column(found, sort)
    _check_relation(found, relation, model)
    found = _of_kind(found, kind, for_people=format == "text")
    if format == "text" and relation is None and not inverse:
        found = _without_inverses(found)
    chosen = found.filter(
        head_relation=relation, max_length=max_length, min_support=min_support, min_confidence=min_confidence
    )
    if per_relation is not None:
        chosen = chosen.top_per_relation(per_relation, by=sort)
    chosen = chosen.sort(by=sort)
    shown = chosen.top(top, by=sort) if top else chosen
    if format == "text":
        _print_for_people(shown)
    else:
        _print_for_machines(shown, format)
    if not len(shown):
        print_message(f"No rules as asked for, of {spell_count(len(found), 'rule')}.")
    elif len(shown) < len(chosen):
        print_message(f"{len(shown):,} of {len(chosen):,} rules; --top 0 prints all.")


def _check_relation(found: RuleSet, relation: str | None, model: Path) -> None:
    if relation is not None and relation not in found.relations:
        near = closest(relation, found.relations) or listed(found.relations, begin="It has rules for")
        raise UnknownRelation(f"No rules for {relation!r} in {model}.{near}")


def _sort_column(found: RuleSet, asked: str | None) -> str:
    """The number to sort by: as asked, or the first that the rules have; files of other tools have no scores."""
    frame = found.to_frame()
    present = [name for name in SORTS if frame[name].null_count() < len(frame)]
    if asked is not None and asked not in present and len(frame):
        raise OptionError(
            f"--sort {asked}: these rules have no {asked}. They have {', '.join(present) or 'no numbers'}."
        )
    return asked or next(iter(present), "score")


def _of_kind(found: RuleSet, kind: str | None, *, for_people: bool) -> RuleSet:
    """Rules of one kind; a reader looks at chains first, of which there are fewer, and which say more."""
    if kind in ("chains", "constants"):
        return found.filter(kind=kind)  # type: ignore[arg-type]
    chains = found.filter(kind="chains")
    if kind == "all" or not for_people or not len(chains):
        return found
    if len(chains) < len(found):
        print_message(f"{len(found) - len(chains):,} rules with constants are not shown; --kind constants shows them.")
    return chains


def _without_inverses(found: RuleSet) -> RuleSet:
    """Rules for ~r are about r from the other end, for questions about heads: a reader looks at r first."""
    plain_heads = [r for r in found.relations if not r.startswith(INVERSE)]
    shown = found.filter(head_relation=plain_heads) if plain_heads else found
    if len(shown) < len(found):
        print_message(f"{len(found) - len(shown):,} rules for inverse relations are not shown; --inverse shows them.")
    return shown


def _print_for_people(found: RuleSet) -> None:
    """A line a rule, with the numbers that one looks at first."""
    if len(found):
        typer.echo("score  confidence  support  rule")
    for one in found:
        cells = (_rounded(one.score, 5), _rounded(one.confidence, 10), _whole(one.support, 7))
        typer.echo(f"{'  '.join(cells)}  {one.rule}")


def _print_for_machines(found: RuleSet, name: str) -> None:
    buffer = io.BytesIO()
    notes = FORMATS[name].write(found, buffer)
    typer.echo(buffer.getvalue().decode(), nl=False)
    for text in notes:
        note(text)


def _rounded(number: float | None, width: int) -> str:
    return ("-" if number is None else f"{number:.3f}").rjust(width)


def _whole(number: float | None, width: int) -> str:
    return ("-" if number is None else f"{number:,.0f}").rjust(width)


def _open(path: Path) -> RuleSet:
    if path.is_file():
        found, notes = read_rules(path)
        for text in notes:
            note(text)
        return found
    return load_model(path).rules
