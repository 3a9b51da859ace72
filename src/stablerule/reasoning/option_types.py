"""The options of a learner: by name, in groups, and checked against their declared types before training."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from stablerule.errors import OptionError, spell_closest, spell_names

GONE = ("minutes",)  # options that became arguments of `fit`


class HasOptions:
    """What has options: the arguments of `__init__`, which stores them and does nothing else."""

    seed: int = 0

    @classmethod
    def list_option_names(cls) -> list[str]:
        """Return the names of the options; options in a group have dotted names."""
        return list(list_options(cls))

    @property
    def options(self) -> dict[str, Any]:
        """The options of this learner; those in a group have dotted names, such as `training.size`."""
        return flatten_options({name: getattr(self, name) for name in inspect.signature(type(self)).parameters})

    @classmethod
    def with_options(cls, options: Mapping[str, Any]) -> Self:
        """Make a learner from options by name, dotted or not; the error for an unknown one lists the closest."""
        return cls(**group_options(cls, options))

    def check_options(self) -> None:
        """Check the options, as `fit` does first: an invalid value is an error."""
        check_option_types(type(self), {name: getattr(self, name) for name in inspect.signature(type(self)).parameters})
        self._check_options()

    def _check_options(self) -> None:
        """Check the values of the options; their types are already checked."""
        self._check_at_least(0, "seed")

    def _check_at_least(self, least: float, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and value < least:
                raise OptionError(f"Argument {name!r} of {type(self).__name__} must be at least {least}, got {value}.")

    def __repr__(self) -> str:
        defaults = list_options(type(self))
        changed = ", ".join(f"{n}={v!r}" for n, v in self.options.items() if n not in defaults or v != defaults[n])
        return f"{type(self).__name__}({changed})"


def check_option_types(owner: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return the options in their declared types (1e6 becomes 1000000); a value of another type is an error.

    >>> class Learner:
    ...     def __init__(self, *, steps: int | None = None, decay: bool = True) -> None: ...
    >>> check_option_types(Learner, {"steps": 1e3, "decay": False})
    {'steps': 1000, 'decay': False}
    >>> check_option_types(Learner, {"decay": "no"})
    Traceback (most recent call last):
    ...
    stablerule.errors.OptionError: Argument 'decay' of Learner must be True or False, got 'no'.
    """
    hints = get_type_hints(owner.__init__)  # type: ignore[misc]
    return {name: _convert_option_value(owner, name, value, hints[name]) for name, value in values.items()}


def list_options(owner: type) -> dict[str, Any]:
    """Return the defaults of all options of a learner by name; options in a group have dotted names.

    >>> from stablerule import StableRule
    >>> list_options(StableRule)["training.size"]
    128
    """
    return flatten_options({name: p.default for name, p in inspect.signature(owner).parameters.items()})


def flatten_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace each group of options by its fields, under dotted names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if is_dataclass(value):
            flat |= {f"{name}.{f.name}": getattr(value, f.name) for f in fields(value)}
        else:
            flat[name] = value
    return flat


