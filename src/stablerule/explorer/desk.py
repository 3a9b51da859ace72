"""The desk that people sit at: a model to look at, the file of decisions, and the jobs in the background."""

from __future__ import annotations

import getpass
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from stablerule.explorer.jobs.completing import fill_queue
from stablerule.explorer.jobs.jobs import Jobs
from stablerule.explorer.jobs.judging import compare_models, judge_model, judge_queries

if TYPE_CHECKING:
    from stablerule.explorer.decisions.store import Store
    from stablerule.explorer.explored import Explored
    from stablerule.explorer.jobs.jobs import Work


class Desk:
    """What the pages work with that change something. other: a model to compare with; who: decides, by default."""

    def __init__(self, explored: Explored, store: Store, *, other: Explored | None = None, who: str = "") -> None:
        self.explored, self.store, self.other = explored, store, other
        self.who = who or find_user_name()
        kinds: dict[str, Work] = {
            "complete": partial(fill_queue, explored, store),
            "evaluate": partial(judge_model, explored),
            "shift": partial(judge_queries, explored),
        }
        if other is not None:
            kinds["compare"] = partial(compare_models, explored, other)
        self.jobs = Jobs(store, explored.sha256, kinds)


def find_user_name() -> str:
    """Return the name of whoever runs this, as the system knows it."""
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return "somebody"
