"""Settings are options that their methods have, and tuning begins where they stand."""

from __future__ import annotations

import pytest

from stablerule.datasets.catalog import CATALOG
from stablerule.registry import METHODS, MODELS
from stablerule_lab.methods.settings import SETTINGS, settings_for
from stablerule_lab.methods.spaces import SPACES


@pytest.mark.parametrize("method", sorted(SETTINGS))
def test_settings_are_options_of_their_method(method: str) -> None:
    assert method in METHODS
    for graph in SETTINGS[method]:
        assert graph in CATALOG
        MODELS[method].with_options(settings_for(method, graph)).check_options()
    assert settings_for(method, "a graph of mine") == {}


@pytest.mark.parametrize("method", sorted(SPACES))
def test_every_place_to_look_is_an_option_that_may_stand_there(method: str) -> None:
    for option, where in SPACES[method].items():
        for value in where:
            MODELS[method].with_options({option: value}).check_options()


def test_every_method_that_has_settings_of_its_own_can_be_tuned() -> None:
    assert set(METHODS) - {"given", "popularity", "pykeen"} == set(SPACES)