def group_options(owner: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a learner from options by name; options not given keep their default.

    A group may be given as a value, as a mapping, or field by field with dotted names.

    >>> from stablerule import StableRule
    >>> StableRule(**group_options(StableRule, {"max_length": 2, "decorrelation.moment_order": 1}))
    StableRule(max_length=2, decorrelation.moment_order=1)
    """
    parameters, known = inspect.signature(owner).parameters, list_options(owner)
    groups = {name: p.default for name, p in parameters.items() if is_dataclass(p.default)}
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in options.items():
        group, dot, field = name.partition(".")
        if dot and name in known:
            parts.setdefault(group, {})[field] = value
        elif name in groups and isinstance(value, Mapping):
            parts.setdefault(name, {}).update(value)
        elif name in parameters:
            whole[name] = value
        else:
            raise OptionError(f"{owner.__name__} has no option {name!r}.{_list_options_near(name, [*known], groups)}")
    arguments = check_option_types(owner, whole)
    for group, some in parts.items():
        begun = arguments.get(group, groups[group])
        if begun is None:
            raise OptionError(
                f"Option {group!r} is None, so {group}.{next(iter(some))} can't be set. Leave one of them out."
            )
        arguments[group] = _change_option_group(owner, group, begun, some)
    return arguments


def join_options(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Join options by name; later ones take precedence, and a group that becomes None loses its fields.

    >>> join_options({"decorrelation.moment_order": 1, "seed": 0}, {"decorrelation": None})
    {'seed': 0, 'decorrelation': None}
    """
    joined: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            if value is None:
                joined = {other: kept for other, kept in joined.items() if not other.startswith(f"{name}.")}
            joined[name] = value
    return joined


def rename_options(options: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Rename the options of a model saved by an earlier version.

    >>> rename_options({"decorrelate": False, "minutes": 3}, {"decorrelate": "decorrelation"})
    {'decorrelation': None}
    """
    renamed: dict[str, Any] = {}
    switched_off: dict[str, Any] = {}
    for name, value in options.items():
        new = names.get(name, name)
        if new in names.values() and "." not in new:  # what turns a whole group on or off
            switched_off |= {} if value else {new: None}
        elif name not in GONE:
            renamed[new] = value
    return join_options(renamed, switched_off)


def _list_options_near(name: str, known: list[str], groups: Iterable[str]) -> str:
    """Spell the options closest to an unknown name, or else all options of its group or of the learner."""
    group, _, field = name.rpartition(".")
    same = [full for full in known if full.endswith(f".{name}")]  # given without its group
    if same:
        return f" Closest: {same[0]!r}."
    own = [full for full in known if full.startswith(f"{group}.")]
    if not own:
        return spell_closest(name, [*known, *groups]) or spell_names(known, most=None)
    return (
        spell_closest(name, own)
        if spell_closest(field, [full.removeprefix(f"{group}.") for full in own])
        else spell_names(own, None)
    )


def _change_option_group(owner: type, group: str, begun: Any, some: Mapping[str, Any]) -> Any:
    """Return a group with some values replaced, their types checked."""
    hints = get_type_hints(type(begun))
    for name in some:
        if name not in hints:
            raise OptionError(f"{owner.__name__} has no option '{group}.{name}'.{spell_closest(name, list(hints))}")
    values = {name: _convert_option_value(owner, f"{group}.{name}", value, hints[name]) for name, value in some.items()}
    try:
        return replace(begun, **values)
    except OptionError as error:  # the group's own check names a field without its group
        raise OptionError(str(error).replace("Argument '", f"Argument '{group}.", 1)) from error


def _convert_option_value(owner: type, name: str, value: Any, declared: Any) -> Any:
    kinds = get_args(declared) if isinstance(declared, UnionType) else (declared,)
    for kind in kinds:
        if _accepts_option_type(kind, value):
            return int(value) if kind is int else value
    wanted = " or ".join(_spell_option_type(kind) for kind in kinds)
    raise OptionError(f"Argument {name!r} of {owner.__name__} must be {wanted}, got {value!r}.")


def _accepts_option_type(kind: Any, value: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if kind in (int, float):
        return _is_number_option(value) and (kind is float or float(value).is_integer())
    return isinstance(value, kind) and (not is_dataclass(value) or _check_group_types(value))


def _check_group_types(group: Any) -> bool:
    """Return True if all fields of a group have their declared types; a wrong one is an error."""
    hints = get_type_hints(type(group))
    for f in fields(group):
        _convert_option_value(type(group), f.name, getattr(group, f.name), hints[f.name])
    return True


def _is_number_option(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _spell_option_type(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is dict:
        return "a dict of values by name"
    if is_dataclass(kind):
        return f"a {getattr(kind, '__name__', kind)}"
    return {bool: "True or False", int: "a whole number", float: "a number", str: "a string", NoneType: "None"}[kind]
