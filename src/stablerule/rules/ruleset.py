"""RuleSet: an immutable set of rules with their measures, stored as one table, and the difference of two sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import index
from typing import Literal, TypeAlias

import polars as pl

from stablerule.errors import OptionError, ReadError, spell_count
from stablerule.graph import invert_relation_name
from stablerule.rules.rule import Rule
from stablerule.rules.scored import (
    GAIN,
    KEY,
    NUMBERS,
    SHOWN,
    Repeated,
    ScoredRule,
    check_rule_frame,
    make_rule_frame,
    spell_rules_as_html,
)

Kind = Literal["chains", "constants"]
Numbers: TypeAlias = Mapping[str, float | None]
Entry: TypeAlias = Rule | ScoredRule | tuple[Rule, Numbers]


class RuleSet:
    """Distinct rules with their measures, in an order.

    A set never changes: every method returns a new one. Rules are sorted by head relation, the best score first (the
    best confidence if no rule has a score). `sort` and `top` give another order, which `filter` keeps. Two sets are
    equal if they have the same rules with the same measures, in any order. A missing confidence is computed from
    support and body count.

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
        entries = [_make_scored_rule(entry) for entry in rules]
        columns: dict[str, list[object]] = {
            "head_relation": [e.rule.head_relation for e in entries],
            "body": [list(e.rule.body) for e in entries],
            "constant": [e.rule.constants and e.rule.constants[0] for e in entries],
            "body_constant": [e.rule.constants and e.rule.constants[1] for e in entries],
        }
        columns |= {name: [getattr(e, name) for e in entries] for name in NUMBERS}
        try:
            self._frame = _put_rules_in_order(check_rule_frame(make_rule_frame(columns)))
        except ReadError as error:
            raise OptionError(f"Argument 'rules' of RuleSet: {error.problem}") from error

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, repeated: Repeated = "error") -> RuleSet:
        """Make a set from a frame with the columns of `to_frame`; columns of measures and constants are optional.

        repeated: "error" raises an error for a repeated rule, "first" keeps the first one.

        >>> RuleSet.from_frame(pl.DataFrame({"head_relation": ["r"], "body": [["s", "~t"]], "score": [0.5]}))[0]
        ScoredRule(rule=Rule(head_relation='r', body=('s', '~t'), constants=None), score=0.5, support=None, \
body_count=None, confidence=None, pca_confidence=None, head_coverage=None, base_rate=None, confidence_low=None, \
confidence_high=None)
        """
        return cls._from_checked(_put_rules_in_order(check_rule_frame(frame, repeated=repeated)))

    @classmethod
    def _from_checked(cls, frame: pl.DataFrame) -> RuleSet:
        rules = cls.__new__(cls)
        rules._frame = frame
        return rules

    def to_frame(self) -> pl.DataFrame:
        """Return all rules as a frame, in order: head_relation, body, constant, body_constant, then the measures."""
        return self._frame.clone()

    def has(self, number: str) -> bool:
        """Return whether any rule has a measure; `gain` needs a confidence and a base rate."""
        return number in self._with_gain().columns and self._with_gain()[number].count() > 0

    def _with_gain(self) -> pl.DataFrame:
        return self._frame.with_columns(measure_gain().alias(GAIN))

    @property
    def relations(self) -> tuple[str, ...]:
        """The head relations, sorted."""
        return tuple(self._frame["head_relation"].unique().sort())

    def filter(
        self,
        *,
        head_relation: str | Iterable[str] | None = None,
        body_relation: str | None = None,
        min_score: float | None = None,
        min_confidence: float | None = None,
        min_support: float | None = None,
        max_length: int | None = None,
        kind: Kind | None = None,
    ) -> RuleSet:
        """Return the rules that meet every condition; an unknown measure meets none.

        body_relation: a relation in the body, itself or its inverse.
        """
        conditions = [pl.lit(value=True)]
        if head_relation is not None:
            wanted = [head_relation] if isinstance(head_relation, str) else list(head_relation)
            conditions.append(pl.col("head_relation").is_in(pl.Series(wanted, dtype=pl.String).implode()))
        if body_relation is not None:
            either = pl.Series([body_relation, invert_relation_name(body_relation)], dtype=pl.String).implode()
            conditions.append(pl.col("body").list.eval(pl.element().is_in(either)).list.any())
        least = {"score": min_score, "confidence": min_confidence, "support": min_support}
        conditions += [pl.col(name) >= bound for name, bound in least.items() if bound is not None]
        if max_length is not None:
            conditions.append(pl.col("body").list.len() <= max_length)
        if kind not in (None, "chains", "constants"):
            raise OptionError(f"Argument 'kind' of filter must be 'chains' or 'constants', got {kind!r}.")
        if kind is not None:
            chain = pl.col("constant").is_null()
            conditions.append(chain if kind == "chains" else ~chain)
        return self._from_checked(self._frame.filter(conditions))

    def sort(self, by: str | None = None, *, descending: bool = True) -> RuleSet:
        """Sort all rules by a measure, unknown values last; rules with equal values keep the order of rules.

        by: score, support, confidence, ... or gain, see `ScoredRule`; None is the score, or the confidence if no rule
            has a score.
        """
        return self._from_checked(
            _sort_rule_frame(self._frame, _choose_rule_number(by, self._frame), descending=descending)
        )

    def top(self, k: int, by: str | None = None) -> RuleSet:
        """Return the k best rules, the best first."""
        return self._from_checked(self.sort(by)._frame.head(_check_rule_count(k)))

    def top_per_relation(self, k: int, by: str | None = None) -> RuleSet:
        """Return the k best rules for each head relation, by relation, the best first."""
        frame = _sort_rule_frame(self._frame, _choose_rule_number(by, self._frame), first=["head_relation"])
        return self._from_checked(frame.filter(pl.int_range(pl.len()).over("head_relation") < _check_rule_count(k)))

    def drop_twins(self) -> RuleSet:
        """Keep only the shortest of rules with the same conclusion and counts, which nearly always link the same pairs.

        Rules without counts are kept, and so is the order.

        >>> counts = {"support": 8, "body_count": 9}
        >>> RuleSet([(Rule("r", ("s",)), counts), (Rule("r", ("s", "t", "~t")), counts)]).drop_twins()
        RuleSet(1 rule for 1 relation)
        """
        counts = "support", "body_count"
        shortest = self._frame.sort(pl.col("body").list.len(), maintain_order=True)
        again = ~pl.struct("head_relation", "constant", *counts).is_first_distinct()
        return self._from_checked(
            _put_rules_in_order(shortest.filter(~again | pl.any_horizontal(pl.col(*counts).is_null())))
        )

    def per_relation(self) -> dict[str, RuleSet]:
        """Return the rules for each head relation, relations sorted."""
        parts = self._frame.partition_by("head_relation", as_dict=True, maintain_order=True)
        return {relation: self._from_checked(parts[relation,]) for relation in self.relations}

    def union(self, other: RuleSet) -> RuleSet:
        """Return the rules of both sets; a rule in both keeps its measures from this set."""
        return self._from_checked(_put_rules_in_order(pl.concat([self._frame, other._without(self)._frame])))

    def find(self, rule: Rule) -> ScoredRule | None:
        """Return a rule with its numbers; None where the set does not have it.

        >>> RuleSet([(Rule("r", ("s",)), {"score": 0.5})]).find(Rule("r", ("s",))).score
        0.5
        """
        constant, near = rule.constants or (None, None)
        try:
            found = self._frame.filter(
                pl.col("head_relation") == rule.head_relation,
                pl.col("body") == pl.lit(list(rule.body), dtype=pl.List(pl.String)),
                pl.col("constant").eq_missing(pl.lit(constant, dtype=pl.String)),
                pl.col("body_constant").eq_missing(pl.lit(near, dtype=pl.String)),
            )
        except UnicodeEncodeError:  # a name that can't be in a table
            return None
        return _read_rule_row(found.row(0)) if len(found) else None

    def diff(self, other: RuleSet, by: str | None = None) -> RuleDiff:
        """Return the rules only in this set, those only in the other, and how a measure changed for the others.

        >>> old = RuleSet([(Rule("r", ("s",)), {"score": 0.5}), (Rule("r", ("t",)), {"score": 0.25})])
        >>> new = RuleSet([(Rule("r", ("s",)), {"score": 0.75})])
        >>> print(old.diff(new))
        1 only in this, 0 only in that, 1 in both; score changed for 1, by at most 0.25
        """
        here, there = self._with_gain(), other._with_gain()
        by = _choose_rule_number(by, here)
        both = here.select(*KEY, pl.col(by).alias("this")).join(
            there.select(*KEY, pl.col(by).alias("that")), on=KEY, how="inner", nulls_equal=True
        )
        both = both.with_columns(change=pl.col("that") - pl.col("this"))
        first = [True, *[False] * len(KEY)]
        return RuleDiff(
            only_this=self._without(other),
            only_that=other._without(self),
            both=both.sort(pl.col("change").abs(), *KEY, descending=first, nulls_last=first),
            by=by,
        )

    def _without(self, other: RuleSet) -> RuleSet:
        rest = self._frame.join(other._frame, on=KEY, how="anti", nulls_equal=True, maintain_order="left")
        return self._from_checked(rest)

    def describe(self) -> str:
        """Return one line with the number of rules, by length and kind."""
        lengths = self._frame["body"].list.len().value_counts().sort("body").rows()
        with_constants = len(self) - self._frame["constant"].null_count()
        by_length = ", ".join(f"{n:,} of length {length}" for length, n in lengths)
        behind = f"; {with_constants:,} with constants" if with_constants else ""
        return self._count_rules() + (f": {by_length}{behind}" if by_length else "")

    def _count_rules(self) -> str:
        relations = self._frame["head_relation"].n_unique()
        return f"{spell_count(len(self), 'rule')} for {spell_count(relations, 'relation')}"

    def __len__(self) -> int:
        return len(self._frame)

    def __iter__(self) -> Iterator[ScoredRule]:
        return map(_read_rule_row, self._frame.iter_rows())

    def __getitem__(self, place: int) -> ScoredRule:
        if not -len(self) <= index(place) < len(self):
            raise IndexError(f"no rule at {place}: there are {len(self):,}")
        return _read_rule_row(self._frame.row(place))

    def __contains__(self, rule: object) -> bool:
        return isinstance(rule, Rule) and self.find(rule) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleSet):
            return NotImplemented
        return len(self) == len(other) and self._frame.sort(KEY).equals(other._frame.sort(KEY))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RuleSet({self._count_rules()})"

    def _repr_html_(self) -> str:
        """Show the first rules as a table, in a notebook."""
        return spell_rules_as_html(self.describe(), islice(self, SHOWN), len(self) - SHOWN)


