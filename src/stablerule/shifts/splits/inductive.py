"""No entity of the test graph is in the training graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stablerule.datasets.making import check_count, check_number
from stablerule.errors import InputError, OptionError
from stablerule.graph import SPLITS, Graph, Triples, split_triples
from stablerule.shifts.splits.checks import Shares, check_dataset, check_shares, first_rows
from stablerule.shifts.splits.manifest import CROSSING, REPEATED, make_manifest
from stablerule.shifts.splits.narrowing import narrow
from stablerule.shifts.splits.partition import NOWHERE, grow_parts, share_by_chance
from stablerule.shifts.splits.split import Split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stablerule.graph import Dataset

# What the training part holds out of its own facts as valid: a learner chooses by facts about entities that it knows.
HELD_OUT = 0.1


class Part(NamedTuple):
    """The facts within one part: the graph to reason on, what is asked about it, and how many were not fit to ask."""

    context: Triples
    queries: Triples
    returned: int


def split_inductive(
    dataset: Dataset, shares: Shares = (0.7, 0.1, 0.2), *, context: float = 0.75, regions: int = 10, seed: int = 0
) -> Split:
    """Divide the entities into three parts; facts whose head and tail are in the same part stay, the others are lost.

    shares: of the entities, for train, valid and test; 0 for valid leaves it out. context: within valid and test, the
    share of the facts that are the graph to reason on; the others are queries. regions: from how many entities valid
    and test each grow along the facts. A part that is a single region loses the fewest facts, but may be all about one
    topic, with relations that train hardly has.

    Each part is a dataset. "train" has the facts to learn from, and a tenth of them as its valid. "valid" and "test"
    have their context as train, and their queries as test: a model that was learned from `parts["train"]` is judged
    by `evaluate(model, parts["test"])`. The entities of every query are in its context, and its relation is one that
    could be learned; a fact that is not fit to be a query stays in the context.

    The manifest says how many facts are kept, how many parts at random would keep, and how far the relation mix of each
    part is from that of train: 0 where it is the same, 1 where they have no relation in common.

    >>> from stablerule.datasets import load
    >>> split = split_inductive(load("geography"), seed=0)
    >>> for part in split.parts.values():
    ...     print(part)
    Dataset('geography/train', 3,234 entities, 10 relations, train 7,278, valid 809, test 0)
    Dataset('geography/valid', 463 entities, 8 relations, train 681, valid 0, test 227)
    Dataset('geography/test', 925 entities, 8 relations, train 1,308, valid 0, test 436)
    >>> print(split.manifest["notes"][0])
    79.9% of the facts have both ends in one part; in parts at random 54.0% would.
    """
    asked = check_shares(shares, needed=("train", "test"))
    if not 0 < check_number("context", context, 0, 1) < 1:
        raise OptionError(f"Argument 'context' must be above 0 and below 1, got {context!r}.")
    check_count("regions", regions, least=1)
    growing, dealing = np.random.default_rng(check_count("seed", seed, least=0)).spawn(2)
    facts = check_dataset(dataset).everything
    first = first_rows(facts)
    distinct = facts.take(first)
    graph = Graph.build(distinct, dataset.vocabulary, dataset.name)
    sizes = _sizes(graph, asked)
    place = grow_parts(graph, sizes, growing, regions)
    within = np.where(place[distinct.heads] == place[distinct.tails], place[distinct.heads], NOWHERE)  # (facts,)
    kept = {name: distinct.take(within == at) for at, name in enumerate(SPLITS) if asked[at]}
    for name, some in kept.items():
        _refuse_nothing(some, "facts", name, dataset)
    train, held_out, _ = split_triples(kept["train"], (1 - HELD_OUT, HELD_OUT, 0.0), dealing)
    asking = {name: _ask(some, context, train, dealing) for name, some in kept.items() if name != "train"}
    parts = {"train": narrow(dataset, f"{dataset.name}/train", train, held_out)}
    for name, part in asking.items():
        _refuse_nothing(part.queries, "queries", name, dataset)
        parts[name] = narrow(dataset, f"{dataset.name}/{name}", part.context, test=part.queries)
    found = {
        "kept": float((within != NOWHERE).mean()),
        "kept_by_chance": share_by_chance(graph, sizes),
        "relation_mix": {name: _distance(kept[name], kept["train"]) for name in asking},
        "returned_to_context": {name: part.returned for name, part in asking.items()},
    }
    manifest = make_manifest(
        "inductive",
        dataset,
        parts,
        parameters={"shares": asked, "context": context, "regions": regions, "held_out": HELD_OUT},
        seed=seed,
        lost={REPEATED: facts.take(~first), CROSSING: distinct.take(within == NOWHERE)},
        found=found,
        notes=_notes(found),
    )
    return Split(parts, manifest)


def _sizes(graph: Graph, shares: Shares) -> tuple[int, int, int]:
    """How many entities each part gets."""
    entities = int((graph.degrees > 0).sum())
    valid, test = round(shares[1] * entities), round(shares[2] * entities)
    sizes = (entities - valid - test, valid, test)
    for name, share, size in zip(SPLITS, shares, sizes, strict=True):
        if share and size < 1:
            raise InputError(
                f"Dataset {graph.name!r} has too few entities ({entities:,}) for a {name} of its own with a share of "
                f"{share:g}."
            )
    return sizes


def _ask(facts: Triples, share: float, train: Triples, rng: np.random.Generator) -> Part:
    """Divide the facts of a part into context and queries; nobody can be asked about a relation that train lacks."""
    context, _, queries = split_triples(facts, (share, 0.0, 1 - share), rng)
    known = np.isin(queries.relations, train.relations)
    return Part(Triples.concat(context, queries.take(~known)), queries.take(known), int((~known).sum()))


def _refuse_nothing(facts: Triples, what: str, name: str, dataset: Dataset) -> None:
    if not len(facts):
        raise InputError(
            f"The part {name} of dataset {dataset.name!r} ends up with no {what}. Try another seed, fewer regions, or "
            f"a larger share of the entities for it{', or less context' if what == 'queries' else ''}."
        )


def _distance(facts: Triples, others: Triples) -> float:
    """Share of the facts that would have to be of another relation for the relation mix to be that of the others."""
    size = 1 + max(int(facts.relations.max()), int(others.relations.max()))
    one, two = (np.bincount(some.relations, minlength=size) / len(some) for some in (facts, others))
    return float(np.abs(one - two).sum() / 2)


def _notes(found: Mapping[str, Any]) -> list[str]:
    mixes = ", ".join(f"{distance:.2f} in {name}" for name, distance in found["relation_mix"].items())
    return [
        f"{found['kept']:.1%} of the facts have both ends in one part; in parts at random "
        f"{found['kept_by_chance']:.1%} would.",
        f"The relation mix is away from that of train by {mixes} (0: the same, 1: no relation in common).",
        *(
            f"{count:,} facts of {name} stay in its context, because train has no fact of their relation."
            for name, count in found["returned_to_context"].items()
            if count
        ),
    ]
