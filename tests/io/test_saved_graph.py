"""A graph on disk: it comes back as it was, or an error says which file is damaged. Nothing else reaches a kernel."""

from __future__ import annotations

import json
import multiprocessing as mp
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablerule import Dataset, Graph, open_graph, save_graph
from stablerule.errors import ReadError, WriteError
from stablerule.io.checked_folder import sum_files
from stablerule.io.saved_graph import ARRAY_FILES, DTYPES, FILES, INDEX, NAME_FILES, find_unsound_array
from tests.worlds import Fact, fact_lists, random_graph


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_graph(random_graph(5), tmp_path / "g")
    return tmp_path / "g"


def with_right_checksums(folder: Path) -> Path:
    """Whoever changes a file on purpose changes its checksum as well."""
    index = json.loads((folder / INDEX).read_text())
    index["checksums"] = sum_files(folder, (*NAME_FILES, *ARRAY_FILES))
    (folder / INDEX).write_text(json.dumps(index))
    return folder


def test_a_saved_graph_opens_as_the_same_graph(tmp_path: Path) -> None:
    graph = random_graph(3)
    save_graph(graph, tmp_path / "g")
    opened = open_graph(tmp_path / "g")
    for name, array in graph.arrays.items():
        assert np.array_equal(array, opened.arrays[name])
        assert isinstance(opened.arrays[name].base, np.memmap)
        assert not opened.arrays[name].flags.writeable
    assert opened.vocabulary == graph.vocabulary
    assert repr(opened) == repr(graph)
    assert opened.sha256 == graph.sha256
    assert set(os.listdir(tmp_path / "g")) == FILES


def edges_of(folder: str) -> int:
    return int(open_graph(folder).degrees.sum())


@pytest.mark.slow
def test_several_processes_open_one_graph(folder: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=mp.get_context("spawn")) as pool:
        assert list(pool.map(edges_of, [str(folder)] * 2)) == [2 * open_graph(folder).n_facts] * 2


def test_a_graph_of_the_first_format_opens(folder: Path) -> None:
    """It had no checksums and no hash."""
    index = json.loads((folder / INDEX).read_text())
    first = {"format": 1, "name": index["name"], "arrays": index["arrays"]}
    (folder / INDEX).write_text(json.dumps(first))
    assert open_graph(folder).sha256 == random_graph(5).sha256


def test_a_foreign_or_future_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="not a saved graph"):
        open_graph(tmp_path)
    index = folder / INDEX
    index.write_text(index.read_text().replace('"format": 2', '"format": 99'))
    with pytest.raises(ReadError, match="newer version in format 99"):
        open_graph(folder)


@given(fact_lists, st.data())
def test_an_array_of_a_graph_is_sound_and_no_other(facts: list[Fact], data: st.DataObject) -> None:
    """`Graph.build` made it; with one value changed, or one row moved, it is not what that makes."""
    graph = Dataset.from_names("g", train=facts).graph
    size = graph.n_entities, graph.n_relations
    assert find_unsound_array(graph.arrays, *size) is None
    name = data.draw(st.sampled_from(list(DTYPES)))
    changed = graph.arrays[name].copy()
    place = data.draw(st.integers(0, len(changed) - 1))
    value = data.draw(st.integers(-3, len(changed) + 3) | st.sampled_from([np.iinfo(changed.dtype).max, -(2**31)]))
    if changed[place] == value:
        changed[:] = changed[::-1]
    else:
        changed[place] = value
    same = np.array_equal(changed, graph.arrays[name])
    assert (find_unsound_array({**graph.arrays, name: changed}, *size) is None) == same


def test_a_fact_that_stands_in_one_order_only_is_found() -> None:
    one, other = random_graph(1), random_graph(1)
    more = Dataset.from_names("g", train=[("e0", "r0", "e0"), ("e1", "r0", "e1")]).graph
    less = Dataset.from_names("g", train=[("e0", "r0", "e1"), ("e1", "r0", "e0")]).graph
    assert find_unsound_array(one.arrays, other.n_entities, other.n_relations) is None
    mixed = {**more.arrays, "fact_tails": less.arrays["fact_tails"]}
    assert find_unsound_array(mixed, 2, 1) == ("edge_relations", "must have each fact and its inverse")


