"""Spell names in N-Triples: IRIs, blank nodes and literals unchanged, and any other name after a base."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from stablerule.io.rdf import IriShortening

BASE = "urn:stablerule:"

# The characters of an IRI besides its delimiters: RFC 3987 without the rare ones.
_FAR = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd"
_CHARACTER = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@{_FAR}]|%[0-9A-Fa-f]{{2}})"
IRI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:"
    rf"(?://(?:[A-Za-z0-9\-._~{_FAR}]|%[0-9A-Fa-f]{{2}})+(?::[0-9]*)?(?=[/?#]|\Z)|(?!//))"
    rf"(?:{_CHARACTER}|/)*(?:\?(?:{_CHARACTER}|[/?])*)?(?:#(?:{_CHARACTER}|[/?])*)?\Z"
)
NOT_IN_A_NAME = re.compile(rf"[^A-Za-z0-9\-._~!$&'()*+,;=:@/{_FAR}]")
BLANK_NODE = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_\-])?\Z")
LITERAL = re.compile(
    r'"(?:[^"\\\n\r]|\\[tbnrf"\'\\]|\\u[0-9A-Fa-f]{4})*"'
    r"(?:@[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\^\^<[A-Za-z][A-Za-z0-9+.\-]*:[A-Za-z0-9\-._~/#]*>)?\Z"
)


def is_output_iri(name: str) -> bool:
    """Return whether a name is an IRI.

    >>> is_output_iri("https://example.org/New%20York"), is_output_iri("New York")
    (True, False)
    """
    return IRI.match(name) is not None


def spell_output_cell(name: str, names: IriShortening, base: str) -> str:
    """Spell an entity in N-Triples; a plain name is percent-encoded after the base.

    >>> from stablerule.io.rdf import IriShortening
    >>> spell_output_cell("New York", IriShortening({}), BASE), spell_output_cell('"12"', IriShortening({}), BASE)
    ('<urn:stablerule:New%20York>', '"12"')
    """
    return name if BLANK_NODE.match(name) or LITERAL.match(name) else spell_output_iri(name, names, base)


def spell_output_iri(name: str, names: IriShortening, base: str) -> str:
    """Spell a name as an IRI, with its prefix written in full."""
    full = names.expand(name)
    if full is not None and is_output_iri(full):
        return f"<{full}>"
    return f"<{base}{NOT_IN_A_NAME.sub(lambda found: quote(found[0], safe=''), name)}>"
