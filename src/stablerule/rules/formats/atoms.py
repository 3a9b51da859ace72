"""Rules of other tools are a head and a list of atoms in any order; ours are chains, or one step with constants."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from stablerule.graph import INVERSE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stablerule.rules.formats.loading import Parts


class Constant(str):
    """The name of an entity, where a variable could stand; in no format do the two look the same."""

    __slots__ = ()


class Atom(NamedTuple):
    """A relation and what stands in its two places: a `Constant`, or a variable as a plain string."""

    relation: str
    first: str
    second: str

    def step_from(self, variable: str) -> tuple[str, str]:
        """Read the atom as a step from a variable: the relation or its inverse, and where it leads."""
        if self.first == variable:
            return self.relation, self.second
        return INVERSE + self.relation, self.first


def express(head: Atom, body: Sequence[Atom]) -> Parts | str:
    """Say a rule in our way, or say its kind where that is not possible. In a kind, `*` stands for a plural s.

    >>> express(Atom("r", "X", "Y"), [Atom("t", "Y", "A"), Atom("s", "X", "A")])
    ('r', ('s', '~t'), None, None)
    >>> express(Atom("r", Constant("c"), "Y"), [Atom("s", "Y", Constant("d"))])
    ('~r', ('s',), 'c', 'd')
    >>> express(Atom("r", "X", Constant("c")), [Atom("s", "X", "A"), Atom("t", "A", "B")])
    'acyclic rule* of length 2'
    """
    atoms = [head, *body]
    if any(atom.relation.startswith(INVERSE) for atom in atoms):
        return f"rule* with a relation whose name begins with {INVERSE}"
    if any(atom.first == atom.second for atom in atoms):
        return "rule* about an entity and itself"
    if not body:
        return "rule* without a body"
    fixed = [isinstance(term, Constant) for term in (head.first, head.second)]
    if all(fixed):
        return "rule* without a variable in the head"
    return _with_constant(head, body) if any(fixed) else _chain(head, body)


def _chain(head: Atom, body: Sequence[Atom]) -> Parts | str:
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


def _with_constant(head: Atom, body: Sequence[Atom]) -> Parts | str:
    variable = head.first if isinstance(head.second, Constant) else head.second
    head_relation, constant = head.step_from(variable)
    if len(body) > 1:
        return f"acyclic rule* of length {len(body)}"
    if variable not in (body[0].first, body[0].second):
        return "rule* whose body does not speak of the variable in the head"
    relation, near = body[0].step_from(variable)
    return head_relation, (relation,), str(constant), str(near) if isinstance(near, Constant) else None


def as_atoms(parts: Parts, ends: tuple[str, str], between: Iterable[str]) -> tuple[Atom, list[Atom]] | None:
    """Give the atoms of a rule, the head always forwards: a chain for an inverse is turned around.

    ends: the variables of the head; between: those inside of a chain, None is returned when they run out.
    """
    head_relation, body, constant, near = parts
    plain = head_relation.removeprefix(INVERSE)
    if constant is not None:
        free = ends[0] if plain == head_relation else ends[1]
        other = next(iter(between)) if near is None else Constant(near)
        head = _forwards(head_relation, free, Constant(constant))
        return head, [_forwards(body[0], free, other)]
    if plain != head_relation:
        body = turned(body)
    inside = list(islice(between, len(body) - 1))
    if len(inside) < len(body) - 1:
        return None
    steps = zip(body, pairwise([ends[0], *inside, ends[1]]), strict=True)
    return Atom(plain, *ends), [_forwards(relation, *pair) for relation, pair in steps]


def turned(body: Sequence[str]) -> tuple[str, ...]:
    """Walk a body the other way: r <- body says the same of (X, Y) as ~r <- turned body of (Y, X).

    >>> turned(("s", "~t"))
    ('t', '~s')
    """
    return tuple(r.removeprefix(INVERSE) if r.startswith(INVERSE) else INVERSE + r for r in reversed(body))


def _forwards(relation: str, here: str, there: str) -> Atom:
    plain = relation.removeprefix(INVERSE)
    return Atom(plain, here, there) if plain == relation else Atom(plain, there, here)
