"""RNNLogic: a generator proposes rules, a predictor measures which of them help, and that trains the generator."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
import torch

from stablerule.extending import (
    RULE_NUMBERS,
    Aggregation,
    Calibration,
    Candidates,
    Choice,
    Course,
    Learned,
    RuleReasoner,
    RuleSearcher,
    calibrate,
    check_option_at_least,
    check_walk_lengths,
    encode_rules,
    interrupt_later,
    keep_best_bodies,
    limit_measuring_to_budget,
    measure_rules,
    name_learned_rules,
    set_rule_weights,
    smooth_sample_counts,
)
from stablerule.graph import Dataset, Graph, Triples
from stablerule.rules import RuleSet
from stablerule_lab.inside.network import check_torch_device
from stablerule_lab.methods.rnnlogic.generator import (
    RuleGenerator,
    find_likeliest,
    log_probabilities,
    teach,
    write_rules,
)
from stablerule_lab.methods.rnnlogic.predictor_searcher import PredictorSearcher
from stablerule_lab.methods.rnnlogic.worth import Lessons, Worth, Written, weigh_rules
from stablerule_lab.methods.shared.chains import LEAST_SUPPORT, MEASURE_BUDGET, check_rate, plan_chains, sample_chains
from stablerule_lab.methods.shared.network_reasoner import read_tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.extending import Budget, Encoded, Lesson, RuleSamples, SavedModel, Searcher

    Stopped = Callable[[], bool]

SMOOTHING = 5.0  # of the counts that choose mined rules
PRETRAINING, ROUNDS, PREDICTING, MEASURING = (
    0.2,
    0.7,
    0.7,
    0.3,
)  # shares of the time left
ANSWERING = Aggregation("count", by="score")  # the sum of weight * paths


@dataclass(frozen=True)
class Generator:
    """How the rule generator is trained, an LSTM of `size` numbers.

    mined_rules: rules of each relation for pre-training, mined from samples. first_steps: steps of pre-training. steps:
    steps of each round; a step has 1,000 rules. rate: the learning rate.
    """

    size: int = 256
    mined_rules: int = 500
    first_steps: int = 500
    steps: int = 100
    rate: float = 0.001

    def __post_init__(self) -> None:
        for name in ("size", "mined_rules", "first_steps"):
            check_option_at_least(1, name, getattr(self, name))
        check_option_at_least(0, "steps", self.steps)
        check_rate("rate", self.rate)


@dataclass(frozen=True)
class Predictor:
    """How the predictor of each relation learns the weights of rules, in epochs over facts of the relation.

    batch_size: facts in a batch. penalty: L2 penalty of the weights. most_queries: the most facts to use. entity_bias:
    learn a bias for each entity, as the publication does if all entities are known. It helps if answers repeat
    (Kinship), and harms if they seldom do (Family).
    """

    epochs: int = 20
    batch_size: int = 16
    learning_rate: float = 0.003
    penalty: float = 0.0
    most_queries: int = 1000
    entity_bias: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "most_queries"):
            check_option_at_least(1, name, getattr(self, name))
        check_option_at_least(0, "penalty", self.penalty)
        check_rate("learning_rate", self.learning_rate)


class RNNLogic(RuleReasoner):
    """A rule generator and an answer predictor that train each other (Qu et al. 2021).

    The generator, an LSTM, is pre-trained on rules mined from samples. Then, `rounds` times: it generates
    `sampled_rules` distinct rules for each relation; a predictor of each relation learns their weights from facts of
    the graph, each hidden while it is the query; and the generator is trained on the rules by their influence. Finally
    the best `rules_per_relation` rules by beam search are kept, and the predictor is trained once more.

    An answer's score is the sum of weight * paths; a rule's `score` is its weight, which may be negative. With
    `predictor.entity_bias` the answer's bias is added; an unseen entity has the mean bias.

    Differences from the publication, and choices that it leaves open: the entities of a path are distinct; other known
    answers of a query do not compete; a predictor uses a limited number of facts; rules that conclude no fact are
    dropped.

    prior_weight: weight of the generator's own probability of a rule, relative to its influence. generator, predictor:
    see these classes.

    >>> from stablerule import households
    >>> dataset = households(families=2, seed=0).dataset
    >>> small = Generator(size=16, first_steps=40, steps=5, rate=0.02)
    >>> learner = RNNLogic(walks=5_000, rounds=1, sampled_rules=20, rules_per_relation=20, generator=small)
    >>> len(learner.fit(dataset.graph).rules.filter(head_relation="grandparent_of")) > 5
    True
    """

    method: ClassVar[str] = "rnnlogic"
    old_names: ClassVar[dict[str, str]] = {
        **{name: f"generator.{name}" for name in ("size", "mined_rules", "first_steps")},
        **{f"generator_{name}": f"generator.{name}" for name in ("steps", "rate")},
        **{name: f"predictor.{name}" for name in Predictor.__dataclass_fields__},
    }

    def __init__(
        self,
        *,
        max_length: int = 3,
        walks: int | None = None,
        rounds: int = 5,
        sampled_rules: int = 100,
        rules_per_relation: int = 100,
        prior_weight: float = 1e-3,
        generator: Generator = Generator(),
        predictor: Predictor = Predictor(),
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.walks = walks
        self.rounds = rounds
        self.sampled_rules = sampled_rules
        self.rules_per_relation = rules_per_relation
        self.prior_weight = prior_weight
        self.generator = generator
        self.predictor = predictor
        self.device = device
        self.seed = seed

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
    ) -> Self:
        """Train on a graph; `valid` is for calibration."""
        lesson = self._begin(graph, valid, examples, minutes)
        return self._end(lesson, fit_rnnlogic(lesson, self))

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Return the plan of `fit` on a graph."""
        self.check_options()
        rules = 2 * graph.n_relations * self.sampled_rules
        queries = int(2 * np.minimum(np.diff(graph.fact_offsets), self.predictor.most_queries).sum())
        return plan_chains(
            graph,
            self,
            f"{self.generator.first_steps:,} steps on mined rules, then {self.rounds} rounds of "
            f"{self.generator.steps:,}",
            f"in each round {rules:,} rules, evaluated on up to {queries:,} queries",
            minutes=minutes,
        )

    @property
    def bias(self) -> NDArray[np.float32]:
        """The bias of each entity as an answer (2R, E); (2R, 0) without `entity_bias`."""
        tensors = self._tensors()
        return np.zeros((2 * self.data_.relations, 0), np.float32) if tensors is None else tensors["bias"]

    def rule_searcher(self, graph: Graph | None = None) -> RuleSearcher:
        """Return the rules prepared for a graph, without biases, to explain answers."""
        found = self.searcher(graph)
        return found.rules if isinstance(found, PredictorSearcher) else super().rule_searcher(graph)

    def _searcher(self, graph: Graph) -> Searcher:
        rules = RuleSearcher(encode_weights(self.rules, graph), self.learned_.aggregation or ANSWERING)
        return PredictorSearcher(rules, self.bias_on(graph), name=self.method) if self.predictor.entity_bias else rules

    def bias_on(self, graph: Graph) -> NDArray[np.float32]:
        """Return the biases by the ids of a graph; an unseen entity has the mean of the relation."""
        learned, own, words = self.bias, self.vocabulary_, graph.vocabulary
        relations = own.relations.ids_of(words.relations.table)
        both = np.concatenate([relations, np.where(relations < 0, -1, relations + len(own.relations))])
        entities = own.entities.ids_of(words.entities.table)
        bias = learned[:, entities]
        bias[:, entities < 0] = learned.mean(1, keepdims=True)
        found: NDArray[np.float32] = np.where(both[:, None] < 0, np.float32(0), bias[both])
        return found

    def _tensors(self) -> dict[str, Any] | None:
        return None if self.learned_.network is None else dict(self.learned_.network)

    def _load_own(self, saved: SavedModel) -> None:
        if self.predictor.entity_bias:
            self.learned_ = replace(saved.learned, network=read_tensors(saved))

    def _check_options(self) -> None:
        super()._check_options()
        check_walk_lengths(1, self.max_length)
        self._check_at_least(1, "walks", "sampled_rules", "rules_per_relation")
        self._check_at_least(0, "rounds", "prior_weight")
        check_torch_device(self.device)


