"""Check a dataset for leaks and other problems that distort results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stablerule.errors import spell_count
from stablerule.graph.graph import Graph
from stablerule.graph.roles import find_unrelated_roles
from stablerule.graph.triples import Triples
from stablerule.graph.twins import SERIOUS_SHARE, Kind, Twins, find_twins
from stablerule.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from stablerule.graph.dataset import Dataset

Severity = Literal["serious", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One kind of problem: how often it occurs, an example, and what to do."""

    kind: str
    severity: Severity
    count: int
    what: str
    example: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def check(dataset: Dataset) -> list[Finding]:
    """Check a dataset for known problems; return the findings, serious ones first.

    >>> from stablerule.graph import Dataset
    >>> twice = [("a", "r", "b")]
    >>> for finding in check(Dataset.from_names("x", train=[*twice, ("b", "r", "c"), ("c", "s", "b")], test=twice)):
    ...     print(finding.severity, finding.kind, finding.count)
    serious same_fact_in_two_splits 1
    warning short_names 3
    warning short_names 2
    note single_fact_relations 1
    """
    findings: list[Finding] = []
    with progress_bar("checking", len(CHECKS)) as advance:
        for look in CHECKS:
            findings += look(dataset)
            advance(1)
    order = ("serious", "warning", "note")
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def _check_facts_in_two_splits(dataset: Dataset) -> Iterator[Finding]:
    train, valid = dataset.graph, Graph.build(dataset.valid, dataset.vocabulary)
    held_out, test = dataset.valid.distinct(), dataset.test.distinct()
    found = Triples.concat(
        held_out.take(train.contains(held_out)), test.take(train.contains(test) | valid.contains(test))
    )
    if len(found):
        yield Finding(
            "same_fact_in_two_splits",
            "serious",
            len(found),
            f"{spell_count(len(found), 'validation or test fact')} also in another split",
            _spell_first_fact_of_graph(dataset, found),
            "Keep them in one split only: a model that has seen an answer is not tested by it.",
        )


def _check_twin_relations(dataset: Dataset) -> Iterator[Finding]:
    """Find inverse twins, near-copies and symmetric relations, and how many test facts they leak."""
    for kind, twins in find_twins(dataset).items():
        if len(twins.couples):
            yield _describe_twin_relations(dataset, kind, twins)


def _describe_twin_relations(dataset: Dataset, kind: Kind, twins: Twins) -> Finding:
    vocabulary, relations = dataset.vocabulary, len(dataset.vocabulary.relations)
    couples, told = twins.couples, len(twins.given_away)
    share = told / max(1, len(dataset.test))
    first = couples.row(0, named=True)
    pair = (vocabulary.relation_name(first["relation"]), vocabulary.relation_name(first["other"] % relations))
    in_test = (
        f"; {told:,} of {len(dataset.test):,} test facts ({share:.1%}) are leaked by train in this way"
        if len(dataset.test)
        else ""
    )
    match kind:
        case "inverse_twins":
            what = f"{spell_count(len(couples), 'pair')} of relations that are inverses of each other{in_test}"
            example = f"{pair[0]} and {pair[1]}: {first['shared']:,} facts in both directions"
            advice = "Keep one relation of each pair, or remove test facts whose entities are linked in train."
        case "near_copies":
            what = f"{spell_count(len(couples), 'pair')} of relations that are near-copies of each other{in_test}"
            example = f"{pair[0]} and {pair[1]}: {first['shared']:,} facts in common"
            advice = "Merge the two, or remove test facts whose entities are linked in train."
        case "symmetric_relations":
            what = f"{spell_count(len(couples), 'symmetric relation')}{in_test}"
            example = f"{pair[0]}: {first['share_of_relation']:.0%} of its facts are in both directions"
            advice = (
                "A rule of length 1 answers them. Compare models with that rule, or keep both directions in one split."
            )
    serious = share >= SERIOUS_SHARE and kind != "symmetric_relations"
    severity: Severity = "serious" if serious else "warning" if told else "note"
    if not told:
        advice = "Nothing, as long as no test fact is leaked. Check again after a new split."
    return Finding(kind, severity, told or len(couples), what, example, advice)


def _check_repeated_facts(dataset: Dataset) -> Iterator[Finding]:
    for name, triples in dataset.splits.items():
        distinct = triples.distinct()
        if len(distinct) < len(triples):
            rows, counts = np.unique(triples.rows, axis=0, return_counts=True)
            yield Finding(
                "duplicates",
                "warning",
                len(triples) - len(distinct),
                f"{spell_count(len(triples) - len(distinct), 'repeated fact')} in {name}",
                _spell_first_fact_of_graph(dataset, Triples(rows[counts > 1])),
                "Nothing for train, where they count once. Remove them from valid and test, where they distort means.",
            )


