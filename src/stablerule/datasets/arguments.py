"""Check the arguments of functions that make or split a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stablerule.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Collection


def check_count(argument: str, value: object, least: int) -> int:
    """Return a whole number of at least `least`; anything else is an error.

    >>> check_count("people", -5, least=1)
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'people' must be a whole number of at least 1, got -5.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise OptionError(f"Argument {argument!r} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def check_number(argument: str, value: object, least: float, most: float = float("inf")) -> float:
    """Return a number between `least` and `most`; anything else is an error.

    >>> check_number("noise", 1.5, least=0, most=1)
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'noise' must be a number from 0 to 1, got 1.5.
    """
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or not least <= value <= most:  # type: ignore[call-overload, operator]
        bounds = f"of at least {least}" if most == float("inf") else f"from {least} to {most}"
        raise OptionError(f"Argument {argument!r} must be a number {bounds}, got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def check_choice(argument: str, value: object, choices: Collection[str]) -> str:
    """Return one of a few strings; anything else is an error."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"Argument {argument!r} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value
