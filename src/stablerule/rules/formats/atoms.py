"""Convert between the rules of other tools, a head and atoms in any order, and ours: chains, or one step with
constants.

A rule is exported only if reading it back gives the same rule.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from stablerule.errors import InputError, WriteError, spell_count
from stablerule.graph import INVERSE
from stablerule.rules.formats.loading import note_left_out_rules
from stablerule.rules.scored import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from stablerule.rules.formats.loading import Parts
    from stablerule.rules.ruleset import RuleSet
    from stablerule.rules.scored import ScoredRule

LINE_SIGNS = "\t\n\r"


class Constant(str):
    """The name of an entity in the place of a variable."""

    __slots__ = ()


class Atom(NamedTuple):
    """A relation and its two arguments: a `Constant`, or a variable as a plain string."""

    relation: str
    first: str
    second: str

    def step_from(self, variable: str) -> tuple[str, str]:
        """Return the atom as a step from a variable: the relation or its inverse, and the other argument."""
        if self.first == variable:
            return self.relation, self.second
        return INVERSE + self.relation, self.first


def express_rule(head: Atom, body: Sequence[Atom]) -> Parts | str:
    """Return the parts of a `Rule`, or the kind of a rule that can't be expressed. In a kind, `*` marks the plural s.

    >>> express_rule(Atom("r", "X", "Y"), [Atom("t", "Y", "A"), Atom("s", "X", "A")])
    ('r', ('s', '~t'), None, None)
    >>> express_rule(Atom("r", Constant("c"), "Y"), [Atom("s", "Y", Constant("d"))])
    ('~r', ('s',), 'c', 'd')
    >>> express_rule(Atom("r", "X", Constant("c")), [Atom("s", "X", "A"), Atom("t", "A", "B")])
    'acyclic rule* of length 2'
    """
    atoms = [head, *body]
    if any(atom.relation.startswith(INVERSE) for atom in atoms):
        return f"rule* with a relation whose name starts with {INVERSE}"
    if any(atom.first == atom.second for atom in atoms):
        return "rule* with an entity linked to itself"
    if not body:
        return "rule* without a body"
    fixed = [isinstance(term, Constant) for term in (head.first, head.second)]
    if all(fixed):
        return "rule* without a variable in the head"
    return _express_constant_rule(head, body) if any(fixed) else _express_chain(head, body)


def _express_chain(head: Atom, body: Sequence[Atom]) -> Parts | str:
    """Follow the atoms from one variable of the head to the other."""
    if any(isinstance(term, Constant) for atom in body for term in (atom.first, atom.second)):
        return f"rule* of length {len(body)} from X to Y with a constant in the body"
    at, steps, left = head.first, [], list(body)
    while left:
        next_ones = [atom for atom in left if at in (atom.first, atom.second)]
        if len(next_ones) != 1:
            break
        left.remove(next_ones[0])
        relation, at = next_ones[0].step_from(at)
        steps.append(relation)
    if left or at != head.second:
        return f"rule* of length {len(body)} without a chain from X to Y"
    return head.relation, tuple(steps), None, None


def _express_constant_rule(head: Atom, body: Sequence[Atom]) -> Parts | str:
    variable = head.first if isinstance(head.second, Constant) else head.second
    head_relation, constant = head.step_from(variable)
    if len(body) > 1:
        return f"acyclic rule* of length {len(body)}"
    if variable not in (body[0].first, body[0].second):
        return "rule* whose body lacks the variable of the head"
    relation, near = body[0].step_from(variable)
    return head_relation, (relation,), str(constant), str(near) if isinstance(near, Constant) else None


def list_rule_atoms(parts: Parts, ends: tuple[str, str], between: Iterable[str]) -> tuple[Atom, list[Atom]] | None:
    """Return the atoms of a rule with a plain head relation; a chain for an inverse is turned.

    ends: the variables of the head. between: the variables inside a chain; None is returned if they run out.
    """
    head_relation, body, constant, near = parts
    plain = head_relation.removeprefix(INVERSE)
    if constant is not None:
        free = ends[0] if plain == head_relation else ends[1]
        other = next(iter(between)) if near is None else Constant(near)
        head = _make_forward_atom(head_relation, free, Constant(constant))
        return head, [_make_forward_atom(body[0], free, other)]
    if plain != head_relation:
        body = turn_rule_body(body)
    inside = list(islice(between, len(body) - 1))
    if len(inside) < len(body) - 1:
        return None
    steps = zip(body, pairwise([ends[0], *inside, ends[1]]), strict=True)
    return Atom(plain, *ends), [_make_forward_atom(relation, *pair) for relation, pair in steps]


def turn_rule_body(body: Sequence[str]) -> tuple[str, ...]:
    """Return the inverse body: r <- body means the same for (X, Y) as ~r <- inverse body for (Y, X).

    >>> turn_rule_body(("s", "~t"))
    ('t', '~s')
    """
    return tuple(r.removeprefix(INVERSE) if r.startswith(INVERSE) else INVERSE + r for r in reversed(body))


def _make_forward_atom(relation: str, here: str, there: str) -> Atom:
    plain = relation.removeprefix(INVERSE)
    return Atom(plain, here, there) if plain == relation else Atom(plain, there, here)


@dataclass
class RuleExporter:
    """Spell rules in another tool's format, and count those that have no spelling.

    as_atoms, spell, parse: conversions to that format and back. A name may contain signs with a meaning in that format,
    so each line is parsed again, and is written only if this gives the same rule.
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
            elif (text := self._spell_rule(scored)) is None:
                self.left_out[f"rule* with a name or length that {self.target} does not allow"] += 1
            elif text in seen:
                self.left_out["chain* for an inverse, equivalent to another rule"] += 1
            else:
                seen.add(text)
                self.written += 1
                yield scored, text

    def _spell_rule(self, scored: ScoredRule) -> str | None:
        rule = scored.rule
        constant, near = rule.constants or (None, None)
        atoms = self.as_atoms((rule.head_relation, rule.body, constant, near))
        text = self.spell(*atoms) if atoms else "\n"
        if any(sign in text for sign in LINE_SIGNS):
            return None
        try:
            same = self.parse(text) == turn_inverse_head((rule.head_relation, rule.body, constant, near))
        except InputError:
            return None
        return text if same else None

    def finish(self, rules: RuleSet, kept: tuple[str, ...]) -> tuple[str, ...]:
        """Return notes on skipped rules; writing none at all is an error."""
        notes = note_left_out_rules(self.left_out)
        if len(rules) and not self.written:
            raise WriteError(
                f"None of {spell_count(len(rules), 'rule')} can be written in {self.target}: {' '.join(notes)}"
            )
        frame = rules.to_frame()
        lost = [name for name in NUMBERS if name not in kept and frame[name].null_count() < len(frame)]
        if lost:
            self.notes.append(f"{self.target} has no {', '.join(lost)}.")
        return (*notes, *self.notes)


def divide_rule_counts(part: float, whole: float) -> float | None:
    """Return part / whole, or None if it is not finite."""
    share = part / whole if whole else math.inf
    return share if math.isfinite(share) else None


def turn_inverse_head(parts: Parts) -> Parts:
    """Turn a chain for an inverse relation into one for the plain relation.

    >>> turn_inverse_head(("~r", ("s", "~t"), None, None))
    ('r', ('t', '~s'), None, None)
    """
    head_relation, body, constant, _ = parts
    if constant is None and head_relation.startswith(INVERSE):
        return head_relation.removeprefix(INVERSE), turn_rule_body(body), None, None
    return parts
