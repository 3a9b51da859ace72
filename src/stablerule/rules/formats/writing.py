"""Rules go out to other tools only if they come back the same."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stablerule.errors import InputError, WriteError
from stablerule.graph import INVERSE
from stablerule.rules.formats.atoms import turned
from stablerule.rules.formats.loading import left_out_notes
from stablerule.rules.scored import NUMBERS, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stablerule.rules.formats.atoms import Atom
    from stablerule.rules.formats.loading import Parts
    from stablerule.rules.ruleset import RuleSet
    from stablerule.rules.scored import ScoredRule

LINE_SIGNS = "\t\n\r"


@dataclass
class Exporter:
    """Spells rules in another tool's way, and counts those that it can't spell.

    as_atoms, spell, parse: the other tool's way, forwards and back. A name may hold signs that mean something there, so
    each line is read again; if that gives another rule, the line is not written.
    """

    target: str
    as_atoms: Callable[[Parts], tuple[Atom, list[Atom]] | None]
    spell: Callable[[Atom, list[Atom]], str]
    parse: Callable[[str], Parts | str]
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    written: int = 0

    def spell_all(self, rules: RuleSet, needs: tuple[str, ...] = ()) -> Iterator[tuple[ScoredRule, str]]:
        """Yield each rule that can be written, with its text."""
        seen: set[str] = set()
        for scored in rules:
            if any(getattr(scored, name) is None for name in needs):
                self.left_out[f"rule* without {' and '.join(needs)}"] += 1
            elif (text := self._text(scored)) is None:
                self.left_out[f"rule* with a name or a length without a spelling in {self.target}"] += 1
            elif text in seen:
                self.left_out["chain* for an inverse with the same meaning as another rule"] += 1
            else:
                seen.add(text)
                self.written += 1
                yield scored, text

    def _text(self, scored: ScoredRule) -> str | None:
        rule = scored.rule
        constant, near = rule.constants or (None, None)
        atoms = self.as_atoms((rule.head_relation, rule.body, constant, near))
        text = self.spell(*atoms) if atoms else "\n"
        if any(sign in text for sign in LINE_SIGNS):
            return None
        try:
            same = self.parse(text) == plain_head((rule.head_relation, rule.body, constant, near))
        except InputError:
            return None
        return text if same else None

    def finish(self, rules: RuleSet, kept: tuple[str, ...]) -> tuple[str, ...]:
        """Say what was left out; nothing written at all is an error."""
        notes = left_out_notes(self.left_out)
        if len(rules) and not self.written:
            raise WriteError(
                f"None of {counted(len(rules), 'rule')} can be written as {self.target}: {' '.join(notes)}"
            )
        frame = rules.to_frame()
        lost = [name for name in NUMBERS if name not in kept and frame[name].null_count() < len(frame)]
        if lost:
            self.notes.append(f"{self.target} have no place for {', '.join(lost)}.")
        return (*notes, *self.notes)


def ratio(part: float, whole: float) -> float | None:
    """Divide, or return None where nothing comes of it."""
    share = part / whole if whole else math.inf
    return share if math.isfinite(share) else None


def plain_head(parts: Parts) -> Parts:
    """Turn a chain for an inverse around, so that it is one for the relation.

    >>> plain_head(("~r", ("s", "~t"), None, None))
    ('r', ('t', '~s'), None, None)
    """
    head_relation, body, constant, _ = parts
    if constant is None and head_relation.startswith(INVERSE):
        return head_relation.removeprefix(INVERSE), turned(body), None, None
    return parts
