"""Words that are written from right to left, set apart so that they do not turn what stands around them."""

from __future__ import annotations

import re

LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
# Without a comma, a bracket or an arrow: those stand between names, in a rule or a sentence.
TURNED = re.compile(f"([{LETTERS}]+(?:[ _.0-9-]*[{LETTERS}]+)*)")


def split_directions(text: str) -> list[tuple[str, bool]]:
    """Cut a text into runs, each with whether it is written from right to left.

    >>> split_directions("r <- ~\u05d0\u05d1")
    [('r <- ~', False), ('אב', True)]
    """
    return [(run, place % 2 == 1) for place, run in enumerate(TURNED.split(text)) if run]