@given(data=st.data())
def test_a_changed_file_is_damaged(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever bytes change, it is an error of ours, or the graph is as it was."""
    folder = tmp_path_factory.getbasetemp() / "changed"
    if not folder.exists():
        save_graph(random_graph(5), folder)
    path = folder / data.draw(st.sampled_from(sorted(FILES)))
    good = path.read_bytes()
    path.write_bytes(changed_bytes(data, good))
    try:
        assert open_graph(folder).triples == random_graph(5).triples
    except ReadError:
        pass  # what it says is looked at below
    finally:
        path.write_bytes(good)


def changed_bytes(data: st.DataObject, good: bytes) -> bytes:
    raw = bytearray(good)
    if data.draw(st.booleans()):
        for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)))):
            raw[place] = byte
        return bytes(raw)
    return bytes(raw[: data.draw(st.integers(0, len(raw)))]) + data.draw(st.binary(max_size=9))


@pytest.mark.parametrize("name", DTYPES)
def test_wrong_ids_with_right_checksums_reach_no_kernel(folder: Path, name: str) -> None:
    array = np.load(folder / f"{name}.npy")
    array[len(array) // 2] = 2**31 - 1
    np.save(folder / f"{name}.npy", array)
    with pytest.raises(ReadError, match=rf"g/{name}.npy: damaged \(its values must"):
        open_graph(with_right_checksums(folder))


def shorter(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array[:-1]


def as_floats(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(float)


def as_a_table(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.reshape(1, -1)


def as_objects(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(object)


@pytest.mark.parametrize("name", ["edge_tails", "offsets", "fact_offsets"])
@pytest.mark.parametrize("change", [shorter, as_floats, as_a_table, as_objects])
def test_arrays_of_another_length_or_type_are_refused(
    folder: Path, name: str, change: Callable[[Any], np.ndarray[Any, Any]]
) -> None:
    np.save(folder / f"{name}.npy", change(np.load(folder / f"{name}.npy")))
    with pytest.raises(ReadError, match=rf"{name}.npy: damaged \(not an array of"):
        open_graph(with_right_checksums(folder))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["b", "a"], r"entities.arrow: damaged \(its names must be sorted"),
        (["a", "a"], r"entities.arrow: damaged \(its names must be sorted"),
        (["a", None], r"entities.arrow: damaged \(its names must be sorted"),
        ([1, 2], r"entities.arrow: damaged \(its names must be sorted"),
        (["a", "b"], r"graph.json: damaged \(field 'arrays' does not match the names"),
    ],
)
def test_other_names_are_refused(folder: Path, names: list[Any], said: str) -> None:
    pl.DataFrame({"name": names}).write_ipc(folder / "entities.arrow")
    with pytest.raises(ReadError, match=said):
        open_graph(with_right_checksums(folder))


def test_a_relation_that_begins_like_an_inverse_is_refused(folder: Path) -> None:
    pl.DataFrame({"name": ["r0", "r1", "~r"]}).write_ipc(folder / "relations.arrow")
    with pytest.raises(ReadError, match=r"relations.arrow: damaged \(Relation '~r' starts with"):
        open_graph(with_right_checksums(folder))


@pytest.mark.parametrize("name", ["graph.json", "entities.arrow", "edge_tails.npy"])
def test_what_is_no_regular_file_is_not_opened(folder: Path, name: str, tmp_path: Path) -> None:
    """A FIFO would be waited for until somebody writes to it."""
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReadError, match=rf"{name}: is a link, but only regular files are read"):
        open_graph(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ReadError, match=rf"{name}: is not a regular file"):
        open_graph(folder)
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(ReadError, match=rf"{name}: is not a regular file"):
        open_graph(folder)


def test_only_a_saved_graph_is_overwritten(folder: Path) -> None:
    save_graph(random_graph(6), folder, overwrite=True)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(WriteError, match="not replaced: 'notes.txt'"):
        save_graph(random_graph(5), folder, overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine"


def test_an_empty_graph_is_saved(tmp_path: Path) -> None:
    words = random_graph(0).vocabulary
    empty = Graph.build(Dataset.from_names("g", train=[("e0", "r0", "e1")]).train.take(np.zeros(1, bool)), words)
    save_graph(empty, tmp_path / "g")
    assert open_graph(tmp_path / "g").n_facts == 0