def fit_rnnlogic(lesson: Lesson, o: RNNLogic) -> Learned:
    """Train a generator and predictors in turn, and keep the rules that the generator ranks best."""
    graph, budget, began = lesson.graph, lesson.budget, time.perf_counter()
    # 1. sample: (body, head relation) pairs from walks
    samples, course = sample_chains(lesson, o), Course()
    counted = {"samples": samples.n_samples, "bodies": samples.n_bodies}
    if not samples.n_bodies and not o.predictor.entity_bias:  # no walk reached another entity
        return calibrate_weights(lesson, o, RuleSet(), **counted)

    with torch.random.fork_rng(devices=[]), interrupt_later() as interrupted:
        torch.manual_seed(o.seed)  # leaves the caller's random state unchanged
        generator = RuleGenerator(graph.n_relations, o.generator.size, o.max_length).to(o.device)

        # 2. pre-train the generator on the rules whose bodies close most often among the samples
        losses = learn_mined_rules(generator, samples, o, budget.take_part(PRETRAINING), interrupted)
        course.steps = [{"loss": loss} for loss in losses]

        # 3. generator and predictors train each other
        time_for_it, random = budget.take_part(ROUNDS), torch.Generator().manual_seed(o.seed)
        relations = np.flatnonzero([len(lesson.examples.facts.facts(r)[0]) for r in range(2 * graph.n_relations)])
        for number in range(o.rounds):
            if time_for_it.passed or interrupted():
                break
            part = time_for_it.take_part(1 / (o.rounds - number))
            rules = write_rules(generator, relations, o.sampled_rules, random)
            worth = learn_weights(lesson, rules, o, number, part.take_part(PREDICTING), interrupted)
            kept = posterior(worth.influence, log_probabilities(generator, rules), o.prior_weight)
            losses = teach(
                generator,
                rules,
                kept,
                steps=o.generator.steps,
                rate=o.generator.rate,
                seed=(o.seed, 1, number),
                stopped=stop_after(part, interrupted),
            )
            course.rounds.append(
                {
                    "rules": len(rules.heads),
                    "kept": int((kept > 0).sum()),
                    "predictor_loss": worth.loss,
                    "generator_loss": losses[-1] if losses else None,
                }
            )

        # 4. keep the generator's likeliest rules, and measure them on the graph
        likeliest = find_likeliest(generator, relations, o.rules_per_relation)
        rules, frame = measure_written(lesson, likeliest, o)

        # 5. the predictors learn the weights of these rules
        worth = learn_weights(lesson, rules, o, o.rounds, budget.take_part(1 - MEASURING), interrupted)
        course.checks.append({"predictor_loss": worth.loss})
        course.ended_by = "interrupt" if interrupted() else "itself"
    course.seconds = time.perf_counter() - began
    weighed = RuleSet.from_frame(frame.with_columns(score=pl.Series(worth.weights, dtype=pl.Float64)))

    # 6. calibrate; no aggregation is chosen, since the predictors give the weights
    tensors = {"bias": worth.bias} if o.predictor.entity_bias else None
    return calibrate_weights(lesson, o, weighed, course=course, network=tensors, **counted)


