"""What a split says about itself: from what it was made, how, what is in it, and what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from stablerule.reasoning.model_folder import installed_versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stablerule.graph import Dataset, Names, Triples, Vocabulary

FORMAT = 1
# The name of the part of a split that is one dataset: it is saved in the folder itself.
WHOLE = "."
# Reasons for which facts of the source are in no part of a split.
REPEATED, CROSSING, NOT_DRAWN = "repeated", "crossing parts", "not drawn"


def make_manifest(
    kind: str,
    source: Dataset,
    parts: Mapping[str, Dataset],
    *,
    parameters: Mapping[str, Any],
    seed: int | None = None,
    lost: Mapping[str, Triples] | None = None,
    found: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather everything into what `manifest.json` holds.

    lost: by reason, facts of the source (with its ids) that are in no part; found: what only this kind of split has to
    say, and `notes` the same in sentences.
    """
    return {
        "format": FORMAT,
        "kind": kind,
        "stablerule": installed_versions().get("stablerule"),
        "source": {"name": source.name, **_describe(source)},
        "seed": seed,
        "parameters": dict(parameters),
        "parts": {name: _describe(part) for name, part in parts.items()},
        "lost": {
            "facts": {r: _by_relation(facts, source.vocabulary) for r, facts in (lost or {}).items() if len(facts)},
            **_lost_names(source, parts),
        },
        "found": dict(found or {}),
        "notes": list(notes),
    }


def count_lost(manifest: Mapping[str, Any]) -> int:
    """How many facts of the source are in no part, for whatever reason."""
    return sum(reason["facts"] for reason in manifest["lost"]["facts"].values())


def _describe(dataset: Dataset) -> dict[str, Any]:
    return {
        "sha256": dataset.sha256,
        "entities": len(dataset.vocabulary.entities),
        "relations": len(dataset.vocabulary.relations),
        **{split: len(facts) for split, facts in dataset.splits.items()},
    }


def _by_relation(facts: Triples, vocabulary: Vocabulary) -> dict[str, Any]:
    relations, counts = np.unique(facts.relations, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    names = vocabulary.relations.names_of(relations[order])
    return {"facts": len(facts), "relations": dict(zip(names, counts[order].tolist(), strict=True))}


def _lost_names(source: Dataset, parts: Mapping[str, Dataset]) -> dict[str, Any]:
    """Entities, of which there may be many, are counted; relations are named."""
    vocabularies = [part.vocabulary for part in parts.values()]
    entities = _without(source.vocabulary.entities, [v.entities for v in vocabularies])
    relations = _without(source.vocabulary.relations, [v.relations for v in vocabularies])
    return {"entities": len(entities), "relations": relations.to_list()}


def _without(names: Names, known: Sequence[Names]) -> pl.Series:
    return names.table.filter(~names.table.is_in(pl.concat(one.table for one in known).implode()))
