"""What spoils results, found before anything is learned."""

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
    """One kind of trouble: how often, an example, and what to do."""

    kind: str
    severity: Severity
    count: int
    what: str
    example: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def check(dataset: Dataset) -> list[Finding]:
    """Look for everything that is known to spoil results, the serious first.

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
            f"{spell_count(len(found), 'fact')} of valid or test in another split as well",
            _spell_first_fact_of_graph(dataset, found),
            "Remove them from all splits but one: a model that has seen the answer is not tested.",
        )


def _check_twin_relations(dataset: Dataset) -> Iterator[Finding]:
    """Inverse twins, near-copies and symmetric relations, by how many test facts they give away."""
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
        f"; {told:,} of {len(dataset.test):,} test facts ({share:.1%}) stand in train that way"
        if len(dataset.test)
        else ""
    )
    match kind:
        case "inverse_twins":
            what = (
                f"{spell_count(len(couples), 'couple')} of relations that say the same in opposite directions{in_test}"
            )
            example = f"{pair[0]} and {pair[1]}: {first['shared']:,} facts both ways round"
            advice = "Keep one relation of each couple, or take the facts out of test whose pair is linked in train."
        case "near_copies":
            what = f"{spell_count(len(couples), 'couple')} of relations that are near-copies of each other{in_test}"
            example = f"{pair[0]} and {pair[1]}: {first['shared']:,} facts in common"
            advice = "Merge the two, or take the facts out of test whose pair is linked in train."
        case "symmetric_relations":
            what = f"{spell_count(len(couples), 'symmetric relation')}{in_test}"
            example = f"{pair[0]}: {first['share_of_relation']:.0%} of its facts hold both ways round"
            advice = (
                "A rule of length 1 answers those: judge a model by what it adds, or keep both directions together."
            )
    serious = share >= SERIOUS_SHARE and kind != "symmetric_relations"
    severity: Severity = "serious" if serious else "warning" if told else "note"
    if not told:
        advice = "Nothing, as long as no test fact is given away; keep it in mind when you split again."
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
                "Nothing in train: they count once. In valid and test they count twice in every mean: remove them.",
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
                f"{facts} of {name} about entities that train does not have ({len(ids):,})",
                vocabulary.entity_name(int(ids[0])),
                "Expect no answer there from embeddings; rules need facts about them (pass a graph that has some).",
            )
        unknown = ~seen_relations[triples.relations]
        if unknown.any():
            relation = vocabulary.relation_name(int(triples.relations[unknown][0]))
            yield Finding(
                "unseen_relations",
                "warning",
                int(unknown.sum()),
                f"{spell_count(int(unknown.sum()), 'fact')} of {name} with a relation that train does not have",
                relation,
                "Nothing can be learned about it: move some of its facts to train, or leave it out.",
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
            "No path with distinct entities leads there: rules don't predict them. Remove them if they mean nothing.",
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
                f"{spell_count(len(spaced), f'{what} name')} with white space at the beginning or the end",
                repr(spaced[0]),
                "The same thing may be there twice, with and without: strip the names.",
            )
        alike = _find_names_that_look_alike(table)
        if len(alike):
            yield Finding(
                "names_that_look_alike",
                "warning",
                len(alike),
                f"{spell_count(len(alike), f'{what} name')} that look like another: the characters differ",
                " and ".join(map(ascii, alike[:2])),
                "These are probably the same things: write their names alike, as unicodedata.normalize('NFKC') does.",
            )
        short = table.filter(table.str.len_chars() == 1)
        if len(short):
            yield Finding(
                "short_names",
                "warning",
                len(short),
                f"{spell_count(len(short), f'{what} name')} of one character",
                repr(short[0]),
                "Look whether the right columns were read; otherwise nothing.",
            )


def _find_names_that_look_alike(table: pl.Series) -> pl.Series:
    """Return names that differ from another only in how signs are encoded, in spaces or in what is not shown."""
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
            f"{spell_count(len(single), 'relation')} with a single fact in train",
            dataset.vocabulary.relation_name(int(single[0])),
            "No rule can be trusted on one fact: merge them with others, or expect nothing.",
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
            f"{count:,} {have} roles of kinds that share nothing else",
            found.describe(dataset.graph, int(found.entities[0])),
            "If these are different things with one name, name them apart (section:python), or rules mix them up.",
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
