"""MODELS: the dict of all learners by name, and models taken up from disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stablerule.errors import OptionError, ReadError, closest
from stablerule.learning import GivenRules, StableRule, Tabular
from stablerule.reasoning import RuleReasoner, read_model_folder

if TYPE_CHECKING:
    from os import PathLike

MODELS: dict[str, type[RuleReasoner]] = {model.method: model for model in (StableRule, Tabular, GivenRules)}


def load_model(folder: str | PathLike[str]) -> RuleReasoner:
    """Take up a model from its folder."""
    path = Path(folder)
    saved = read_model_folder(path)
    if saved.method not in MODELS:
        raise ReadError(f"made by an unknown method {saved.method!r}.{closest(saved.method, MODELS)}", path=path)
    try:
        return MODELS[saved.method].from_saved(saved)
    except OptionError as error:
        raise ReadError(f"its options do not fit this version: {error}", path=path) from error
