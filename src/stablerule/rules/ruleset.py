"""A set of rules with their numbers, kept as one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import index
from typing import Literal, TypeAlias

import polars as pl

from stablerule.errors import OptionError, ReadError
from stablerule.rules.checking import Repeated, check_frame, make_frame
from stablerule.rules.difference import RuleDiff
from stablerule.rules.rule import Rule
from stablerule.rules.scored import KEY, NUMBERS, ScoredRule, counted

Kind = Literal["chains", "constants"]
Numbers: TypeAlias = Mapping[str, float | None]
Entry: TypeAlias = Rule | ScoredRule | tuple[Rule, Numbers]


class RuleSet:
    """Distinct rules, each with its numbers, in an order.

    Nothing changes a set: every verb returns a new one. Rules stand by head relation, the best score first (the best
    confidence where no rule has a score); `sort` and `top` give another order, which `filter` keeps. Two sets are
    equal when they hold the same rules with the same numbers, in whatever order. A confidence that is not given
    follows from support and body count.

    >>> rules = RuleSet([
    ...     (Rule("nationality", ("born_in", "city_of")), {"score": 0.9, "support": 12, "body_count": 15}),
    ...     (Rule("nationality", ("lives_in", "city_of")), {"score": 0.7, "support": 20, "body_count": 95}),
    ...     (Rule("nationality", ("born_in",), ("France", "Paris")), {"support": 3, "body_count": 3}),
    ... ])
    >>> rules
    RuleSet(3 rules for 1 relation)
    >>> for rule in rules.filter(min_confidence=0.3).sort(by="confidence"):
    ...     print(rule)
    nationality(X, Y) <- born_in(X, A), city_of(A, Y)  score=0.9 support=12 body_count=15 confidence=0.6
    nationality(X, 'France') <- born_in(X, 'Paris')  support=3 body_count=3 confidence=0.375
    >>> Rule("nationality", ("born_in", "city_of")) in rules
    True
    >>> rules.describe()
    '3 rules for 1 relation: 1 of length 1, 2 of length 2; 1 with constants'
    """

    __slots__ = ("_frame",)
    _frame: pl.DataFrame

    def __init__(self, rules: Iterable[Entry] = ()) -> None:
        entries = [_scored(entry) for entry in rules]
        columns: dict[str, list[object]] = {
            "head_relation": [e.rule.head_relation for e in entries],
            "body": [list(e.rule.body) for e in entries],
            "constant": [e.rule.constants and e.rule.constants[0] for e in entries],
            "body_constant": [e.rule.constants and e.rule.constants[1] for e in entries],
        }
        columns |= {name: [getattr(e, name) for e in entries] for name in NUMBERS}
        try:
            self._frame = _in_order(check_frame(make_frame(columns)))
        except ReadError as error:
            raise OptionError(f"Argument 'rules' of RuleSet: {error.problem}") from error

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, repeated: Repeated = "error") -> RuleSet:
        """Take rules from a frame with the columns of `to_frame`; those of the numbers and constants may be missing.

        repeated: what a rule is that comes again: an "error", or left out because the "first" counts.

        >>> RuleSet.from_frame(pl.DataFrame({"head_relation": ["r"], "body": [["s", "~t"]], "score": [0.5]}))[0]
        ScoredRule(rule=Rule(head_relation='r', body=('s', '~t'), constants=None), score=0.5, support=None, \
body_count=None, confidence=None, pca_confidence=None, head_coverage=None, confidence_error=None)
        """
        return cls._trusted(_in_order(check_frame(frame, repeated=repeated)))

    @classmethod
    def _trusted(cls, frame: pl.DataFrame) -> RuleSet:
        rules = cls.__new__(cls)
        rules._frame = frame
        return rules

    def to_frame(self) -> pl.DataFrame:
        """All rules as a table in their order: head_relation, body, constant, body_constant, then the numbers."""
        return self._frame.clone()

    @property
    def relations(self) -> tuple[str, ...]:
        """The head relations, sorted."""
        return tuple(self._frame["head_relation"].unique().sort())

    def filter(
        self,
        *,
        head_relation: str | Iterable[str] | None = None,
        min_score: float | None = None,
        min_confidence: float | None = None,
        min_support: float | None = None,
        max_length: int | None = None,
        kind: Kind | None = None,
    ) -> RuleSet:
        """Keep the rules that meet every condition; a number that is not known meets none."""
        conditions = [pl.lit(value=True)]
        if head_relation is not None:
            wanted = [head_relation] if isinstance(head_relation, str) else list(head_relation)
            conditions.append(pl.col("head_relation").is_in(pl.Series(wanted, dtype=pl.String).implode()))
        least = {"score": min_score, "confidence": min_confidence, "support": min_support}
        conditions += [pl.col(name) >= bound for name, bound in least.items() if bound is not None]
        if max_length is not None:
            conditions.append(pl.col("body").list.len() <= max_length)
        if kind not in (None, "chains", "constants"):
            raise OptionError(f"Argument 'kind' of filter must be 'chains' or 'constants', got {kind!r}.")
        if kind is not None:
            chain = pl.col("constant").is_null()
            conditions.append(chain if kind == "chains" else ~chain)
        return self._trusted(self._frame.filter(conditions))

    def sort(self, by: str | None = None, *, descending: bool = True) -> RuleSet:
        """Order all rules by a number, unknown ones last; equal ones stand in the order of the rules.

        by: score, support, confidence, ...; None takes the score, or the confidence where no rule has a score.
        """
        return self._trusted(_sorted(self._frame, _number(by, self._frame), descending=descending))

    def top(self, k: int, by: str | None = None) -> RuleSet:
        """Return the k best rules of all, the best first."""
        return self._trusted(self.sort(by)._frame.head(_count(k)))

    def top_per_relation(self, k: int, by: str | None = None) -> RuleSet:
        """Return the k best rules for each head relation, by relation, the best first."""
        frame = _sorted(self._frame, _number(by, self._frame), first=["head_relation"])
        return self._trusted(frame.filter(pl.int_range(pl.len()).over("head_relation") < _count(k)))

    def per_relation(self) -> dict[str, RuleSet]:
        """Return the rules for each head relation, relations sorted."""
        parts = self._frame.partition_by("head_relation", as_dict=True, maintain_order=True)
        return {relation: self._trusted(parts[relation,]) for relation in self.relations}

    def union(self, other: RuleSet) -> RuleSet:
        """Return the rules of both; one that is in both keeps its numbers from this set."""
        new = other._frame.join(self._frame, on=KEY, how="anti", nulls_equal=True)
        return self._trusted(_in_order(pl.concat([self._frame, new])))

    def diff(self, other: RuleSet, by: str | None = None) -> RuleDiff:
        """Say which rules are only in this set, only in the other, and how a number changed for the others.

        >>> old = RuleSet([(Rule("r", ("s",)), {"score": 0.5}), (Rule("r", ("t",)), {"score": 0.25})])
        >>> new = RuleSet([(Rule("r", ("s",)), {"score": 0.75})])
        >>> print(old.diff(new))
        1 only in this, 0 only in that, 1 in both; score changed for 1, by 0.25 at most
        """
        here, there = self._frame, other._frame
        return RuleDiff.of(here, there, _number(by, here), self._trusted)

    def describe(self) -> str:
        """Return one line with the number of rules, by length and kind."""
        lengths = self._frame["body"].list.len().value_counts().sort("body").rows()
        with_constants = len(self) - self._frame["constant"].null_count()
        by_length = ", ".join(f"{n:,} of length {length}" for length, n in lengths)
        behind = f"; {with_constants:,} with constants" if with_constants else ""
        return self._counts() + (f": {by_length}{behind}" if by_length else "")

    def _counts(self) -> str:
        relations = self._frame["head_relation"].n_unique()
        return f"{counted(len(self), 'rule')} for {counted(relations, 'relation')}"

    def __len__(self) -> int:
        return len(self._frame)

    def __iter__(self) -> Iterator[ScoredRule]:
        return map(_from_row, self._frame.iter_rows())

    def __getitem__(self, place: int) -> ScoredRule:
        if not -len(self) <= index(place) < len(self):
            raise IndexError(f"no rule at {place}: there are {len(self):,}")
        return _from_row(self._frame.row(place))

    def __contains__(self, rule: object) -> bool:
        if not isinstance(rule, Rule):
            return False
        constant, near = rule.constants or (None, None)
        try:
            found = self._frame.filter(
                pl.col("head_relation") == rule.head_relation,
                pl.col("body") == pl.lit(list(rule.body), dtype=pl.List(pl.String)),
                pl.col("constant").eq_missing(pl.lit(constant, dtype=pl.String)),
                pl.col("body_constant").eq_missing(pl.lit(near, dtype=pl.String)),
            )
        except UnicodeEncodeError:  # a name that no table can hold
            return False
        return len(found) == 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleSet):
            return NotImplemented
        return len(self) == len(other) and self._frame.sort(KEY).equals(other._frame.sort(KEY))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RuleSet({self._counts()})"


def _scored(entry: Entry) -> ScoredRule:
    match entry:
        case ScoredRule():
            return entry
        case Rule():
            return ScoredRule(entry)
        case (Rule() as rule, Mapping() as numbers):
            if unknown := [name for name in numbers if name not in NUMBERS]:
                raise OptionError(f"Numbers of a rule are {', '.join(NUMBERS)}; got {unknown[0]!r}.")
            return ScoredRule(rule, **numbers)
    raise OptionError(f"Argument 'rules' of RuleSet must hold Rule, ScoredRule or (Rule, numbers), got {entry!r}.")


def _from_row(row: tuple[object, ...]) -> ScoredRule:
    head_relation, body, constant, near, *numbers = row
    constants = None if constant is None else (constant, near)
    return ScoredRule(Rule(head_relation, tuple(body), constants), *numbers)  # type: ignore[arg-type]


def _number(by: str | None, frame: pl.DataFrame) -> str:
    if by is None:
        return "confidence" if frame["score"].null_count() == len(frame) else "score"
    if by not in NUMBERS:
        raise OptionError(f"Argument 'by' must be one of {', '.join(NUMBERS)}, got {by!r}.")
    return by


def _count(k: int) -> int:
    if index(k) < 0:
        raise OptionError(f"Argument 'k' must be 0 or more, got {k}.")
    return index(k)


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    return _sorted(frame, _number(None, frame), first=["head_relation"])


def _sorted(frame: pl.DataFrame, by: str, *, first: Iterable[str] = (), descending: bool = True) -> pl.DataFrame:
    keys = [*first, by, *KEY]
    # Nulls of `by` are last; of constants they are first, as `Rule` orders itself.
    return frame.sort(keys, descending=[descending and k == by for k in keys], nulls_last=[k == by for k in keys])