@dataclass(frozen=True, eq=False)
class RuleDiff:
    """The result of `RuleSet.diff`.

    only_this, only_that: rules that only one of the sets has.
    both: a row for each common rule, with its measure in `this`, in `that`, and the `change`; the largest first.
    by: the measure that was compared.
    """

    only_this: RuleSet
    only_that: RuleSet
    both: pl.DataFrame
    by: str

    def __str__(self) -> str:
        counts = (
            f"{len(self.only_this):,} only in this, {len(self.only_that):,} only in that, {len(self.both):,} in both"
        )
        changes = [abs(change) for change in self.both["change"] if change]
        most = f", by at most {max(changes):.4g}" if changes else ""
        return f"{counts}; {self.by} changed for {len(changes):,}{most}"


def _make_scored_rule(entry: Entry) -> ScoredRule:
    match entry:
        case ScoredRule():
            return entry
        case Rule():
            return ScoredRule(entry)
        case (Rule() as rule, Mapping() as numbers):
            if unknown := [name for name in numbers if name not in NUMBERS]:
                raise OptionError(f"Measures of a rule are {', '.join(NUMBERS)}; got {unknown[0]!r}.")
            return ScoredRule(rule, **numbers)
    raise OptionError(f"Argument 'rules' of RuleSet must be Rule, ScoredRule or (Rule, measures), got {entry!r}.")


