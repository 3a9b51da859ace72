"""ComplEx embeddings of entities and relations, trained on the facts of a graph: the whole algorithm on one page.

score(h, r, t) = Re(sum of h * r * conj(t)) over complex rows (Trouillon et al., 2016). As Lacroix et al. (2018) do, the
inverse of a relation has a row of its own, so every query asks for a tail; the loss is a softmax over all entities; the
cubes of the moduli are the regulariser (N3); steps are those of Adagrad. As Chen et al. (2021) do, the relation of a
fact is predicted as well.

Nearly all of the time goes into three products of a batch with all entities. Where the processor multiplies bfloat16,
they run in it, four times as fast, and the ranks are as good. On large graphs a query with many answers is one row
of the batch, which costs a row instead of one for each answer, and it is held against some of the entities only.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from stablerule.errors import InputError
from stablerule.evaluation import ByScores
from stablerule.graph import Triples
from stablerule.graph.triples import read_only
from stablerule.io.tensors import check_tensors, read_tensors
from stablerule.learning.checkpoints import PROGRESS, STATE
from stablerule.learning.network import denormals_as_zero
from stablerule.progress import progress_bar
from stablerule.reasoning.budget import Budget, interrupt_later
from stablerule.reasoning.embedding import EntityEmbedding
from stablerule.reasoning.learned import Course

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from stablerule.graph import Graph
    from stablerule.learning.checkpoints import CheckpointFolder
    from stablerule.learning.options import EmbeddingSizes

HELD_OUT, MOST_HELD_OUT = 0.03, 1000  # facts that judge an epoch
GAIN = 1e-3  # of the MRR: less is none
START = 0.01  # deviation of the first values: from large ones no step finds its way
LEAST_SHARE = 1e-30
SMALLEST = 1e-10  # below the line of a step
CPU_FILE = Path("/proc/cpuinfo")
FAST_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # what it says of processors that multiply bfloat16


class Queries(NamedTuple):
    """Queries (n,) with their answers: those of query i are tails[starts[i]:starts[i + 1]]."""

    heads: NDArray[np.int64]
    relations: NDArray[np.int64]
    starts: NDArray[np.int64]
    tails: NDArray[np.int64]


class Batch(NamedTuple):
    """Queries (b,) and the facts (f,) that answer them, in a choice of entities (n,).

    entities: ids, sorted; None is all. heads, tails: by their place among these. rows: the query that a fact answers.
    stand_for: (n,) the logarithm of how many entities one stands for; None where each stands for itself.
    """

    entities: Tensor | None
    heads: Tensor
    relations: Tensor
    rows: Tensor
    tails: Tensor
    stand_for: Tensor | None


class Tables:
    """Rows of complex numbers for entities (E, 2d) and relations (2R, 2d), with the squares that Adagrad adds up."""

    def __init__(self, entities: int, relations: int, o: EmbeddingSizes, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.entities = torch.randn(entities, 2 * o.size, generator=generator) * START
        self.relations = torch.randn(2 * relations, 2 * o.size, generator=generator) * START
        self.entity_squares, self.relation_squares = torch.zeros_like(self.entities), torch.zeros_like(self.relations)

    def step(self, rows: Tensor | None, slope: Tensor, relation_slope: Tensor, rate: float) -> None:
        """Go one step of Adagrad, with the slope of some rows of entities, or of all."""
        step_adagrad(self.relations, self.relation_squares, relation_slope, rate)
        if rows is None:
            step_adagrad(self.entities, self.entity_squares, slope, rate)
            return
        some, squares = self.entities[rows], self.entity_squares[rows]
        step_adagrad(some, squares, slope, rate)
        self.entities[rows], self.entity_squares[rows] = some, squares

    def tensors(self) -> dict[str, Tensor]:
        """Return all that the next step depends on, by name."""
        return dict(vars(self))

    def embedding(self) -> EntityEmbedding:
        """Return the embedding that answers; further steps change it."""
        return EntityEmbedding(self.entities.numpy(), self.relations.numpy())


def step_adagrad(table: Tensor, squares: Tensor, slope: Tensor, rate: float) -> None:
    """Change a table in place; what had steep slopes so far takes smaller steps."""
    squares.addcmul_(slope, slope)
    table.addcdiv_(slope, squares.sqrt().add_(SMALLEST), value=-rate)


@dataclass
class EmbeddingProgress:
    """The progress of training: what a checkpoint holds beside the tables. loss: of the epoch so far."""

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    best_mrr: float = -1.0
    best_epoch: int = 0
    without_gain: int = 0
    epochs: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if min(self.epoch, self.step, self.best_epoch, self.without_gain) < 0:
            raise InputError("epoch, step, best_epoch and without_gain must be 0 or more")


@dataclass(frozen=True)
class KeptEmbedding:
    """What `progress.json` of a checkpoint says."""

    identity: dict[str, Any]
    progress: EmbeddingProgress
    checksums: dict[str, str] = field(default_factory=dict)


@denormals_as_zero()
def train_embedding(
    facts: Graph,
    known: Graph,
    o: EmbeddingSizes,
    *,
    seed: int = 0,
    budget: Budget | None = None,
    checkpoint: CheckpointFolder | None = None,
) -> tuple[EntityEmbedding, Course]:
    """Learn from facts until some of them, which are held out, are ranked no better.

    known: a graph with all facts that are no wrong answers where the held-out facts are ranked. Ctrl-C ends training
    with what was learned so far, and so does the budget. Either leaves a checkpoint, from which a run goes on.
    """
    began, budget = time.perf_counter(), budget or Budget(None)
    learned, judging = hold_out_facts(facts.triples, seed)
    queries = collect_queries(learned, facts.n_relations, together=o.together)
    tables, at = Tables(facts.n_entities, facts.n_relations, o, seed), EmbeddingProgress()
    batches, shuffled, ended_by = math.ceil(len(queries.heads) / o.batch_size), -1, "epochs"
    if checkpoint and checkpoint.there:
        at = restore_checkpoint(checkpoint, tables, batches)
    with progress_bar("learning an embedding", o.epochs * batches) as advance, interrupt_later() as interrupted:
        advance(at.epoch * batches + at.step)
        while at.epoch < o.epochs and at.without_gain < o.patience and ended_by == "epochs":
            if shuffled != at.epoch:
                order, shuffled = np.random.default_rng((seed, at.epoch)).permutation(len(queries.heads)), at.epoch
            which = order[at.step * o.batch_size : (at.step + 1) * o.batch_size]
            batch = take_batch(queries, which, facts.n_entities, o.candidates, (seed, at.epoch, at.step))
            loss, slope, relation_slope = compute_slopes(tables, batch, o)
            tables.step(batch.entities, slope, relation_slope, o.learning_rate)
            at.loss, at.step = at.loss + loss / len(queries.tails), at.step + 1
            advance(1, f"epoch {at.epoch + 1}  MRR {max(at.best_mrr, 0):.3f} on facts held out")
            if at.step == batches:
                at.epoch, at.step = at.epoch + 1, 0
                if at.epoch % o.look_every == 0 or at.epoch == o.epochs:
                    note_mrr(at, rank_held_out_facts(tables.embedding(), judging, known))
            if interrupted() or budget.passed:
                ended_by = "interrupt" if interrupted() else "minutes"
            if checkpoint and (checkpoint.is_due() or ended_by != "epochs"):
                at.seconds, began = at.seconds + time.perf_counter() - began, time.perf_counter()
                checkpoint.write(tables.tensors(), progress=asdict(at))
    course = Course(epochs=at.epochs, best_epoch=at.best_epoch, ended_by=ended_by)
    course.best_mrr, course.seconds = max(at.best_mrr, 0.0), at.seconds + time.perf_counter() - began
    if ended_by == "epochs" and at.without_gain >= o.patience:
        course.ended_by = "patience"
    return tables.embedding(), course


def note_mrr(at: EmbeddingProgress, mrr: float) -> None:
    """Take note of an MRR on the facts that are held out, and whether it is a gain."""
    at.epochs.append({"epoch": at.epoch, "loss": at.loss, "mrr": mrr})
    at.loss, at.without_gain = 0.0, at.without_gain + 1
    if mrr > at.best_mrr + GAIN:
        at.best_mrr, at.best_epoch, at.without_gain = mrr, at.epoch, 0


def restore_checkpoint(checkpoint: CheckpointFolder, tables: Tables, batches: int) -> EmbeddingProgress:
    """Load a checkpoint into the tables, and return how far it came."""
    kept = checkpoint.read_record(KeptEmbedding)
    files, into = checkpoint.files(kept.checksums), tables.tensors()
    found = read_tensors(files, STATE)
    check_tensors(found, {name: tuple(tensor.shape) for name, tensor in into.items()}, files, STATE)
    for name, tensor in into.items():
        tensor.copy_(torch.from_numpy(found[name].copy()))
    if kept.progress.step >= batches:
        raise files.make_damage_error(PROGRESS, f"step {kept.progress.step:,} of an epoch of {batches:,}")
    return kept.progress


@cache
def multiplies_bfloat16() -> bool:
    """Tell whether the processor multiplies bfloat16 by itself; elsewhere it is slower than float32."""
    try:
        text = CPU_FILE.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    flags = [set(line.split()) for line in text.splitlines() if line.lower().startswith(("flags", "features"))]
    return bool(flags) and all(FAST_BFLOAT16 & one for one in flags)


def hold_out_facts(facts: Triples, seed: int) -> tuple[Triples, Triples]:
    """Part some facts, which say when training is over, from those that are learned from; a few facts do both."""
    count = min(int(HELD_OUT * len(facts)), MOST_HELD_OUT)
    if not count:
        return facts, facts
    order = np.random.default_rng((seed, len(facts))).permutation(len(facts))
    return facts.take(np.sort(order[count:])), facts.take(np.sort(order[:count]))


def ask_both_ways(facts: Triples, relations: int) -> Triples:
    """Ask each fact for its tail and, by the inverse, for its head."""
    rows = facts.rows
    inverse = np.stack([rows[:, 2], rows[:, 1] + np.int32(relations), rows[:, 0]], axis=1)
    return Triples(read_only(np.concatenate([rows, inverse])))


def rank_held_out_facts(embedding: EntityEmbedding, facts: Triples, known: Graph) -> float:
    """Return the realistic MRR of the answers to facts, asked both ways; 0 without any."""
    if not len(facts):
        return 0.0
    ranks = ByScores(embedding.score).rank(ask_both_ways(facts, known.n_relations), graph=known, known=known)
    return float((1 / ranks.form("realistic")).mean())


def collect_queries(facts: Triples, relations: int, *, together: bool) -> Queries:
    """Ask facts both ways; together: each different query once, with all of its answers."""
    asked = ask_both_ways(facts, relations).rows.astype(np.int64)
    asked = asked[np.lexsort(asked.T[::-1])]
    new = np.ones(len(asked), bool)
    if together:
        new[1:] = (asked[1:, :2] != asked[:-1, :2]).any(1)
    starts = np.flatnonzero(new)
    return Queries(asked[starts, 0], asked[starts, 1], np.append(starts, len(asked)), asked[:, 2])


def take_batch(
    queries: Queries, which: NDArray[np.int64], entities: int, candidates: int, seed: tuple[int, ...]
) -> Batch:
    """Return some queries with all of their answers, among all entities or among so many that are drawn.

    Entities in the facts of the batch are always included, with weight 1; the sampled ones represent all
    others. So the sum over all entities is estimated without bias.
    """
    counts = queries.starts[which + 1] - queries.starts[which]
    rows = np.repeat(np.arange(len(which)), counts)
    at = np.arange(counts.sum()) + np.repeat(queries.starts[which] - np.cumsum(counts) + counts, counts)
    heads, relations, tails = queries.heads[which], queries.relations[which], queries.tails[at]
    ids, stand_for = None, None
    if candidates < entities:
        named = np.zeros(entities, bool)
        named[heads], named[tails] = True, True
        others = np.flatnonzero(~named)
        drawn = np.random.default_rng(seed).permutation(others)[:candidates]
        chosen = np.sort(np.concatenate([np.flatnonzero(named), drawn]))
        heads, tails = np.searchsorted(chosen, heads), np.searchsorted(chosen, tails)
        each = math.log(max(len(others), 1) / max(len(drawn), 1))
        ids, stand_for = torch.from_numpy(chosen), torch.from_numpy(np.where(named[chosen], 0.0, each))
    h, r, q, t = (torch.from_numpy(column) for column in (heads, relations, rows, tails))
    return Batch(ids, h, r, q, t, stand_for)


def compute_slopes(
    tables: Tables, batch: Batch, o: EmbeddingSizes, numbers: torch.dtype | None = None
) -> tuple[float, Tensor, Tensor]:
    """Return the loss of a batch, as a sum over its facts, and the slopes of its mean by the rows of both tables.

    The loss of a fact is -log softmax(answer) among all entities, plus relation_weight * -log softmax(relation) among
    all relations, plus regularization * the cubes of the moduli of its three rows. The sum that is returned is that
    of the first. numbers: those that products are made in; None chooses.
    """
    kind = numbers or (torch.bfloat16 if multiplies_bfloat16() else torch.float32)
    entities = tables.entities if batch.entities is None else tables.entities[batch.entities]  # (n, 2d)
    head, relation = entities[batch.heads], tables.relations[batch.relations]  # (b, 2d)
    answers = torch.bincount(batch.rows, minlength=len(batch.heads)).to(head)[:, None]  # (b, 1) facts of a query
    columns, place = entities.to(kind), multiply_rows(head, relation).to(kind)  # (n, 2d), (b, 2d)
    scores = place @ columns.T  # (b, n)
    if batch.stand_for is not None:
        scores += batch.stand_for.to(kind)
    slope = torch.softmax(scores, 1)
    found = slope[batch.rows, batch.tails].to(head)
    slope *= answers.to(kind)
    slope.index_put_((batch.rows, batch.tails), slope.new_tensor(-1.0), accumulate=True)

    place_slope, entity_slope = (slope @ columns).to(head), (slope.T @ place).to(head)  # (b, 2d), (n, 2d)
    cubes = o.regularization * answers
    head_slope = multiply_by_conjugates(place_slope, relation) + cubes * slope_of_cubes(head)
    own_slope = multiply_by_conjugates(place_slope, head) + cubes * slope_of_cubes(relation)
    entity_slope.index_add_(0, batch.heads, head_slope)
    relation_slope = torch.zeros_like(tables.relations).index_add_(0, batch.relations, own_slope)  # (2R, 2d)
    counts = torch.bincount(batch.tails, minlength=len(entities))
    tails = counts.nonzero()[:, 0]
    entity_slope.index_add_(0, tails, o.regularization * counts[tails, None] * slope_of_cubes(entities[tails]))
    if o.relation_weight:
        add_relation_slopes(entities, tables.relations, batch, o.relation_weight, entity_slope, relation_slope)
    loss, facts = -float(found.clamp_min(LEAST_SHARE).log().sum()), len(batch.tails)
    return loss, entity_slope.div_(facts), relation_slope.div_(facts)


def add_relation_slopes(
    entities: Tensor, relations: Tensor, batch: Batch, weight: float, entity_slope: Tensor, relation_slope: Tensor
) -> None:
    """Add the slopes of -log softmax(relation) for each fact: which relation leads from its head to its tail?"""
    heads = batch.heads[batch.rows]
    head, tail = entities[heads], entities[batch.tails]  # (f, 2d)
    place = multiply_by_conjugates(tail, head)  # its plain product with the row of a relation is the score
    slope = torch.softmax(place @ relations.T, 1)  # (f, 2R)
    slope[torch.arange(len(slope)), batch.relations[batch.rows]] -= 1
    slope *= weight
    relation_slope += slope.T @ place
    place_slope = slope @ relations
    entity_slope.index_add_(0, batch.tails, multiply_rows(place_slope, head))
    entity_slope.index_add_(0, heads, multiply_by_conjugates(tail, place_slope))


def slope_of_cubes(rows: Tensor) -> Tensor:
    """Return the slope of the sum of cubed moduli by each number, (n, 2d)."""
    return 3 * measure_moduli(rows).repeat(1, 2) * rows


def multiply_rows(a: Tensor, b: Tensor) -> Tensor:
    """Return a * b for rows of complex numbers (n, 2d), real parts first."""
    (ar, ai), (br, bi) = a.chunk(2, dim=1), b.chunk(2, dim=1)
    return torch.cat([ar * br - ai * bi, ar * bi + ai * br], dim=1)


def multiply_by_conjugates(a: Tensor, b: Tensor) -> Tensor:
    """Return a * conj(b) for rows of complex numbers (n, 2d), real parts first."""
    (ar, ai), (br, bi) = a.chunk(2, dim=1), b.chunk(2, dim=1)
    return torch.cat([ar * br + ai * bi, ai * br - ar * bi], dim=1)


def measure_moduli(rows: Tensor) -> Tensor:
    """Return the moduli (..., d) of rows of complex numbers (..., 2d).

    The gradient of a modulus of nothing is nothing, not infinite.
    """
    real, imaginary = rows.chunk(2, dim=-1)
    return (real.square() + imaginary.square()).clamp_min(1e-24).sqrt()
