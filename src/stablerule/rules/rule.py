"""Rule: an immutable value that can be compared, sorted, printed, and parsed from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from itertools import count, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from stablerule.errors import OptionError, ReadError
from stablerule.graph import INVERSE

if TYPE_CHECKING:
    from collections.abc import Iterator

Constants = tuple[str, str | None]

ARROW = "<-"
BETWEEN = "ABCDEFGHIJKLMNOPQRSTUVW"  # variables between X and Y
ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

QUOTED = r"'(?:[^'\\]|\\.)*'"
NAME = re.compile(rf"{QUOTED}|[^\s()',\"\\]+")
ARGUMENT = re.compile(rf"{QUOTED}|[A-Z][A-Z0-9]*")
SPACES = re.compile(r"\s*")
ESCAPED = re.compile(r"\\(u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)


# `order=True` can't compare rules with and without constants, so the order is defined by hand.
@total_ordering
@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: if the body links X and Y, so does the head relation.

    A body is a chain of relations from X to Y; an inverse is spelled with `~`. The second kind of rule has
    constants `(c, d)` and a body of one relation: it predicts r(X, c) from s(X, d), or from s(X, anything)
    if d is None.

    >>> print(Rule("nationality", ("born_in", "city_of")))
    nationality(X, Y) <- born_in(X, A), city_of(A, Y)
    >>> print(Rule("sibling_of", ("~parent_of", "parent_of")))
    sibling_of(X, Y) <- parent_of(A, X), parent_of(A, Y)
    >>> print(Rule("nationality", ("born_in",), constants=("France", "Paris")))
    nationality(X, 'France') <- born_in(X, 'Paris')
    >>> Rule.parse("nationality(X, 'France') <- born_in(X, A)")
    Rule(head_relation='nationality', body=('born_in',), constants=('France', None))
    """

    head_relation: str
    body: tuple[str, ...]
    constants: Constants | None = None

    def __post_init__(self) -> None:
        check_rule_relation("head_relation", self.head_relation)
        if not isinstance(self.body, tuple) or not self.body:
            must = "a tuple of at least one relation name"
            raise OptionError(f"Argument 'body' of Rule must be {must}, got {self.body!r}.")
        for relation in self.body:
            check_rule_relation("body", relation)
        if self.constants is not None:
            self._check_constants(self.constants)

    def _check_constants(self, constants: object) -> None:
        match constants:
            case (str(tail), str() | None as near) if isinstance(constants, tuple) and tail and near != "":
                pass
            case _:
                must = "None or a pair (name, name or None) of non-empty names"
                raise OptionError(f"Argument 'constants' of Rule must be {must}, got {constants!r}.")
        if len(self.body) != 1:
            raise OptionError(
                f"Argument 'body' of Rule must have one relation if there are constants, got {self.body!r}."
            )

    @property
    def length(self) -> int:
        """The number of steps in the body."""
        return len(self.body)

    def __lt__(self, other: Rule) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        return self._order < other._order

    @property
    def _order(self) -> tuple[object, ...]:
        tail, near = self.constants or ("", None)
        return self.head_relation, self.body, self.constants is not None, tail, near is not None, near or ""

    @property
    def atoms(self) -> list[str]:
        """The text of each atom, the head first.

        >>> Rule("speaks", ("born_in",), ("French", "Paris")).atoms
        ["speaks(X, 'French')", "born_in(X, 'Paris')"]
        """
        if self.constants is None:
            head = spell_atom(self.head_relation, "X", "Y")
            variables = ["X", *islice(name_variables(), self.length - 1), "Y"]
        else:
            tail, near = self.constants
            head = spell_atom(self.head_relation, "X", quote_name(tail))
            variables = ["X", "A" if near is None else quote_name(near)]
        steps = zip(self.body, pairwise(variables), strict=True)
        return [head, *(spell_atom(relation, *ends) for relation, ends in steps)]

    def __str__(self) -> str:
        head, *body = self.atoms
        return f"{head} {ARROW} {', '.join(body)}"

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Parse a rule from its text; spaces, and the names of the variables between X and Y, are arbitrary."""
        head, body = read_rule_atoms(text)
        relation, tail = head.step_from("X", text)
        if tail == "Y":
            return cls(relation, tuple(read_rule_chain(body, text)))
        if not is_quoted_name(tail):
            raise ReadError(f"expected X, and Y or a quoted name, in the head of the rule, found {head} in {text!r}")
        if len(body) != 1:
            raise ReadError(f"expected one atom in the body of a rule with a constant, found {len(body)} in {text!r}")
        step, near = body[0].step_from("X", text)
        return cls(
            relation, (step,), (unquote_name(tail, text), unquote_name(near, text) if is_quoted_name(near) else None)
        )


class Step(NamedTuple):
    """A relation or its inverse, and the variable or name that it leads to."""

    relation: str
    to: str


class Atom(NamedTuple):
    """A relation and its two arguments, as in the text."""

    relation: str
    ends: tuple[str, str]

    def step_from(self, variable: str, text: str) -> Step:
        """Return the atom as a step from a variable; from the second argument, it is a step of the inverse."""
        if self.ends.count(variable) != 1:
            raise ReadError(f"expected {variable} once in the atom {self}, in {text!r}")
        there, back = self.ends
        return Step(self.relation, back) if there == variable else Step(INVERSE + self.relation, there)

    def __str__(self) -> str:
        return f"{quote_name_if_needed(self.relation)}({', '.join(self.ends)})"


def check_rule_relation(argument: str, relation: object) -> None:
    """Raise an error unless a value can be the name of a relation or of an inverse."""
    if not isinstance(relation, str) or relation in ("", INVERSE):
        raise OptionError(f"Argument {argument!r} of Rule must be non-empty relation names, got {relation!r}.")
    if relation.removeprefix(INVERSE).startswith(INVERSE):
        raise OptionError(f"Argument {argument!r} of Rule must spell an inverse with one '~', got {relation!r}.")


def spell_atom(relation: str, here: str, there: str) -> str:
    """Spell one atom; an inverse becomes the plain relation with its arguments exchanged."""
    plain = relation.removeprefix(INVERSE)
    return str(Atom(plain, (here, there) if plain == relation else (there, here)))


def name_variables() -> Iterator[str]:
    """Yield variables: A to W, then A1 to W1, and so on."""
    yield from BETWEEN
    for round_number in count(1):
        yield from (f"{letter}{round_number}" for letter in BETWEEN)


def read_rule_chain(body: list[Atom], text: str) -> Iterator[str]:
    """Yield the relations of a body that is a chain from X to Y."""
    at, seen = "X", {"X"}
    for link in body:
        relation, at = link.step_from(at, text)
        if at in seen or "Y" in seen or is_quoted_name(at):
            raise ReadError(f"expected a chain of new variables from X to Y, found {link} in {text!r}")
        seen.add(at)
        yield relation
    if at != "Y":
        raise ReadError(f"expected the last atom of the body to end at Y, found {at} in {text!r}")


def read_rule_atoms(text: str) -> tuple[Atom, list[Atom]]:
    """Split a text into the atom of the head and those of the body."""
    head, at = read_rule_atom(text, 0)
    at = expect_rule_sign(ARROW, text, at)
    found, at = read_rule_atom(text, at)
    body = [found]
    while skip_rule_spaces(text, at) < len(text):
        found, at = read_rule_atom(text, expect_rule_sign(",", text, at))
        body.append(found)
    return head, body


def read_rule_atom(text: str, at: int) -> tuple[Atom, int]:
    """Read `name(first, second)` at a position; return the atom and the position after it."""
    name, at = take_rule_token(NAME, "a relation", text, at)
    here, at = take_rule_token(ARGUMENT, "a variable or a quoted name", text, expect_rule_sign("(", text, at))
    there, at = take_rule_token(ARGUMENT, "a variable or a quoted name", text, expect_rule_sign(",", text, at))
    relation = unquote_name(name, text) if is_quoted_name(name) else name
    if not relation or relation.startswith(INVERSE):
        raise ReadError(f"expected the name of a relation (an inverse is r(Y, X)), found {relation!r} in {text!r}")
    if "''" in (here, there):
        raise ReadError(f"expected a name between the quotes in {text!r}")
    return Atom(relation, (here, there)), expect_rule_sign(")", text, at)


def take_rule_token(pattern: re.Pattern[str], what: str, text: str, at: int) -> tuple[str, int]:
    """Read one token after spaces."""
    at = skip_rule_spaces(text, at)
    match = pattern.match(text, at)
    if match is None:
        raise ReadError(f"expected {what} at character {at + 1}, found {text[at : at + 10]!r} in {text!r}")
    return match[0], match.end()


def expect_rule_sign(sign: str, text: str, at: int) -> int:
    """Skip spaces and one expected sign; return the position after it."""
    at = skip_rule_spaces(text, at)
    if not text.startswith(sign, at):
        raise ReadError(f"expected {sign!r} at character {at + 1}, found {text[at : at + 10]!r} in {text!r}")
    return at + len(sign)


def skip_rule_spaces(text: str, at: int) -> int:
    """Return the position after spaces."""
    spaces = SPACES.match(text, at)
    return spaces.end() if spaces else at


def is_quoted_name(token: str) -> bool:
    """Return whether a token is a quoted name; otherwise it is a variable."""
    return token.startswith("'")


def quote_name_if_needed(name: str) -> str:
    """Quote a name if it contains anything that could be mistaken for a sign of the rule."""
    plain = NAME.fullmatch(name) and ARROW not in name and name.isprintable() and not name.startswith(("'", "#"))
    return name if plain else quote_name(name)


def quote_name(name: str) -> str:
    """Put a name in quotes, and escape characters that can't be printed, so that a rule is always one line."""
    return "'" + "".join(ESCAPES.get(c) or (c if c.isprintable() else escape_character(c)) for c in name) + "'"


def escape_character(character: str) -> str:
    r"""Spell a character by its number, such as \u00a0 for a no-break space."""
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def unquote_name(token: str, text: str) -> str:
    """Return the name inside quotes, the inverse of `quote_name`."""
    plain = {value[1]: key for key, value in ESCAPES.items()}

    def undo(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1 and int(code[1:], 16) <= 0x10FFFF:
            return chr(int(code[1:], 16))
        if code not in plain:
            raise ReadError(f"unknown escape {match[0]!r} in the name {token} in {text!r}")
        return plain[code]

    return ESCAPED.sub(undo, token[1:-1])
