"""The job that fills the queue: new facts over the whole graph, relation by relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stablerule.errors import OptionError
from stablerule.explorer.decisions.candidates import add_candidates, list_finished_parts
from stablerule.reasoning.wanted import WantedFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stablerule.explorer.decisions.store import Store
    from stablerule.explorer.explored import Explored
    from stablerule.explorer.jobs.jobs import Task

MOST = 100_000  # candidates of one job


def check_completion_options(explored: Explored, options: Mapping[str, Any]) -> dict[str, Any]:
    """Look at the options before the job waits, not when it begins."""
    given = {name: value for name, value in options.items() if value not in (None, "", [])}
    relations = given.pop("relations", None)
    top = given.get("top", 1000)
    if not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= MOST:
        raise OptionError(f"Argument 'top' must be a whole number from 1 to {MOST:,}, got {top!r}.")
    if unknown := [name for name in given if name not in WantedFacts.__annotations__]:
        raise OptionError(
            f"A job has no option {unknown[0]!r}. It has relations, {', '.join(WantedFacts.__annotations__)}."
        )
    explored.opened.completion(WantedFacts(**given), relations)
    return {**given, "top": top, **({"relations": list(relations)} if relations else {})}


def fill_queue(explored: Explored, store: Store, task: Task) -> None:
    """Find new facts; each relation is kept when it is finished, so that a killed job goes on behind it."""
    options = dict(task.options)
    relations = options.pop("relations", None)
    completion = explored.opened.completion(WantedFacts(**options), relations)
    name = explored.graph.vocabulary.relation_name
    sizes = {relation: len(completion.choose_asked(relation).heads) for relation in completion.relations}
    finished = list_finished_parts(store, task.id)
    done = float(sum(size for relation, size in sizes.items() if name(relation) in finished))
    task.start(float(sum(sizes.values())), done)
    for relation, size in sizes.items():
        if name(relation) in finished:
            continue
        said = name(relation)
        frame = completion.of(relation, advance=lambda n, said=said: task.advance(n, said))  # type: ignore[misc]
        done += size
        add_candidates(store, task.id, said, frame.iter_rows(named=True), keep=options["top"], done=done)
