"""`stablerule rules`: print, filter and export rules.

The text format is a table: a few measures, and the rule, wrapped at its atoms.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.cells import cell_len

from stablerule.cli.output import break_line, console, print_message, print_note
from stablerule.errors import OptionError, UnknownRelation, spell_closest, spell_count, spell_names
from stablerule.graph import INVERSE
from stablerule.registry import load_model
from stablerule.rules import RuleSet, read_rules
from stablerule.rules.formats import FORMATS
from stablerule.rules.rule import ARROW
from stablerule.rules.ruleset import Kind
from stablerule.rules.scored import GAIN, spell_rule_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stablerule.rules import Rule, RuleSet

SORTS = (GAIN, "confidence", "score", "support", "pca_confidence", "head_coverage")
KINDS = (*get_args(Kind), "all")
PRINTABLE = tuple(name for name in FORMATS if name != "parquet")

# The defaults of the text format: rules with some support, and a few of each relation.
ENOUGH_SUPPORT, A_FEW = 5, 3
INDENT = "  "
NARROWEST = 30  # the least width of the column of rules
MUCH_LOWER = 0.05
TITLES = {"pca_confidence": "pca", "head_coverage": "coverage"}


def rules(
    model: Annotated[Path, typer.Argument(help="Folder of a model, or a file of rules.")],
    relation: Annotated[str | None, typer.Option(help="Only rules for this relation; ~name is its inverse.")] = None,
    top: Annotated[int, typer.Option(help="Number of rules to print; 0 prints all.")] = 20,
    per_relation: Annotated[
        int | None,
        typer.Option(
            help=f"Most rules for each relation; 0 is no limit. [overview in text: {A_FEW}]".replace("[", r"\[")
        ),
    ] = None,
    inverse: Annotated[bool, typer.Option("--inverse", help="Text: also print rules for inverse relations.")] = False,
    kind: Annotated[
        str | None, typer.Option(help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}. Text: chains if there are any.")
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(SORTS)}; default: the first that the rules have. gain: confidence minus base rate."
        ),
    ] = None,
    format: Annotated[str, typer.Option(help=f"Output format: {', '.join(PRINTABLE)}.")] = "text",  # noqa: A002
    max_length: Annotated[int | None, typer.Option(help="Longest body.")] = None,
    min_support: Annotated[float | None, typer.Option(help=f"Minimum support. Text: {ENOUGH_SUPPORT}.")] = None,
    min_confidence: Annotated[float | None, typer.Option(help="Minimum confidence.")] = None,
) -> None:
    """Print rules, the best first."""
    _check_choice_option("--format", format, PRINTABLE)
    _check_choice_option("--sort", sort, SORTS)
    _check_choice_option("--kind", kind, KINDS)
    _check_least_option("--top", top, 0)
    _check_least_option("--per-relation", per_relation, 0)
    _check_least_option("--max-length", max_length, 1)
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        raise OptionError(f"--min-confidence must be a share between 0 and 1, got {min_confidence:g}.")
    if min_support is not None and not min_support >= 0:
        raise OptionError(f"--min-support must be 0 or more, got {min_support:g}.")
    found, for_people = _open_rules_argument(model), format == "text"
    by = _choose_sort_option(found, sort)
    _check_relation_option(found, relation, model)
    found = _keep_kind_option(found, kind, for_people=for_people)
    if for_people and relation is None and not inverse:
        found = _hide_inverse_rules(found)
    asked = found.filter(
        head_relation=relation, max_length=max_length, min_support=min_support, min_confidence=min_confidence
    )
    chosen = _keep_min_support_option(asked) if for_people and min_support is None else asked
    if per_relation is None and for_people and relation is None and sort is None:
        chosen, per_relation = chosen.drop_twins(), A_FEW
    if per_relation:
        chosen = chosen.top_per_relation(per_relation, by=by)
    chosen = chosen.sort(by=by)
    shown = chosen.top(top, by=by) if top else chosen
    if for_people:
        print_rules_table(shown, by)
    else:
        _print_rules_in_format(shown, format)
    if not len(shown):
        print_message(f"None of {spell_count(len(found), 'rule')} matches these options.")
    elif len(shown) < len(asked):
        print_message(_print_how_to_see_more_rules(shown, chosen, asked))


def _check_choice_option(option: str, given: str | None, choices: tuple[str, ...]) -> None:
    if given is not None and given not in choices:
        raise OptionError(f"{option} must be one of {', '.join(choices)}, got {given!r}.")


def _check_least_option(option: str, given: int | None, least: int) -> None:
    if given is not None and given < least:
        raise OptionError(f"{option} must be {least} or more, got {given}.")


def _keep_min_support_option(found: RuleSet) -> RuleSet:
    """Skip rules with little support, unless all have little support or none has this measure."""
    enough = found.filter(min_support=ENOUGH_SUPPORT)
    return enough if len(enough) else found


def _print_how_to_see_more_rules(shown: RuleSet, chosen: RuleSet, asked: RuleSet) -> str:
    limits = ["--top 0"] if len(shown) < len(chosen) else []
    limits += ["--per-relation 0 --min-support 0"] if len(chosen) < len(asked) else []
    return f"{len(shown):,} of {len(asked):,} rules; print all with {' '.join(limits)}."


def _check_relation_option(found: RuleSet, relation: str | None, model: Path) -> None:
    if relation is not None and relation not in found.relations:
        near = spell_closest(relation, found.relations) or spell_names(found.relations, begin="It has rules for")
        raise UnknownRelation(f"No rules for {relation!r} in {model}.{near}")


def _choose_sort_option(found: RuleSet, asked: str | None) -> str:
    """Return the measure to sort by: the one asked for, or the first that the rules have.

    Files of other tools have no base rates, so no gain.
    """
    present = [name for name in SORTS if found.has(name)]
    if asked is not None and asked not in present and len(found):
        raise OptionError(
            f"--sort {asked}: these rules have no {asked}. They have {', '.join(present) or 'no numbers'}."
        )
    chosen = asked or next(iter(present), GAIN)
    if asked is None and chosen != GAIN:
        print_note(f"sorted by {chosen}, because these rules have no base rate and so no gain.")
    return chosen


def _keep_kind_option(found: RuleSet, kind: str | None, *, for_people: bool) -> RuleSet:
    """Return the rules of one kind; for people chains come first, since they are fewer and more general."""
    if kind in ("chains", "constants"):
        return found.filter(kind=kind)  # type: ignore[arg-type]
    chains = found.filter(kind="chains")
    if kind == "all" or not for_people or not len(chains):
        return found
    if len(chains) < len(found):
        print_message(f"{len(found) - len(chains):,} rules with constants are hidden; show them with --kind constants.")
    return chains


def _hide_inverse_rules(found: RuleSet) -> RuleSet:
    """Hide rules for inverse relations, which answer queries for heads: people read the plain relations first."""
    plain_heads = [r for r in found.relations if not r.startswith(INVERSE)]
    shown = found.filter(head_relation=plain_heads) if plain_heads else found
    if len(shown) < len(found):
        print_message(f"{len(found) - len(shown):,} rules for inverse relations are hidden; show them with --inverse.")
    return shown


def _print_rules_in_format(found: RuleSet, name: str) -> None:
    buffer = io.BytesIO()
    notes = FORMATS[name].write(found, buffer)
    typer.echo(buffer.getvalue().decode(), nl=False)
    for text in notes:
        print_note(text)


def _open_rules_argument(path: Path) -> RuleSet:
    if path.is_file():
        found, notes = read_rules(path)
        for text in notes:
            print_note(text)
        return found
    return load_model(path).rules


def print_rules_table(rules: RuleSet, by: str) -> None:
    """Print a row for each rule, and notes on how to read the numbers."""
    if not len(rules):
        return
    own = by if by in ("score", "head_coverage") or not rules.has(GAIN) else GAIN
    names = list(dict.fromkeys([own, "confidence", "pca_confidence", "support"]))
    titles = [TITLES.get(name, name) for name in names]
    rows = [[spell_rule_cell(one, name) for name in names] for one in rules]
    widths = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
    room = max(NARROWEST, console.width - sum(widths) - 2 * len(widths))
    typer.echo(_join_printed_cells([*titles, "rule"], widths))
    for one, cells in zip(rules, rows, strict=True):
        first, *more = wrap_rule(one.rule, room)
        typer.echo(_join_printed_cells([*cells, first], widths))
        for line in more:
            typer.echo(" " * (sum(widths) + 2 * len(widths)) + line)
    for text in explain_rule_numbers(rules):
        print_note(text)


def _join_printed_cells(cells: list[str], widths: list[int]) -> str:
    *numbers, text = cells
    return "  ".join([*(cell.rjust(width) for cell, width in zip(numbers, widths, strict=True)), text])


def explain_rule_numbers(rules: RuleSet) -> Iterator[str]:
    """Yield what ~ means, and why a correct rule can have a low confidence."""
    if any(one.is_estimate for one in rules):
        yield "~ marks an estimate from a sample of entities X; --format json has the 95% interval."
    if any((one.pca_confidence or 0) - (one.confidence or 0) > MUCH_LOWER for one in rules):
        yield (
            "confidence counts held-out and missing facts as wrong, so a correct rule can have a low one. "
            "pca skips entities X that have no fact of the relation."
        )


def wrap_rule(rule: Rule, width: int) -> list[str]:
    """Break the text of a rule after an atom, or inside a name that is too long for a line."""
    head, *body = rule.atoms
    pieces = [f"{head} {ARROW}", *(f"{atom}," for atom in body[:-1]), body[-1]]
    lines = [pieces[0]]
    for piece in pieces[1:]:
        longer = f"{lines[-1]} {piece}"
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(INDENT + piece)
    return [part for line in lines for part in break_line(line, width, 2 * INDENT)]
