"""The name inside the sentence of a cause, to be set apart from the words around it."""

from __future__ import annotations

import re

# As `Cause` writes them; a name may hold the same words, so the last end counts.
SENTENCES = {
    "relation": re.compile(r"(queries for )(.*)( (?:rise|fall) from \S+ to \S+)"),
    "body": re.compile(r"(queries where the body of )(.*)( leads somewhere (?:rise|fall) from \S+ to \S+)"),
}


def split_cause(kind: str, text: str) -> tuple[str, str, str]:
    """Split a sentence around its relation or rule; without one, all of it comes first.

    >>> split_cause("relation", "queries for ~speaks rise from 2% to 5%")
    ('queries for ', '~speaks', ' rise from 2% to 5%')
    >>> split_cause("degree", "queries about entities without facts rise from 0% to 9%")
    ('queries about entities without facts rise from 0% to 9%', '', '')
    """
    found = SENTENCES[kind].fullmatch(text) if kind in SENTENCES else None
    return (found[1], found[2], found[3]) if found else (text, "", "")