def posterior(
    influence: NDArray[np.float64], log_prior: NDArray[np.float64], prior_weight: float
) -> NDArray[np.float64]:
    """Return H + prior_weight * log prior (n,), at least 0."""
    return np.maximum(influence + prior_weight * log_prior, 0)


def learn_mined_rules(
    generator: RuleGenerator, samples: RuleSamples, o: RNNLogic, budget: Budget, interrupted: Stopped
) -> list[float]:
    """Train the generator on mined rules; return the losses."""
    closed = samples.cell_heads != samples.negative
    cells = samples.cell_bodies[closed].astype(np.int64), samples.cell_heads[closed].astype(np.int64)
    scored = Candidates(*cells, smooth_sample_counts(samples, SMOOTHING)[closed])
    mined = keep_best_bodies([scored], samples.n_relations, o.generator.mined_rules)
    rules = Written(mined.heads.astype(np.int32), samples.bodies[mined.bodies])
    g = o.generator
    stopped = stop_after(budget, interrupted)
    return teach(generator, rules, mined.scores, steps=g.first_steps, rate=g.rate, seed=(o.seed, 0), stopped=stopped)


def stop_after(budget: Budget, interrupted: Stopped) -> Stopped:
    """Return a function that says when to stop: after the time budget, or Ctrl-C."""
    return lambda: budget.passed or interrupted()


def learn_weights(
    lesson: Lesson, rules: Written, o: RNNLogic, number: int, budget: Budget, interrupted: Stopped
) -> Worth:
    """Learn the weights of rules; number: the number of rounds so far."""
    p = o.predictor
    how = Lessons(
        p.epochs, p.batch_size, p.learning_rate, p.penalty, p.most_queries, p.entity_bias, (o.seed, 2, number)
    )
    return weigh_rules(lesson.graph, rules, lesson.examples, how, budget, interrupted)


def measure_written(lesson: Lesson, rules: Written, o: RNNLogic) -> tuple[Written, pl.DataFrame]:
    """Measure rules on the graph; return those that conclude a fact, and their indices."""
    graph, budget = lesson.graph, limit_measuring_to_budget(lesson.budget.take_part(MEASURING), MEASURE_BUDGET)
    found = measure_rules(graph, rules.bodies, rules.heads, examples=lesson.examples, budget=budget, seed=o.seed)
    kept = np.flatnonzero(found.support >= LEAST_SUPPORT)
    numbers = {name: pl.Series(getattr(found, name)[kept]) for name in RULE_NUMBERS if hasattr(found, name)}
    frame = name_learned_rules(graph, rules.bodies[kept], rules.heads[kept].astype(np.int64)).with_columns(**numbers)
    return rules.take(kept), frame


def calibrate_weights(lesson: Lesson, o: RNNLogic, rules: RuleSet, **record: Any) -> Learned:
    """Calibrate the sum of weight * paths, and check it on all validation facts, which chose nothing."""
    graph, valid = lesson.graph, lesson.valid
    found: Calibration | str = "it is for answers by rules alone, and these have biases of entities, too"
    if not o.predictor.entity_bias:
        known = graph if valid is None else Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
        found = calibrate(RuleSearcher(encode_weights(rules, graph), ANSWERING), known, check=valid, seed=o.seed)
    return Learned(rules, Choice.fixed(ANSWERING, "the method has one way"), found, **record)


def encode_weights(rules: RuleSet, graph: Graph) -> Encoded:
    """Prepare rules for a graph with their raw weights; elsewhere weights are between 0 and 1."""
    encoded = encode_rules(rules, graph, "score")
    weights = rules.to_frame()["score"].to_numpy()[encoded.rows]
    return set_rule_weights(encoded, weights, weights)
