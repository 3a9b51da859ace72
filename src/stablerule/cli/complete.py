"""`stablerule complete`: predict the best new facts for the whole graph, and write them to a file."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import polars as pl
import typer

from stablerule.cli.complete_files import (
    FORMATS,
    STEP,
    CompletionParts,
    Writer,
    check_output_names,
    find_completion_format,
    find_completion_writer,
)
from stablerule.cli.output import (
    name_options_as_typed,
    plain,
    print_atoms,
    print_message,
    print_note,
    show_control_characters,
)
from stablerule.cli.reading import GraphOption, ModelArgument, open_model_argument
from stablerule.errors import OptionError, spell_count
from stablerule.io import write_beside
from stablerule.io.atomic import claim_output
from stablerule.io.iris import BASE, is_output_iri
from stablerule.progress import progress_bar
from stablerule.reasoning.answers import spell_reason_share, spell_score
from stablerule.reasoning.calibration import MISSING
from stablerule.reasoning.completing import (
    Asked,
    Completion,
    ExpectedTrue,
    NewFact,
    TrueFacts,
    keep_best_new_facts,
    list_written_facts,
    name_new_facts,
)
from stablerule.reasoning.model_folder import NETWORK, RULES
from stablerule.reasoning.wanted import UNLIKELY, USUAL_TOP, WantedFacts

SHOWN = 5  # facts printed, the best ones

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stablerule.reasoning.model_on_graph import ModelOnGraph


def complete(
    model: ModelArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help=f"Output file: {', '.join(FORMATS)}.")],
    relation: Annotated[list[str] | None, typer.Option(help="Only facts of this relation. Repeatable.")] = None,
    top: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Best N facts overall, or 'all'. Default: 1000 above 1%, without other limits.",
        ),
    ] = None,
    per_relation: Annotated[int | None, typer.Option(help="Best facts to keep for each relation.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Minimum score.")] = None,
    min_probability: Annotated[float | None, typer.Option(help="Minimum probability.")] = None,
    per_query: Annotated[int, typer.Option(help="Best answers to keep for each head.")] = 10,
    candidates: Annotated[str, typer.Option(help="Tails: 'range' (seen with the relation) or 'all'.")] = "range",
    domain: Annotated[
        str,
        typer.Option(help="Heads: 'observed' (seen with the relation), 'kind' (also similar ones) or 'all'."),
    ] = "kind",
    second_values: Annotated[
        bool, typer.Option("--second-values", help="Also predict second values of one-valued relations.")
    ] = False,
    unlinked: Annotated[bool, typer.Option("--unlinked", help="Only pairs without any fact yet.")] = False,
    missing: Annotated[float, typer.Option(help="Assumed share of true facts missing from the graph.")] = MISSING,
    graph: GraphOption = None,
    base: Annotated[str, typer.Option(help="For .nt: IRI prefix of plain names.")] = BASE,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run to the same file.")] = False,
) -> None:
    """Predict new facts for the whole graph, each with its best rule and supporting path."""
    with name_options_as_typed():
        wanted = WantedFacts(
            int(top) if top is not None and re.fullmatch(r"-?\d+", top) else top,  # type: ignore[arg-type]
            per_relation,
            threshold,
            min_probability,
            per_query,
            candidates,  # type: ignore[arg-type]
            domain,  # type: ignore[arg-type]
            second_values,
            unlinked,
            missing,
        )
    suffix = find_completion_format(output)
    if suffix == ".nt" and not is_output_iri(base):
        raise OptionError(f"--base must be an IRI such as https://example.org/ or {BASE}, got {base!r}.")
    parts = CompletionParts(output)
    if not parts.check_place(overwrite=overwrite, resume=resume) and resume:
        print_message(f"No {plain(str(parts.folder))}: starting from the beginning.")
    opened = open_model_argument(model, graph)
    check_output_names(opened.graph.vocabulary, output)
    calibration = opened.model.calibration_for(opened.graph)
    with name_options_as_typed():
        completion = opened.completion(wanted, relation or None)
    if isinstance(calibration, str):
        print_note(f"no calibration, so no probabilities: {calibration}.")
    with claim_output(output):
        parts.begin(_identify_completion_run(model, opened, completion), resume=resume)
        try:
            _run_complete_command(completion, parts)
        except KeyboardInterrupt:
            print_message(f"Finished relations are saved in {plain(str(parts.folder))}. Continue with --resume.")
            raise
        summary = _write_completed_facts(
            completion, parts, output, find_completion_writer(output, opened.dataset.prefixes, base)
        )
        parts.remove()
    for fact in summary.best:
        _print_new_fact(fact)
    print_message(f"{spell_count(summary.size, 'new fact')}. Saved to {plain(str(output))}")
    if wanted.is_usual and summary.size < USUAL_TOP:
        print_note(f"what is less likely than {UNLIKELY:.0%} is left out; --top {USUAL_TOP} writes it too.")
    if summary.expected is not None:
        print_message(_spell_expected_line(summary.expected, summary.size, wanted.missing))


def _run_complete_command(completion: Completion, parts: CompletionParts) -> None:
    asked = {relation: completion.choose_asked(relation) for relation in completion.relations}
    sizes = {relation: len(one.heads) for relation, one in asked.items()}
    _print_who_is_not_asked([one for one in asked.values() if one.one_valued])
    with progress_bar("completing", sum(sizes.values())) as advance:
        for relation, size in sizes.items():
            name = completion.graph.vocabulary.relation_name(relation)
            if parts.has(relation):
                advance(size, name)
            else:
                parts.add(relation, completion.of(relation, advance=partial(advance, text=name)))


def _identify_completion_run(model: Path, opened: ModelOnGraph, completion: Completion) -> dict[str, Any]:
    """Return what must be equal for a run to be resumed."""
    digest = hashlib.sha256()
    for name in ("model.json", "learned.json", RULES, NETWORK):
        if (model / name).is_file():
            digest.update((model / name).read_bytes())
    names = [completion.graph.vocabulary.relation_name(relation) for relation in completion.relations]
    options = {option.replace("_", "-"): value for option, value in asdict(completion.wanted).items()}
    return {"model": digest.hexdigest(), "data": opened.dataset.sha256, "relation": names, **options}


class Summary(NamedTuple):
    """How many facts were written, the best of them, and how many are expected to be true."""

    size: int
    best: list[NewFact]
    expected: ExpectedTrue | None


def _write_completed_facts(completion: Completion, parts: CompletionParts, output: Path, write: Writer) -> Summary:
    """Join the parts into the output file, which is written completely or not at all."""
    most, counts, true_facts = completion.wanted.most_of_all, [], TrueFacts()
    best = completion.nothing()

    def frames() -> Iterator[pl.DataFrame]:
        nonlocal best
        kept = completion.nothing()
        for relation in completion.relations:
            part = parts.read(relation)
            if most is not None:
                kept = keep_best_new_facts(pl.concat([kept, part]), most)
                continue
            counts.append(len(part))
            true_facts.add(part)
            best = keep_best_new_facts(pl.concat([best, part]), SHOWN)
            yield list_written_facts(part)
        counts.append(len(kept))
        true_facts.add(kept)
        best = keep_best_new_facts(pl.concat([best, kept]), SHOWN)
        yield list_written_facts(kept)

    with write_beside(output) as temporary:
        write(frames(), temporary, output)
    return Summary(sum(counts), list(name_new_facts(best)), true_facts.expected)


def _print_who_is_not_asked(one_valued: list[Asked]) -> None:
    if one_valued:
        skipped, asked = sum(one.with_value for one in one_valued), sum(len(one.heads) for one in one_valued)
        print_message(
            f"{spell_count(len(one_valued), 'one-valued relation')}: skipping {skipped:,} heads that have a value, "
            f"asking {asked:,} similar ones that have none."
        )


def _print_new_fact(fact: NewFact) -> None:
    """Print a fact with its probability or score, and below it the rule and the path, if there are any."""
    figure = spell_score(fact.score) if fact.probability is None else spell_reason_share(fact.probability)
    typer.echo(f"{figure:>6}  {show_control_characters(f'{fact.head}  {fact.relation}  {fact.tail}')}")
    if fact.rule:
        print_atoms(f"        {fact.rule}")
        print_atoms(f"        {STEP.join(fact.path)}")


def _spell_expected_line(expected: ExpectedTrue, count: int, missing: float) -> str:
    """Spell how many facts are expected to be true.

    >>> print(_spell_expected_line(ExpectedTrue(812.3, 780.2, 840.9, 1000), 1000, 0.1))
    Expected to be true: about 812 (780 to 841) of 1,000. Assumes 10% of all true facts are missing.
    """
    of = f"{expected.of:,}" if expected.of == count else f"the {expected.of:,} with a probability"
    low, high = math.floor(expected.low), math.ceil(expected.high)
    return (
        f"Expected to be true: about {expected.mean:,.0f} ({low:,} to {high:,}) of {of}. "
        f"Assumes {missing:.0%} of all true facts are missing."
    )