def _read_rule_row(row: tuple[object, ...]) -> ScoredRule:
    head_relation, body, constant, near, *numbers = row
    constants = None if constant is None else (constant, near)
    return ScoredRule(Rule(head_relation, tuple(body), constants), *numbers)  # type: ignore[arg-type]


def _choose_rule_number(by: str | None, frame: pl.DataFrame) -> str:
    if by is None:
        return "confidence" if frame["score"].null_count() == len(frame) else "score"
    if by not in (*NUMBERS, GAIN):
        raise OptionError(f"Argument 'by' must be one of {', '.join((*NUMBERS, GAIN))}, got {by!r}.")
    return by


def _check_rule_count(k: int) -> int:
    if index(k) < 0:
        raise OptionError(f"Argument 'k' must be 0 or more, got {k}.")
    return index(k)


def _put_rules_in_order(frame: pl.DataFrame) -> pl.DataFrame:
    return _sort_rule_frame(frame, _choose_rule_number(None, frame), first=["head_relation"])


def _sort_rule_frame(
    frame: pl.DataFrame, by: str, *, first: Iterable[str] = (), descending: bool = True
) -> pl.DataFrame:
    keys, names = [*first, by, *KEY], frame.columns
    if by == GAIN:
        frame = frame.with_columns(measure_gain().alias(GAIN))
    # Nulls of `by` come last, nulls of constants first, as in the order of `Rule`.
    return frame.sort(
        keys, descending=[descending and k == by for k in keys], nulls_last=[k == by for k in keys]
    ).select(names)


def measure_gain() -> pl.Expr:
    """Return the gain of each rule; see `ScoredRule.gain`."""
    return pl.coalesce("confidence_low", "confidence") - pl.col("base_rate")
