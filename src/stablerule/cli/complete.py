"""`stablerule complete`: the best new facts over the whole graph, in a file."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer

from stablerule.cli.complete_files import BASE, FORMATS, Parts, Writer, check_names, format_of, is_iri, writer
from stablerule.cli.model_graph import GraphOption, ModelArgument, open_model
from stablerule.cli.output import note, options_as_typed, plain, print_message
from stablerule.errors import OptionError, spell_count
from stablerule.io import write_beside
from stablerule.io.temporaries import claim_output
from stablerule.progress import progress_bar
from stablerule.reasoning.completing import Completion, Wanted, best_facts
from stablerule.reasoning.model_folder import NETWORK, RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stablerule.cli.model_graph import ModelOnGraph


def complete(
    model: ModelArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help=f"The file; its ending says the format: {', '.join(FORMATS)}.")
    ],
    relation: Annotated[
        list[str] | None, typer.Option(help="Only facts of this relation; may be given several times.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="The best so many of all.")] = None,
    per_relation: Annotated[int | None, typer.Option(help="The best so many of each relation.")] = None,
    threshold: Annotated[float | None, typer.Option(help="The least score.")] = None,
    min_probability: Annotated[float | None, typer.Option(help="The least probability.")] = None,
    per_query: Annotated[int, typer.Option(help="The best so many answers for each head.")] = 10,
    candidates: Annotated[
        str, typer.Option(help="Tails: 'range', those that some fact of the relation has; or 'all'.")
    ] = "range",
    domain: Annotated[
        str, typer.Option(help="Heads: 'observed', those that have some fact of the relation; or 'all'.")
    ] = "observed",
    graph: GraphOption = None,
    base: Annotated[str, typer.Option(help="For .nt: what stands before names that are no IRIs.")] = BASE,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if there is one.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run to the same file was killed.")] = False,
) -> None:
    """Find the facts that the model concludes and no file has, each with its best rule and a path if it has rules."""
    with options_as_typed():
        wanted = Wanted(top, per_relation, threshold, min_probability, per_query, candidates, domain)  # type: ignore[arg-type]
    suffix = format_of(output)
    if suffix == ".nt" and not is_iri(base):
        raise OptionError(f"--base must be an IRI such as https://example.org/ or {BASE}, got {base!r}.")
    parts = Parts(output)
    if not parts.check_place(overwrite=overwrite, resume=resume) and resume:
        print_message(f"No {plain(str(parts.folder))}: beginning at the beginning.")
    opened = open_model(model, graph)
    check_names(opened.graph.vocabulary, output)
    calibration = opened.model.calibration_for(opened.graph)
    with options_as_typed():
        completion = Completion(
            opened.searcher, wanted, known=opened.known, relations=relation or None, calibration=calibration
        )
    if isinstance(calibration, str):
        note(f"there is no calibration, and no probability: {calibration}.")
    with claim_output(output):
        parts.begin(_identity(model, opened, completion), resume=resume)
        try:
            _complete_all(completion, parts)
        except KeyboardInterrupt:
            print_message(f"What was found is kept in {plain(str(parts.folder))}: go on with --resume.")
            raise
        count = _write_result(completion, parts, output, writer(output, opened.dataset.prefixes, base))
        parts.remove()
    print_message(f"{spell_count(count, 'new fact')}. Saved to {plain(str(output))}")


def _complete_all(completion: Completion, parts: Parts) -> None:
    sizes = {relation: len(completion.queries(relation)) for relation in completion.relations}
    with progress_bar("completing", sum(sizes.values())) as advance:
        for relation, size in sizes.items():
            if not parts.has(relation):
                parts.add(relation, completion.of(relation))
            advance(size, completion.graph.vocabulary.relation_name(relation))


def _identity(model: Path, opened: ModelOnGraph, completion: Completion) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    digest = hashlib.sha256()
    for name in ("model.json", "learned.json", RULES, NETWORK):
        if (model / name).is_file():
            digest.update((model / name).read_bytes())
    names = [completion.graph.vocabulary.relation_name(relation) for relation in completion.relations]
    options = {option.replace("_", "-"): value for option, value in asdict(completion.wanted).items()}
    return {"model": digest.hexdigest(), "data": opened.dataset.sha256, "relation": names, **options}


def _write_result(completion: Completion, parts: Parts, output: Path, write: Writer) -> int:
    """Put the parts together, whole or not at all."""
    top, counts = completion.wanted.top, []

    def frames() -> Iterator[pl.DataFrame]:
        kept = completion.nothing()
        for relation in completion.relations:
            part = parts.read(relation)
            if top is not None:
                kept = best_facts(pl.concat([kept, part]), top)
                continue
            counts.append(len(part))
            yield part
        counts.append(len(kept))
        yield kept

    with write_beside(output) as temporary:
        write(frames(), temporary, output)
    return sum(counts)
