"""Options held against the types that a learner declares for them, so that a wrong one is named before any work."""

from __future__ import annotations

import math
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from stablerule.errors import OptionError


def check_types(owner: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return the options in their declared types (a whole 1e6 becomes 1000000); what does not fit is an error.

    >>> class Learner:
    ...     def __init__(self, *, steps: int | None = None, decay: bool = True) -> None: ...
    >>> check_types(Learner, {"steps": 1e3, "decay": False})
    {'steps': 1000, 'decay': False}
    >>> check_types(Learner, {"decay": "no"})
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'decay' of Learner must be True or False, got 'no'.
    """
    hints = get_type_hints(owner.__init__)  # type: ignore[misc]
    return {name: _fitting(owner, name, value, hints[name]) for name, value in values.items()}


def _fitting(owner: type, name: str, value: Any, declared: Any) -> Any:
    kinds = get_args(declared) if isinstance(declared, UnionType) else (declared,)
    for kind in kinds:
        if _takes(kind, value):
            return int(value) if kind is int else value
    wanted = " or ".join(_said(kind) for kind in kinds)
    raise OptionError(f"Argument {name!r} of {owner.__name__} must be {wanted}, got {value!r}.")


def _takes(kind: Any, value: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if kind in (int, float):
        return _is_number(value) and (kind is float or float(value).is_integer())
    return isinstance(value, kind)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _said(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is dict:
        return "a dict of values by name"
    return {bool: "True or False", int: "a whole number", float: "a number", str: "a word", NoneType: "None"}[kind]
