"""Embeddings: scores and slopes against plain formulas, drawn entities, training that stops, resumes and repeats."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stablerule import households
from stablerule.errors import OptionError, ReadError
from stablerule.graph import Triples
from stablerule.learning import embedding
from stablerule.learning.checkpoints import PROGRESS, STATE, CheckpointFolder
from stablerule.learning.embedding import (
    Batch,
    Queries,
    Tables,
    collect_queries,
    compute_slopes,
    hold_out_facts,
    multiplies_bfloat16,
    rank_held_out_facts,
    step_adagrad,
    take_batch,
    train_embedding,
)
from stablerule.learning.options import Embedding, EmbeddingSizes
from stablerule.reasoning.budget import Budget
from stablerule.reasoning.embedding import EntityEmbedding
from tests.worlds import random_graph

GRAPH = households(families=8, seed=0).dataset.graph
SIZES = EmbeddingSizes(
    size=16,
    batch_size=64,
    together=False,
    candidates=10**6,
    regularization=0.01,
    relation_weight=0.0,
    learning_rate=0.1,
    epochs=6,
    look_every=2,
    patience=3,
)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Products as small as these take longer in two."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def queries_of(seed: int, *, together: bool) -> Queries:
    return collect_queries(random_graph(seed).triples, 3, together=together)


def tables_of(size: int = 3, entities: int = 12, deviation: float = 0.5) -> Tables:
    """In float64, so that slopes can be compared with small steps."""
    tables = Tables(entities, 3, SIZES._replace(size=size), seed=1)
    tables.entities = (tables.entities * deviation * 100).double()
    tables.relations = (tables.relations * deviation * 100).double()
    tables.entity_squares, tables.relation_squares = tables.entity_squares.double(), tables.relation_squares.double()
    return tables


def whole(queries: Queries, candidates: int = 10**6) -> Batch:
    return take_batch(queries, np.arange(len(queries.heads)), 12, candidates, (0,))


def plain_loss(tables: Tables, facts: list[tuple[int, int, int]], o: EmbeddingSizes) -> torch.Tensor:
    """Add up the loss fact by fact, in complex numbers."""
    e = torch.complex(*tables.entities.chunk(2, dim=1))
    r = torch.complex(*tables.relations.chunk(2, dim=1))
    total = torch.zeros((), dtype=torch.float64)
    for head, relation, tail in facts:
        scores = torch.stack([(e[head] * r[relation] * other.conj()).sum().real for other in e])
        total = total - scores.log_softmax(0)[tail]
        leads = torch.stack([(e[head] * other * e[tail].conj()).sum().real for other in r])
        total = total - o.relation_weight * leads.log_softmax(0)[relation]
        total = total + o.regularization * sum(row.abs().pow(3).sum() for row in (e[head], r[relation], e[tail]))
    return total / len(facts)


def facts_of(queries: Queries) -> list[tuple[int, int, int]]:
    ends = zip(queries.starts[:-1], queries.starts[1:], strict=True)
    return [
        (int(h), int(r), int(t))
        for h, r, (low, high) in zip(queries.heads, queries.relations, ends, strict=True)
        for t in queries.tails[low:high]
    ]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_slopes_are_those_of_the_plain_formula(together: bool, weight: float) -> None:
    queries, o = queries_of(1, together=together), SIZES._replace(relation_weight=weight, regularization=0.3)
    tables = tables_of()
    loss, slope, relation_slope = compute_slopes(tables, whole(queries), o, torch.float64)
    tables.entities.requires_grad_(), tables.relations.requires_grad_()
    plain_loss(tables, facts_of(queries), o).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(slope, tables.entities.grad)
    torch.testing.assert_close(relation_slope, tables.relations.grad)
    bare = plain_loss(tables, facts_of(queries), o._replace(relation_weight=0.0, regularization=0.0))
    assert loss / len(queries.tails) == pytest.approx(float(bare.detach()))


def test_bfloat16_gives_nearly_the_same_slopes() -> None:
    tables = tables_of(size=32)
    tables.entities, tables.relations = tables.entities.float(), tables.relations.float()
    batch = whole(queries_of(1, together=True))
    _, *exact = compute_slopes(tables, batch, SIZES, torch.float32)
    _, *rounded = compute_slopes(tables, batch, SIZES, torch.bfloat16)
    for one, other in zip(exact, rounded, strict=True):
        assert float((one - other).norm() / one.norm()) < 0.02


@given(seed=st.integers(0, 50), candidates=st.integers(0, 14), together=st.booleans())
def test_drawn_entities_stand_for_all_others(seed: int, candidates: int, together: bool) -> None:
    queries = queries_of(seed, together=together)
    which = np.random.default_rng(seed).permutation(len(queries.heads))[:3]
    batch, full = (take_batch(queries, which, 12, count, (seed,)) for count in (candidates, 12))
    assert full.entities is None
    if batch.entities is None:
        assert candidates >= 12
        return
    assert batch.stand_for is not None
    ids, counts = batch.entities, batch.stand_for.exp()
    for places, expected in ((batch.heads, full.heads), (batch.tails, full.tails)):
        assert torch.equal(ids[places], expected)
    named = set(full.heads.tolist()) | set(full.tails.tolist())
    assert len(ids) == len(set(ids.tolist())) == min(12, len(named) + candidates)
    assert all(count == 1 for entity, count in zip(ids.tolist(), counts.tolist(), strict=True) if entity in named)
    if len(ids) > len(named):
        assert float(counts.sum()) == pytest.approx(12)


def test_a_step_with_all_entities_drawn_is_the_step_without_drawing() -> None:
    queries, steps = queries_of(2, together=True), []
    which = np.arange(4)
    named = len({*queries.heads[:4], *queries.tails[: queries.starts[4]]})
    for candidates in (12 - named, 12):
        tables = tables_of()
        batch = take_batch(queries, which, 12, candidates, (0,))
        _, slope, relation_slope = compute_slopes(tables, batch, SIZES, torch.float64)
        tables.entity_squares, tables.relation_squares = (
            tables.entity_squares.double(),
            tables.relation_squares.double(),
        )
        tables.step(batch.entities, slope, relation_slope, 0.1)
        steps.append(tables)
    assert batch.entities is None
    for name, tensor in steps[0].tensors().items():
        torch.testing.assert_close(tensor, steps[1].tensors()[name])


def test_steps_are_those_of_adagrad() -> None:
    table, squares = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.zeros(4, 3)
    theirs = table.clone().requires_grad_()
    adagrad = torch.optim.Adagrad([theirs], lr=0.1)
    for step in range(3):
        slope = torch.full((4, 3), step + 1.0) * table
        theirs.grad = slope.clone()
        adagrad.step()
        step_adagrad(table, squares, slope, 0.1)
    torch.testing.assert_close(table, theirs.detach())


def test_scores_are_those_of_complex_numbers() -> None:
    tables = tables_of()
    model = EntityEmbedding(tables.entities.float().numpy(), tables.relations.float().numpy())
    e, r = (table[:, :3] + 1j * table[:, 3:] for table in (model.entities, model.relations))
    heads, relations = np.array([0, 3, 11]), np.array([0, 5, 2])
    expected = [[float((e[h] * r[q] * t.conj()).sum().real) for t in e] for h, q in zip(heads, relations, strict=True)]
    np.testing.assert_allclose(model.score(heads, relations), expected, rtol=1e-5)
    again = EntityEmbedding.from_tensors(model.to_tensors())
    assert again.entities is model.entities
    assert again.relations is model.relations


def values(model: EntityEmbedding) -> Any:
    return np.concatenate([model.entities.ravel(), model.relations.ravel()])


def test_training_learns_what_held_out_facts_ask_for_and_repeats() -> None:
    model, course = train_embedding(GRAPH, GRAPH, SIZES)
    beginning = Tables(GRAPH.n_entities, GRAPH.n_relations, SIZES, 0).embedding()
    assert course.best_mrr is not None
    assert course.best_mrr > 5 * rank_held_out_facts(beginning, hold_out_facts(GRAPH.triples, 0)[1], GRAPH)
    assert course.epochs[-1]["loss"] < course.epochs[0]["loss"]
    again, _ = train_embedding(GRAPH, GRAPH, SIZES)
    np.testing.assert_array_equal(values(model), values(again))
    other, _ = train_embedding(GRAPH, GRAPH, SIZES, seed=1)
    assert (values(model) != values(other)).any()


def test_training_stops_where_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "rank_held_out_facts", lambda *_: 0.5)
    _, course = train_embedding(GRAPH, GRAPH, SIZES)
    assert (course.ended_by, course.best_epoch, len(course.epochs)) == ("epochs", 2, 3)
    _, course = train_embedding(GRAPH, GRAPH, SIZES._replace(epochs=50))
    assert (course.ended_by, len(course.epochs)) == ("patience", 4)


class Killed(Exception):
    pass


@pytest.mark.parametrize("candidates", [5, 10**6])
def test_a_killed_run_resumes_to_the_same_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, candidates: int) -> None:
    o = SIZES._replace(candidates=candidates, together=True, epochs=3, look_every=1)
    straight, course = train_embedding(GRAPH, GRAPH, o)
    folder = CheckpointFolder(tmp_path / "kept", {"seed": 0}, every_seconds=0)
    write, batches = folder.write, []

    def write_then_die(*args: Any, **more: Any) -> None:
        write(*args, **more)
        batches.append(more["progress"]["step"])
        if len(batches) in (4, 9):
            raise Killed

    monkeypatch.setattr(folder, "write", write_then_die)
    for _ in range(2):
        with pytest.raises(Killed):
            train_embedding(GRAPH, GRAPH, o, checkpoint=folder)
        folder.resume = True
    resumed, other = train_embedding(GRAPH, GRAPH, o, checkpoint=folder)
    np.testing.assert_array_equal(values(resumed), values(straight))
    assert other.epochs == course.epochs


def test_out_of_time_it_ends_and_goes_on_with_more(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "kept", {"seed": 0})
    _, course = train_embedding(GRAPH, GRAPH, SIZES, budget=Budget(0), checkpoint=folder)
    assert course.ended_by == "minutes"
    folder.resume = True
    resumed, _ = train_embedding(GRAPH, GRAPH, SIZES, checkpoint=folder)
    np.testing.assert_array_equal(values(resumed), values(train_embedding(GRAPH, GRAPH, SIZES)[0]))


def test_ctrl_c_ends_with_what_was_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    compute = embedding.compute_slopes

    def compute_and_interrupt(*args: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return compute(*args)

    monkeypatch.setattr(embedding, "compute_slopes", compute_and_interrupt)
    model, course = train_embedding(GRAPH, GRAPH, SIZES)
    assert course.ended_by == "interrupt"
    assert np.isfinite(values(model)).all()


def test_checkpoints_of_other_runs_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "kept", {"seed": 0}, resume=True)
    train_embedding(GRAPH, GRAPH, SIZES, budget=Budget(0), checkpoint=folder)
    with pytest.raises(ReadError, match="another run: seed differ"):
        train_embedding(GRAPH, GRAPH, SIZES, checkpoint=replace(folder, identity={"seed": 1}))
    with pytest.raises(ReadError, match="shape"):
        train_embedding(GRAPH, GRAPH, SIZES._replace(size=4), checkpoint=folder)
    said = json.loads((folder.folder / PROGRESS).read_text())
    for field, value in (("step", 10**6), ("epoch", -1), ("epoch", "x")):
        changed = said | {"progress": said["progress"] | {field: value}}
        (folder.folder / PROGRESS).write_text(json.dumps(changed))
        with pytest.raises(ReadError, match=r"Start again without --resume\."):
            train_embedding(GRAPH, GRAPH, SIZES, checkpoint=folder)
    (folder.folder / PROGRESS).write_text(json.dumps(said))
    (folder.folder / STATE).write_bytes((folder.folder / STATE).read_bytes()[:-1] + b"x")
    with pytest.raises(ReadError, match="checksum"):
        train_embedding(GRAPH, GRAPH, SIZES, checkpoint=folder)


def test_a_graph_of_one_fact_has_an_embedding() -> None:
    graph = random_graph(0, count=1)
    model, course = train_embedding(graph, graph, SIZES)
    assert np.isfinite(values(model)).all()
    assert course.best_mrr == rank_held_out_facts(model, Triples(graph.triples.rows), graph) == 1


def test_processors_say_whether_they_multiply_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "cpuinfo"
    monkeypatch.setattr(embedding, "CPU_FILE", said)
    for text, expected in (
        ("flags\t: fpu avx512_bf16 sse\n\nflags\t: fpu avx512_bf16\n", True),
        ("flags\t: fpu avx512_bf16 sse\n\nflags\t: fpu\n", False),
        ("Features\t: fp asimd bf16\n", True),
        ("model name\t: bf16\n", False),
        (None, False),
    ):
        said.unlink(missing_ok=True)
        if text is not None:
            said.write_text(text)
        multiplies_bfloat16.cache_clear()
        assert multiplies_bfloat16() is expected
    multiplies_bfloat16.cache_clear()


def test_sizes_follow_from_the_graph() -> None:
    small, large = Embedding().sizes_for(100, 5_000), Embedding().sizes_for(200_000, 500_000)
    assert small.size > large.size
    assert not small.together
    assert large.together
    assert small.regularization < large.regularization
    fixed = Embedding(size=7, regularization=0.0, batch_size=3, candidates=2)
    for sizes in (fixed.sizes_for(100, 5_000), fixed.sizes_for(200_000, 500_000)):
        assert (sizes.size, sizes.regularization, sizes.batch_size, sizes.candidates) == (7, 0.0, 3, 2)
    for wrong in ({"patience": 0}, {"regularization": -1.0}, {"learning_rate": math.nan}):
        with pytest.raises(OptionError):
            Embedding(**wrong)
