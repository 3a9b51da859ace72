"""The readers of what this package saves for itself: models, graphs, checkpoints.

A checksum finds nearly all damage to bytes. So each file is damaged twice: as it is, and with a checksum made anew, as
somebody would do who wants the damage to be read.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from stablerule import StableRule, load_model, open_graph, save_graph
from stablerule.errors import InputError
from stablerule.io.checked_folder import sum_files
from stablerule.io.saved_graph import INDEX
from stablerule.learning import Tabular
from stablerule.learning.checkpoints import PROGRESS
from stablerule.reasoning.model_folder import ABOUT
from stablerule.samples import sample_rules
from tests.faults.mutations import damage_bytes, damage_json
from tests.faults.readers import WORLD, Reader


def make_saved_readers(folder: Path) -> list[Reader]:
    """Save one of each kind into new folders, and return a reader for each file in them."""
    query = WORLD.frame("train").row(0)[:2]
    Tabular(max_length=2).fit(WORLD.graph, WORLD.valid).save(folder / "tabular")
    save_graph(WORLD.graph, folder / "graph")
    checkpoint = folder / "checkpoint"
    _learn_with(checkpoint, resume=False).save(folder / "network", graph=False)
    return [
        *_make_readers(folder / "tabular", partial(_use_model, folder / "tabular", query)),
        *_make_readers(folder / "graph", partial(_use_graph, folder / "graph")),
        *_make_readers(folder / "network", partial(_use_network, folder / "network")),
        *_make_readers(checkpoint, partial(_go_on_from, checkpoint)),
    ]


def _learn_with(checkpoint: Path, *, resume: bool) -> StableRule:
    options = {"max_length": 1, "walks": 2000, "training.steps": 3, "training.size": 4, "constants": False}
    return StableRule.with_options(options).fit(WORLD.graph, checkpoint=checkpoint, resume=resume)


def _go_on_from(checkpoint: Path) -> None:
    """Go on from a copy: learning writes checkpoints of its own."""
    with TemporaryDirectory() as folder:
        shutil.copytree(checkpoint, Path(folder) / "copy")
        _learn_with(Path(folder) / "copy", resume=True)


def _make_readers(folder: Path, read: partial[None]) -> list[Reader]:
    made = []
    for file in sorted(folder.iterdir()):
        damages = (damage_bytes, damage_json) if file.suffix == ".json" else (damage_bytes,)
        made += [
            Reader(f"{folder.name}/{file.name}", file, read, damages),
            Reader(f"{folder.name}/{file.name}, sealed anew", file, partial(_read_sealed, file, read), damages),
        ]
    return made


def _read_sealed(file: Path, read: partial[None]) -> None:
    with seal_anew(file):
        read()


@contextmanager
def seal_anew(file: Path) -> Iterator[None]:
    """Let the indexes of a folder have the checksum that the damaged file has, for the block."""
    indexes = [
        file.parent / name for name in (INDEX, ABOUT, PROGRESS) if name != file.name and (file.parent / name).exists()
    ]
    before = {index: index.read_bytes() for index in indexes}
    try:
        for index in indexes:  # the index of the graph first: that of the model has its checksum
            about = json.loads(index.read_bytes())
            known = {name for name in about.get("checksums", ()) if (file.parent / name).exists()}
            if known and about["checksums"] != (sums := sum_files(file.parent, known)):
                index.write_text(json.dumps(about | {"checksums": sums}))
        yield
    finally:
        for index, data in before.items():
            index.write_bytes(data)


def _use_model(folder: Path, query: tuple[str, str]) -> None:
    model = load_model(folder)
    for answers in model.answer([query], 3, explain=True):
        assert all(answer.score >= 0 for answer in answers)


def _use_graph(folder: Path) -> None:
    graph = open_graph(folder)
    samples = sample_rules(graph, 500, max_length=2)
    assert samples.n_samples > 0


def _use_network(folder: Path) -> None:
    model = load_model(folder)
    if len(model.rules.relations) == 0:
        raise InputError("nothing to ask")
    for answers in model.answer([WORLD.frame("train").row(0)[:2]], 3, graph=WORLD.graph):
        assert len(answers) <= 3