def _check_unseen_names(dataset: Dataset) -> Iterator[Finding]:
    vocabulary = dataset.vocabulary
    seen_entities, seen_relations = np.zeros(len(vocabulary.entities), bool), np.zeros(len(vocabulary.relations), bool)
    seen_entities[dataset.train.heads] = seen_entities[dataset.train.tails] = True
    seen_relations[dataset.train.relations] = True
    for name, triples in (("valid", dataset.valid), ("test", dataset.test)):
        new = ~(seen_entities[triples.heads] & seen_entities[triples.tails])
        ids = np.unique(triples.rows[new][:, [0, 2]])
        ids = ids[~seen_entities[ids]]
        if len(ids):
            facts = spell_count(int(new.sum()), "fact")
            yield Finding(
                "unseen_entities",
                "warning",
                int(new.sum()),
                f"{facts} in {name} with entities that are not in train ({len(ids):,})",
                vocabulary.entity_name(int(ids[0])),
                "Embeddings can't answer these. Rules need facts about the entities: pass a graph that has some.",
            )
        unknown = ~seen_relations[triples.relations]
        if unknown.any():
            relation = vocabulary.relation_name(int(triples.relations[unknown][0]))
            yield Finding(
                "unseen_relations",
                "warning",
                int(unknown.sum()),
                f"{spell_count(int(unknown.sum()), 'fact')} in {name} with relations that are not in train",
                relation,
                "They can't be learned. Move some of their facts to train, or leave them out.",
            )


def _check_self_loops(dataset: Dataset) -> Iterator[Finding]:
    everything = dataset.everything
    loops = everything.take(everything.heads == everything.tails)
    if len(loops):
        yield Finding(
            "self_loops",
            "note",
            len(loops),
            f"{spell_count(len(loops), 'fact')} from an entity to itself",
            _spell_first_fact_of_graph(dataset, loops),
            "Rules don't predict them, since no path between distinct entities reaches them. Remove them if they have "
            "no meaning.",
        )


def _check_entity_and_relation_names(dataset: Dataset) -> Iterator[Finding]:
    for what, names in (("entity", dataset.vocabulary.entities), ("relation", dataset.vocabulary.relations)):
        table = names.table
        spaced = table.filter(table != table.str.strip_chars())
        if len(spaced):
            yield Finding(
                "whitespace_names",
                "warning",
                len(spaced),
                f"{spell_count(len(spaced), f'{what} name')} with leading or trailing spaces",
                repr(spaced[0]),
                "The same entity may occur with and without them. Strip the names.",
            )
        alike = _find_names_that_look_alike(table)
        if len(alike):
            yield Finding(
                "names_that_look_alike",
                "warning",
                len(alike),
                f"{spell_count(len(alike), f'{what} name')} that look like another, with different characters",
                " and ".join(map(ascii, alike[:2])),
                "They are probably the same. Normalise the names, such as with unicodedata.normalize('NFKC').",
            )
        short = table.filter(table.str.len_chars() == 1)
        if len(short):
            yield Finding(
                "short_names",
                "warning",
                len(short),
                f"{spell_count(len(short), f'{what} name')} of one character",
                repr(short[0]),
                "Check that the right columns were read.",
            )


def _find_names_that_look_alike(table: pl.Series) -> pl.Series:
    """Return names that differ from another only in their Unicode encoding, spaces or invisible characters."""
    seen = table.str.normalize("NFKC").str.replace_all(r"\p{Cf}", "").str.replace_all(r"\s+", " ")
    repeated = seen.is_duplicated()
    return table.filter(repeated).gather(seen.filter(repeated).arg_sort())


def _check_single_fact_relations(dataset: Dataset) -> Iterator[Finding]:
    counts = np.bincount(dataset.train.distinct().relations, minlength=len(dataset.vocabulary.relations))
    single = np.flatnonzero(counts == 1)
    if len(single):
        yield Finding(
            "single_fact_relations",
            "note",
            len(single),
            f"{spell_count(len(single), 'relation')} with only one fact in train",
            dataset.vocabulary.relation_name(int(single[0])),
            "One fact is too few for a rule. Merge them with other relations, or leave them out.",
        )


def _check_unrelated_roles(dataset: Dataset) -> Iterator[Finding]:
    found = find_unrelated_roles(dataset.graph)
    count = len(found.entities)
    if count:
        have = "entity has" if count == 1 else "entities have"
        yield Finding(
            "unrelated_roles",
            "warning",
            count,
            f"{count:,} {have} unrelated roles",
            found.describe(dataset.graph, int(found.entities[0])),
            "If they are different things with the same name, rename them (such as section:python).",
        )


def _spell_first_fact_of_graph(dataset: Dataset, triples: Triples) -> str:
    head, relation, tail = dataset.vocabulary.decode(triples.take(np.array([0]))).row(0)[:3]
    return f"{head} {relation} {tail}"


CHECKS = (
    _check_facts_in_two_splits,
    _check_twin_relations,
    _check_repeated_facts,
    _check_unseen_names,
    _check_self_loops,
    _check_entity_and_relation_names,
    _check_single_fact_relations,
    _check_unrelated_roles,
)
