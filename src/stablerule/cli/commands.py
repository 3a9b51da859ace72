"""The library's own commands: where each is, and the line that `--help` shows.

A command's file imports what the command needs, which can take a second; so `--help` reads this table, and only the
command that runs is imported. A test holds the lines against the docstrings of the commands.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A command that is not imported yet: module and function, and the first line of its docstring."""

    where: str
    about: str


def _place_command(where: str, about: str) -> Place:
    return Place(f"stablerule.cli.{where}", about)


# A name with a dot is a command of a group: "data.check" is `stablerule data check`.
COMMANDS: dict[str, Place] = {
    "learn": _place_command("learn:learn", "Train a model and save it to a folder."),
    "rules": _place_command("rules:rules", "Print rules, the best first."),
    "evaluate": _place_command(
        "evaluate:evaluate", "Evaluate a model: filtered ranks of the test answers, both directions."
    ),
    "split": _place_command("split:split", "Re-split a dataset and report what changed."),
    "shift": _place_command("shift:shift", "Check whether a model will hold up on your queries."),
    "ask": _place_command(
        "ask:ask",
        "Answer (HEAD, RELATION, ?), the best answer first; or all queries of a file, as a table with tabs.",
    ),
    "explain": _place_command(
        "explain:explain", "Say which rules lead to an answer, by which facts; or why it is not the first, or none."
    ),
    "complete": _place_command(
        "complete:complete",
        "Find the facts that the model concludes and no file has, each with its best rule and a path if it has rules.",
    ),
    "data.list": _place_command("data:list_datasets", "List the known graphs."),
    "data.get": _place_command(
        "data:get", "Get a known graph: from STABLERULE_DATA, from the cache, or from the network."
    ),
    "data.check": _place_command(
        "data:check", "Look for what spoils results. Exit code 1 when something makes a test result wrong."
    ),
    "data.stats": _place_command("data:stats", "Count facts, degrees and relations, and tell how far rules can reach."),
    "data.convert": _place_command(
        "data:convert", "Write data in another format, and split a single file into train, valid and test."
    ),
}
GROUPS = {"data": "Look at data, check it, get known graphs, change formats."}
