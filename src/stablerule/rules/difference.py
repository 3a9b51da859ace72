"""How two sets of rules differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import polars as pl

from stablerule.rules.scored import KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

# A set of rules, of which only the size matters here.
Rules = TypeVar("Rules", bound="Sized")


@dataclass(frozen=True, eq=False)
class RuleDiff(Generic[Rules]):
    """What `RuleSet.diff` found.

    only_this, only_that: rules that only one of the sets has.
    both: a row for each common rule, with its number in `this`, in `that`, and the `change`; the largest first.
    by: the number that was compared.
    """

    only_this: Rules
    only_that: Rules
    both: pl.DataFrame
    by: str

    @classmethod
    def of(
        cls, this: pl.DataFrame, that: pl.DataFrame, by: str, as_rules: Callable[[pl.DataFrame], Rules]
    ) -> RuleDiff[Rules]:
        """Compare two tables of rules."""
        one, other = this.select(*KEY, pl.col(by).alias("this")), that.select(*KEY, pl.col(by).alias("that"))
        both = one.join(other, on=KEY, how="inner", nulls_equal=True)
        both = both.with_columns(change=pl.col("that") - pl.col("this"))
        first = [True, *[False] * len(KEY)]
        both = both.sort(pl.col("change").abs(), *KEY, descending=first, nulls_last=first)
        return cls(
            only_this=as_rules(this.join(that, on=KEY, how="anti", nulls_equal=True, maintain_order="left")),
            only_that=as_rules(that.join(this, on=KEY, how="anti", nulls_equal=True, maintain_order="left")),
            both=both,
            by=by,
        )

    def __str__(self) -> str:
        counts = (
            f"{len(self.only_this):,} only in this, {len(self.only_that):,} only in that, {len(self.both):,} in both"
        )
        changes = [abs(change) for change in self.both["change"] if change]
        most = f", by {max(changes):.4g} at most" if changes else ""
        return f"{counts}; {self.by} changed for {len(changes):,}{most}"
