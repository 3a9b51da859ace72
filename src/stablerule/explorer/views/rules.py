"""The rules as a table: filtered, sorted, a page at a time."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stablerule.errors import OptionError
from stablerule.explorer.views.paging import Paging
from stablerule.explorer.views.records import RuleView
from stablerule.graph import INVERSE
from stablerule.rules.formats import FORMATS
from stablerule.rules.scored import GAIN, NUMBERS, ScoredRule

if TYPE_CHECKING:
    from stablerule.explorer.explored import Explored
    from stablerule.rules import RuleSet
    from stablerule.rules.ruleset import Kind

SIZE = 50
SORTS = (GAIN, *NUMBERS)
SortName = Literal[
    "gain",
    "score",
    "support",
    "body_count",
    "confidence",
    "pca_confidence",
    "head_coverage",
    "base_rate",
    "confidence_low",
    "confidence_high",
]
FormatName = Literal["json", "parquet", "text", "tsv", "anyburl", "amie"]


@dataclass(frozen=True)
class RuleFilter:
    """Which rules are wanted; None is no condition.

    kind: chains or constants. body_relation: either way round. inverse: also rules that conclude an inverse, which say
    the same from the other end, as a rule.
    """

    head_relation: str | None = None
    body_relation: str | None = None
    kind: Kind | None = None
    max_length: int | None = None
    min_support: float | None = None
    min_confidence: float | None = None
    inverse: bool = True

    def keep(self, rules: RuleSet) -> RuleSet:
        """Return the rules that meet every condition."""
        conditions = {name: value for name, value in vars(self).items() if name != "inverse"}
        if not self.inverse and self.head_relation is None:
            conditions["head_relation"] = [name for name in rules.relations if not name.startswith(INVERSE)]
        return rules.filter(**conditions)

    @property
    def given(self) -> dict[str, str | float]:
        """The conditions that there are, by name."""
        return {name: value for name, value in vars(self).items() if value is not None and name != "inverse"}


@dataclass(frozen=True)
class RulesView:
    """A page of the rules that meet the conditions; of: how many there are without any."""

    rules: list[RuleView]
    total: int
    of: int
    page: int
    pages: int
    sort: str
    descending: bool
    head_relations: list[str]


def list_rules(
    explored: Explored,
    wanted: RuleFilter,
    *,
    sort: SortName | None = None,
    descending: bool = True,
    page: int = 1,
    size: int = SIZE,
) -> RulesView:
    """Return a page of rules, sorted by a number; without one by the first of gain, score and confidence there is."""
    rules = explored.rules
    if sort is not None and sort not in SORTS:
        raise OptionError(f"Argument 'sort' must be one of {', '.join(SORTS)}, got {sort!r}.")
    by: str = sort or next((name for name in (GAIN, "confidence", "score") if rules.has(name)), "confidence")
    found = wanted.keep(rules)
    paging = Paging(page, size, len(found))
    ordered = found.sort(by, descending=descending) if len(found) else found
    shown = [RuleView.of(ordered[place]) for place in paging.places]
    return RulesView(
        rules=shown,
        total=len(found),
        of=len(rules),
        page=paging.page,
        pages=paging.pages,
        sort=by,
        descending=descending,
        head_relations=list(rules.relations),
    )


def export_rules(explored: Explored, wanted: RuleFilter, format: FormatName) -> tuple[bytes, str]:  # noqa: A002
    """Return the rules that meet the conditions as a file of a format, and the ending of its name."""
    if format not in FORMATS:
        raise OptionError(f"Argument 'format' must be one of {', '.join(FORMATS)}, got {format!r}.")
    buffer = io.BytesIO()
    FORMATS[format].write(wanted.keep(explored.rules), buffer)
    return buffer.getvalue(), FORMATS[format].suffixes[0]


def spell_rule_in_words(scored: ScoredRule) -> str:
    """Say a rule as a sentence.

    >>> from stablerule.rules import Rule
    >>> spell_rule_in_words(ScoredRule(Rule("nationality", ("born_in", "~city_of"))))
    'X nationality Y holds where X born in A, and Y city of A.'
    """
    head, *body = (_spell_atom_in_words(*parts) for parts in _list_atom_parts(scored))
    return f"{head} holds where {', and '.join(body)}."


def _list_atom_parts(scored: ScoredRule) -> list[tuple[str, str, str]]:
    rule = scored.rule
    if rule.constants is not None:
        constant, near = rule.constants
        return [("X", rule.head_relation, constant), ("X", rule.body[0], near or "something")]
    ends = ["X", *(chr(ord("A") + place) for place in range(rule.length - 1)), "Y"]
    return [
        ("X", rule.head_relation, "Y"),
        *((here, relation, there) for relation, here, there in zip(rule.body, ends, ends[1:], strict=False)),
    ]


def _spell_atom_in_words(here: str, relation: str, there: str) -> str:
    plain = relation.removeprefix("~")
    first, last = (here, there) if plain == relation else (there, here)
    return f"{first} {plain.replace('_', ' ')} {last}"
