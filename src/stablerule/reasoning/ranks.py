"""Ranks that keep their ties: the best and the worst rank of the correct answer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from stablerule.errors import InputError, OptionError
from stablerule.graph.triples import read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ties: TypeAlias = Literal["realistic", "optimistic", "pessimistic"]
FORMS: tuple[Ties, ...] = get_args(Ties)


class Rank(NamedTuple):
    """The rank of one answer: `best` if all ties are broken in its favour, `worst` if none is."""

    best: int
    worst: int

    @property
    def realistic(self) -> float:
        """The middle of the two, which is the mean over all orders of the ties."""
        return (self.best + self.worst) / 2


@dataclass(frozen=True, eq=False)
class Ranks:
    """The best and worst ranks of the answers to n queries.

    best: (n,) int64, 1 + the number of competing candidates with a higher score; worst: (n,) int64, best + those with
    an equal score; covered: (n,) bool, whether the answer has a score above the floor, that is, whether a rule fired
    for it;
    candidates: (n,) int64, number of entities above the floor, without other known answers.

    Competing candidates are all entities except the answer and other known answers. Rules sort by score, then by
    popularity.

    >>> ranks = Ranks(best=[1, 3], worst=[1, 6], covered=[True, False], candidates=[4, 2])
    >>> ranks.form("optimistic"), ranks.form("realistic"), ranks.form("pessimistic")
    (array([1., 3.]), array([1. , 4.5]), array([1., 6.]))
    """

    best: NDArray[np.int64]
    worst: NDArray[np.int64]
    covered: NDArray[np.bool_]
    candidates: NDArray[np.int64]

    def __post_init__(self) -> None:
        size = np.shape(self.best)
        for field, kinds, dtype in zip(fields(self), ("iu", "iu", "b", "iu"), (int, int, bool, int), strict=True):
            given = np.asarray(getattr(self, field.name))
            if given.ndim != 1 or given.shape != size:
                raise InputError(
                    f"Ranks must be columns of one length: {field.name!r} has shape {given.shape}, 'best' {size}."
                )
            if given.size and given.dtype.kind not in kinds:
                wanted = "True or False" if dtype is bool else "whole numbers"
                raise InputError(f"Column {field.name!r} of Ranks must be {wanted}, got {given.dtype}.")
            object.__setattr__(self, field.name, read_only(np.array(given, dtype)))
        self._check_values()

    def _check_values(self) -> None:
        wrong = (self.best < 1) | (self.worst < self.best) | (self.candidates < self.covered)
        if wrong.any():
            at = int(wrong.argmax())
            found = f"best {self.best[at]}, worst {self.worst[at]}, candidates {self.candidates[at]}"
            raise InputError(
                f"Ranks need 1 <= best <= worst, and covered answers need a candidate; row {at} has {found}, "
                f"{'covered' if self.covered[at] else 'not covered'}."
            )

    @classmethod
    def concat(cls, *parts: Ranks) -> Ranks:
        """Join several, in order."""
        if not parts:
            return cls.empty()
        return cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})

    @classmethod
    def empty(cls) -> Ranks:
        """Return the ranks of no queries."""
        none = np.empty(0, np.int64)
        return cls(none, none, none.astype(bool), none)

    def take(self, which: NDArray[Any]) -> Ranks:
        """Return the rows at these positions, or where this mask is true."""
        return Ranks(**{f.name: getattr(self, f.name)[which] for f in fields(self)})

    def form(self, ties: Ties) -> NDArray[np.float64]:
        """Return one rank (n,) for each query. Realistic is the mean of best and worst, as in PyKEEN."""
        match check_ties(ties):
            case "optimistic":
                return self.best.astype(np.float64)
            case "pessimistic":
                return self.worst.astype(np.float64)
            case _:
                return (self.best + self.worst) / 2.0

    def __len__(self) -> int:
        return len(self.best)


def check_ties(ties: str, what: str = "Argument 'ties'") -> Ties:
    """Return the name of a rank type; an unknown one is an error."""
    for form in FORMS:
        if form == ties:
            return form
    raise OptionError(f"{what} must be one of {', '.join(FORMS)}, got {ties!r}.")
