"""A page of a longer list."""

from __future__ import annotations

from dataclasses import dataclass

from stablerule.errors import OptionError

LONGEST_PAGE = 200


@dataclass(frozen=True)
class Paging:
    """Which page of how many; pages are counted from 1, and there is always a first one.

    >>> Paging(1, 20, 45).pages, Paging(3, 20, 45).start, Paging(1, 20, 0).pages
    (3, 40, 1)
    """

    page: int
    size: int
    total: int

    def __post_init__(self) -> None:
        if self.page < 1:
            raise OptionError(f"Argument 'page' must be at least 1, got {self.page}.")
        if not 1 <= self.size <= LONGEST_PAGE:
            raise OptionError(f"Argument 'size' must be from 1 to {LONGEST_PAGE}, got {self.size}.")

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.total // self.size))

    @property
    def start(self) -> int:
        """The place of the first row, from 0."""
        return (self.page - 1) * self.size

    @property
    def end(self) -> int:
        """The place behind the last row."""
        return min(self.start + self.size, self.total)

    @property
    def places(self) -> range:
        """The places of the rows of this page, from 0; a page beyond the last has none."""
        return range(self.start, max(self.end, self.start))
