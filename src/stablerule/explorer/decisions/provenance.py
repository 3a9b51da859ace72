"""Decisions as RDF, in the terms of PROV-O: what was concluded from what, by which model and rule, and who decided.

Each decision is a statement (`rdf:Statement`) that two activities made: the model that proposed it, which used the
facts along a path, and the person who decided. The lines are N-Triples, which are Turtle as well.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import quote

from stablerule.errors import StableRuleError
from stablerule.io.iris import BASE, spell_output_cell, spell_output_iri
from stablerule.reasoning.answers import list_facts_along_path
from stablerule.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stablerule.explorer.decisions.deciding import Decision
    from stablerule.io.rdf import IriShortening
    from stablerule.reasoning.answers import Fact

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PROV = "http://www.w3.org/ns/prov#"
XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
COMMENT = "<http://www.w3.org/2000/01/rdf-schema#comment>"
TERM = f"{BASE}term:"  # verdict, rule, probability, score
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def spell_provenance(decisions: Iterable[Decision], names: IriShortening) -> str:
    """Write the decisions, one statement each."""
    lines: dict[str, None] = {}
    for one in decisions:
        lines.update(dict.fromkeys(_list_lines(one, names)))
    return "".join(f"{line} .\n" for line in lines)


def _list_lines(one: Decision, names: IriShortening) -> Iterator[str]:
    statement, deciding, proposing = (_name(kind, one.key) for kind in ("decision", "deciding", "proposing"))
    model, agent = _name("model", one.model or "unnamed"), _name("agent", one.who)
    yield f"{statement} <{RDF}type> <{PROV}Entity>"
    yield from _list_statement_lines(statement, (one.head, one.relation, one.tail), names)
    yield f"{statement} <{TERM}verdict> {_literal(one.verdict)}"
    if one.comment:
        yield f"{statement} {COMMENT} {_literal(one.comment)}"
    yield f"{statement} <{PROV}wasGeneratedBy> {deciding}"
    yield f"{deciding} <{RDF}type> <{PROV}Activity>"
    yield f"{deciding} <{PROV}wasAssociatedWith> {agent}"
    yield f'{deciding} <{PROV}endedAtTime> "{one.at}"^^<{XSD}dateTime>'
    yield f"{deciding} <{PROV}wasInformedBy> {proposing}"
    yield f"{agent} <{RDF}type> <{PROV}Person>"
    yield f"{agent} {LABEL} {_literal(one.who)}"
    yield f"{proposing} <{RDF}type> <{PROV}Activity>"
    yield f"{proposing} <{PROV}wasAssociatedWith> {model}"
    yield f"{model} <{RDF}type> <{PROV}SoftwareAgent>"
    if one.rule:
        yield f"{proposing} <{TERM}rule> {_literal(one.rule)}"
    for term, value in (("probability", one.probability), ("score", one.score)):
        if value is not None:
            yield f'{proposing} <{TERM}{term}> "{value!r}"^^<{XSD}double>'
    for fact in _list_facts(one):
        node = f"<{BASE}fact:{hashlib.sha256(repr(fact).encode(errors='replace')).hexdigest()[:32]}>"
        yield f"{proposing} <{PROV}used> {node}"
        yield f"{statement} <{PROV}wasDerivedFrom> {node}"
        yield f"{node} <{RDF}type> <{PROV}Entity>"
        yield from _list_statement_lines(node, fact, names)


def _list_statement_lines(node: str, fact: Fact, names: IriShortening) -> Iterator[str]:
    head, relation, tail = fact
    yield f"{node} <{RDF}type> <{RDF}Statement>"
    yield f"{node} <{RDF}subject> {spell_output_cell(head, names, BASE)}"
    yield f"{node} <{RDF}predicate> {spell_output_iri(relation, names, BASE)}"
    yield f"{node} <{RDF}object> {spell_output_cell(tail, names, BASE)}"


def _list_facts(one: Decision) -> list[Fact]:
    """Return the facts along the path; none where there is no rule, or the path is not one of its."""
    try:
        return list(list_facts_along_path(Rule.parse(one.rule).body, one.path))
    except (StableRuleError, ValueError):
        return []


def _name(kind: str, text: str) -> str:
    return f"<{BASE}{kind}:{quote(text, safe='')}>"


def _literal(text: str) -> str:
    return '"' + "".join(ESCAPES.get(sign, sign) for sign in text) + '"'
