"""JSON into dataclasses: what was written comes back, and whatever else there is, an error names the field."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule.errors import OptionError, ReadError
from stablerule.io.checked_folder import make_record, parse_json

HERE = Path("m") / "learned.json"


@dataclass(frozen=True)
class Part:
    kind: Literal["a", "b"]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.weights) > 3:
            raise OptionError("Weights must be 3 at most.")


@dataclass(frozen=True)
class Reason:
    none_because: str


@dataclass(frozen=True)
class Whole:
    count: int
    parts: dict[str, Part]
    found: Part | Reason | None = None
    either: list[int] | str | None = None
    anything: dict[str, Any] = field(default_factory=dict)
    ready: bool = False


floats = st.floats(allow_nan=False)
parts = st.builds(Part, st.sampled_from(["a", "b"]), st.lists(floats, max_size=3).map(tuple))
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | floats | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
wholes = st.builds(
    Whole,
    st.integers(-(2**40), 2**40),
    st.dictionaries(st.text(max_size=4), parts, max_size=3),
    st.none() | parts | st.builds(Reason, st.text(max_size=4)),
    st.none() | st.text(max_size=4) | st.lists(st.integers(-9, 9), max_size=3),
    st.dictionaries(st.text(max_size=4), anything, max_size=3),
    st.booleans(),
)


@given(wholes)
def test_what_was_written_comes_back(whole: Whole) -> None:
    assert make_record(Whole, parse_json(json.dumps(asdict(whole)).encode(), HERE), HERE) == whole


@given(anything)
def test_any_value_is_read_or_refused(value: Any) -> None:
    for kind in (Whole, Part, Reason):
        with suppress(ReadError):
            assert isinstance(make_record(kind, value, HERE), kind)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": True}, "field 'count' must be a whole number, found true"),
        ({"count": 1.0}, "field 'count' must be a whole number, found 1.0"),
        ({"parts": []}, "field 'parts' must be an object, found a list"),
        ({"parts": {"x": {}}}, "field 'parts.x.kind' is missing"),
        ({"parts": {"x": {"kind": "c"}}}, "field 'parts.x.kind' must be one of 'a', 'b', found \"c\""),
        ({"parts": {"x": {"kind": ["a"]}}}, "field 'parts.x.kind' must be one of 'a', 'b', found a list"),
        ({"parts": {"x": {"kind": "a", "weights": [1, "y"]}}}, r"field 'parts.x.weights\[1\]' must be a number, found"),
        ({"parts": {"x": {"kind": "a", "weights": [1, 2, 3, 4]}}}, "'parts.x' is invalid: Weights must be 3 at"),
        ({"found": {}}, "field 'found.kind' is missing"),
        ({"found": 3}, "field 'found' must be an object, found 3"),
        ({"either": {}}, "field 'either' must be a list, found an object"),
        ({"ready": 1}, "field 'ready' must be true or false, found 1"),
        ({"ready": "\ud800"}, "field 'ready' must be true or false"),
        ({"anything": {"x": "\ud800"}}, "field 'anything.x' must be a string"),
        (
            {"anything": {"x": [[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]}},
            "field 'anything.x' is nested too deeply",
        ),
        ({"count": "x" * 99}, r'found "x{59}\.\.\.\.'),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ReadError, match=rf"m/learned.json: .*{said}"):
        make_record(Whole, {"count": 1, "parts": {}} | change, HERE)


def test_fields_that_nobody_declares_are_skipped() -> None:
    assert make_record(Part, {"kind": "a", "gone": 1}, HERE) == Part("a")
