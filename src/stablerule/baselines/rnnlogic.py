"""RNNLogic: a generator writes rules, a predictor says which of them helped, and the generator learns from that."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
import torch

from stablerule.baselines.path_learner import PathLearner
from stablerule.baselines.predictor_search import PredictorSearch
from stablerule.baselines.rule_generator import RuleGenerator
from stablerule.baselines.rule_worth import Lessons, Worth, Written, weigh_rules
from stablerule.baselines.steps import run_steps
from stablerule.errors import InputError
from stablerule.graph import Graph, Triples
from stablerule.learning.extraction import Candidates, best_of, rule_frame
from stablerule.learning.interrupting import interrupt_later
from stablerule.learning.plan import budget_within
from stablerule.learning.tabular import smoothed
from stablerule.progress import progress_bar
from stablerule.reasoning.aggregation import Aggregation
from stablerule.reasoning.calibration import Calibration, calibrate
from stablerule.reasoning.folder import NETWORK
from stablerule.reasoning.search import Search
from stablerule.reasoning.theory import encode_rules
from stablerule.rules import RuleSet
from stablerule.rules.scored import NUMBERS
from stablerule.rules.statistics import measure_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stablerule.paths.examples import ExampleFacts
    from stablerule.reasoning.deadline import Deadline
    from stablerule.reasoning.folder import SavedModel
    from stablerule.reasoning.searching import Searcher
    from stablerule.reasoning.theory import Encoded
    from stablerule.samples import RuleSamples

    Stopped = Callable[[], bool]

SMOOTHING = 5.0  # of the counts by which mined rules are chosen
OVERSAMPLING = 5  # bodies written for each one that is wanted: many are the same
RULES_A_STEP = 1000  # that the generator learns from
ROWS = 20_000  # bodies written at once
PRETRAINING, ROUNDS, MEASURING = 0.2, 0.7, 0.3  # of the time left: before the rounds, in them, and after them


def posterior(
    influence: NDArray[np.float64], log_prior: NDArray[np.float64], prior_weight: float
) -> NDArray[np.float64]:
    """H + prior_weight * log prior (n,), and 0 where that is below."""
    return np.maximum(influence + prior_weight * log_prior, 0)


class RNNLogic(PathLearner):
    """A generator of rules and a predictor of answers, which teach each other (Qu et al. 2021).

    The generator, an LSTM, is first trained on rules mined from samples. Then, `rounds` times: it writes
    `sampled_rules` different rules for each relation; a predictor of each relation learns what they are worth from
    facts of the graph, each hidden while it is asked for; and the generator learns from the rules by what they gave. At
    the end the best `rules_per_relation` rules by beam search are kept, and the predictor learns once more.

    An answer's score is the sum of weight * paths; a rule's `score` is its weight, which may be negative. Where all
    entities are known, the paper adds a bias of each entity for each relation: `entity_bias=True`. It helps where
    answers come again (Kinship), and harms where they seldom do (Family). An entity that is new then has the mean.

    What the paper leaves open, and what differs: a path's entities are distinct; other known answers of a query are no
    rivals; a predictor looks at `most_queries` facts at most; rules that conclude no fact at all are left out.

    learning_rate, batch_size, epochs and penalty are those of the predictor, generator_rate and the steps, of 1,000
    rules each, those of the generator.

    >>> from stablerule import households
    >>> dataset = households(families=5, seed=0).dataset
    >>> small = {"walks": 20_000, "size": 16, "first_steps": 80, "generator_rate": 0.02, "generator_steps": 10}
    >>> model = RNNLogic(**small, rounds=1, sampled_rules=20, rules_per_relation=20).fit(dataset.graph)
    >>> len(model.rules.filter(head_relation="grandparent_of")) > 5
    True
    """

    method: ClassVar[str] = "rnnlogic"
    bias_: NDArray[np.float32]
    min_length: int = 1
    rules_per_relation: int

    def __init__(
        self,
        *,
        max_length: int = 3,
        walks: int | None = None,
        size: int = 256,
        mined_rules: int = 500,
        first_steps: int = 500,
        generator_steps: int = 100,
        generator_rate: float = 0.001,
        rounds: int = 5,
        sampled_rules: int = 100,
        rules_per_relation: int = 100,
        prior_weight: float = 1e-3,
        entity_bias: bool = False,
        epochs: int = 20,
        batch_size: int = 16,
        learning_rate: float = 0.003,
        penalty: float = 0.0,
        most_queries: int = 1000,
        minutes: float | None = None,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.walks = walks
        self.size = size
        self.mined_rules = mined_rules
        self.first_steps = first_steps
        self.generator_steps = generator_steps
        self.generator_rate = generator_rate
        self.rounds = rounds
        self.sampled_rules = sampled_rules
        self.rules_per_relation = rules_per_relation
        self.prior_weight = prior_weight
        self.entity_bias = entity_bias
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.penalty = penalty
        self.most_queries = most_queries
        self.minutes = minutes
        self.device = device
        self.seed = seed

    def plan_lines(self, graph: Graph) -> list[str]:
        """Say what `fit` would do on a graph."""
        self.check_options()
        numbers = 2 * graph.n_relations
        queries = int(2 * np.minimum(np.diff(graph.fact_offsets), self.most_queries).sum())
        return self._plan_walks(
            graph,
            f"{self.first_steps:,} steps on mined rules, then {self.rounds} rounds of {self.generator_steps:,}",
            f"in each round {numbers * self.sampled_rules:,} rules, tried on up to {queries:,} queries",
        )

    def _learn(self, graph: Graph, valid: Triples | None, examples: ExampleFacts, deadline: Deadline) -> RuleSet:
        began = time.perf_counter()
        samples = self._sample(graph, examples, deadline)
        self.bias_ = np.zeros((2 * graph.n_relations, graph.n_entities if self.entity_bias else 0), np.float32)
        self.learned_ = {"samples": samples.n_samples, "bodies": samples.n_bodies, "interrupted": False, "rounds": []}
        if not samples.n_bodies and not self.entity_bias:  # every walk came back to where it began
            return RuleSet()
        with torch.random.fork_rng(devices=[]), interrupt_later() as interrupted:
            torch.manual_seed(self.seed)  # the caller's random numbers stay as they were
            generator = RuleGenerator(graph.n_relations, self.size, self.max_length).to(self.device)
            self._pretrain(generator, samples, deadline.part(PRETRAINING), interrupted)
            written = self._rounds(generator, graph, examples, deadline.part(ROUNDS), interrupted)
            rules = self._measured(graph, written, examples, deadline)
            worth = self._predict(graph, rules[0], examples, deadline.part(1 - MEASURING), interrupted, self.rounds)
            self.learned_["interrupted"] = interrupted()
        self.bias_ = worth.bias
        self.learned_ |= {"loss": worth.loss, "seconds": time.perf_counter() - began}
        return RuleSet.from_frame(rules[1].with_columns(score=pl.Series(worth.weights, dtype=pl.Float64)))

    def _pretrain(
        self, generator: RuleGenerator, samples: RuleSamples, deadline: Deadline, interrupted: Stopped
    ) -> None:
        """Train the generator on the rules whose bodies are closed most often, as far as samples tell."""
        closed = samples.cell_heads != samples.negative
        cells = samples.cell_bodies[closed].astype(np.int64), samples.cell_heads[closed].astype(np.int64)
        mined = best_of(
            [Candidates(*cells, smoothed(samples, SMOOTHING)[closed])], samples.n_relations, self.mined_rules
        )
        rules = Written(mined.heads.astype(np.int32), samples.bodies[mined.bodies])
        losses = self._train(generator, rules, mined.scores, self.first_steps, (0,), deadline, interrupted)
        self.learned_["first_losses"] = losses

    def _rounds(
        self,
        generator: RuleGenerator,
        graph: Graph,
        examples: ExampleFacts,
        deadline: Deadline,
        interrupted: Stopped,
    ) -> Written:
        """Let generator and predictor teach each other; returns the rules that the generator then finds likeliest."""
        random = torch.Generator().manual_seed(self.seed)
        relations = np.flatnonzero([len(examples.facts.facts(r)[0]) for r in range(2 * graph.n_relations)])
        for number in range(self.rounds):
            if deadline.passed or interrupted():
                break
            part = deadline.part(1 / (self.rounds - number))
            rules = self._write(generator, relations, random)
            worth = self._predict(graph, rules, examples, part.part(0.7), interrupted, number)
            kept = posterior(worth.influence, self._log_prior(generator, rules), self.prior_weight)
            losses = self._train(generator, rules, kept, self.generator_steps, (1, number), part, interrupted)
            self.learned_["rounds"].append(
                {
                    "rules": len(rules.heads),
                    "kept": int((kept > 0).sum()),
                    "predictor_loss": worth.loss,
                    "generator_loss": losses[-1] if losses else None,
                }
            )
        found = []
        with progress_bar("searching rules", len(relations)) as advance:
            for relation in relations.tolist():
                bodies = generator.best(relation, self.rules_per_relation).cpu().numpy()
                found.append((np.full(len(bodies), relation), bodies))
                advance(1)
        return Written.of(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def _train(
        self,
        generator: RuleGenerator,
        rules: Written,
        weights: NDArray[np.float64],
        steps: int,
        seed: tuple[int, ...],
        deadline: Deadline,
        interrupted: Stopped,
    ) -> list[float]:
        """Train the generator on rules drawn by their weights (n,), as many for each head relation."""
        totals = np.bincount(rules.heads, weights, generator.end)[rules.heads]
        cumulative = np.cumsum(np.where(totals > 0, weights / np.maximum(totals, 1e-300), 0))
        if not steps or not len(cumulative) or cumulative[-1] <= 0:
            return []
        heads, bodies = (torch.from_numpy(column.astype(np.int64)).to(self.device) for column in rules)

        def loss(step: int) -> torch.Tensor:
            picked = np.random.default_rng((self.seed, *seed, step)).random(RULES_A_STEP) * cumulative[-1]
            places = np.minimum(np.searchsorted(cumulative, picked, side="right"), len(cumulative) - 1)
            rows, counts = np.unique(places, return_counts=True)
            which = torch.from_numpy(rows).to(self.device)
            log_p = generator.log_p(heads[which], bodies[which])
            return -(torch.from_numpy(counts).to(log_p) * log_p).sum() / RULES_A_STEP

        return run_steps(
            "learning to write rules",
            generator,
            loss,
            steps=steps,
            learning_rate=self.generator_rate,
            decay=False,
            stopped=lambda: deadline.passed or interrupted(),
        )

    def _write(self, generator: RuleGenerator, relations: NDArray[np.int64], random: torch.Generator) -> Written:
        """Let the generator write `sampled_rules` different rules for each relation, or as many as it has to give."""
        heads = torch.from_numpy(np.repeat(relations, OVERSAMPLING * self.sampled_rules)).to(self.device)
        parts = torch.split(heads, ROWS)
        bodies = torch.cat([generator.sample(some, random) for some in parts]).cpu().numpy()
        rows = np.column_stack([heads.cpu().numpy(), bodies])
        _, first = np.unique(rows, axis=0, return_index=True)
        rows = rows[np.sort(first)]  # by head relation, and those of one in the order in which they were written
        place = np.arange(len(rows)) - np.searchsorted(rows[:, 0], rows[:, 0])
        rows = rows[place < self.sampled_rules]
        return Written.of(rows[:, 0], rows[:, 1:])

    def _log_prior(self, generator: RuleGenerator, rules: Written) -> NDArray[np.float64]:
        columns = (torch.split(torch.from_numpy(column.astype(np.int64)).to(self.device), ROWS) for column in rules)
        with torch.no_grad():
            parts = [generator.log_p(heads, bodies) for heads, bodies in zip(*columns, strict=True)]
        return torch.cat(parts).double().cpu().numpy()

    def _measured(
        self, graph: Graph, rules: Written, examples: ExampleFacts, deadline: Deadline
    ) -> tuple[Written, pl.DataFrame]:
        """Look at the graph: rules that conclude some fact, and their numbers."""
        budget = budget_within(deadline.part(MEASURING), self.measure_budget)
        found = measure_rules(graph, rules.bodies, rules.heads, examples=examples, budget=budget, seed=self.seed)
        kept = np.flatnonzero(found.support >= self.min_support)
        numbers = {name: pl.Series(getattr(found, name)[kept]) for name in NUMBERS if hasattr(found, name)}
        frame = rule_frame(graph, rules.bodies[kept], rules.heads[kept].astype(np.int64)).with_columns(**numbers)
        return rules.take(kept), frame

    def _predict(
        self,
        graph: Graph,
        rules: Written,
        examples: ExampleFacts,
        deadline: Deadline,
        interrupted: Stopped,
        number: int,
    ) -> Worth:
        """Learn what rules are worth; number: how many rounds have been."""
        seed = (self.seed, 2, number)
        lessons = Lessons(
            self.epochs, self.batch_size, self.learning_rate, self.penalty, self.most_queries, self.entity_bias, seed
        )
        return weigh_rules(graph, rules, examples, lessons, deadline, interrupted)

    def _choose(self, graph: Graph, valid: Triples | None, examples: ExampleFacts) -> None:
        """Nothing is chosen, since the predictor says what rules are worth: all valid facts may calibrate."""
        self.aggregation_ = self._fixed_aggregation()
        found: Calibration | str = "it is for answers by rules alone, and these have biases of entities, too"
        if not self.entity_bias:
            known = graph if valid is None else Graph.build(Triples.concat(graph.triples, valid), graph.vocabulary)
            found = calibrate(Search(self._weighed(graph), self.aggregation_), valid, known, seed=self.seed)
        self.calibration_ = found if isinstance(found, Calibration) else None
        self.learned_["aggregation"] = self.aggregation_.to_json()
        self.learned_["calibration"] = {"none_because": found} if isinstance(found, str) else found.to_json()

    def _fixed_aggregation(self) -> Aggregation:
        return Aggregation("count", by="score")

    def search(self, graph: Graph | None = None) -> Search:
        """Give the rules, made ready for a graph, without biases: what explains answers."""
        found = self.searcher(graph)
        return found.rules if isinstance(found, PredictorSearch) else super().search(graph)

    def _searcher(self, graph: Graph) -> Searcher:
        rules = Search(self._weighed(graph), self.aggregation_)
        return PredictorSearch(rules, self._bias_for(graph), name=self.method) if self.entity_bias else rules

    def _weighed(self, graph: Graph) -> Encoded:
        """Make the rules ready with their weights as they are; elsewhere a weight lies between 0 and 1."""
        encoded = encode_rules(self.rules_, graph, "score")
        weights = self.rules_.to_frame()["score"].to_numpy()[encoded.rows]
        return replace(encoded, theory=encoded.theory._replace(weights=weights, own_weights=weights))

    def _bias_for(self, graph: Graph) -> NDArray[np.float32]:
        """Give the biases by the ids of a graph; what has none is as likely as the mean of the relation."""
        own, words = self.vocabulary_, graph.vocabulary
        relations = own.relations.ids_of(words.relations.table)
        both = np.concatenate([relations, np.where(relations < 0, -1, relations + len(own.relations))])
        entities = own.entities.ids_of(words.entities.table)
        bias = self.bias_[:, entities]
        bias[:, entities < 0] = self.bias_.mean(1, keepdims=True)
        found: NDArray[np.float32] = np.where(both[:, None] < 0, np.float32(0), bias[both])
        return found

    def _tensors(self) -> dict[str, Any] | None:
        return {"bias": self.bias_} if self.entity_bias else None

    def _take_up(self, saved: SavedModel) -> None:
        super()._take_up(saved)
        if not self.entity_bias:
            return
        from safetensors.numpy import load_file  # noqa: PLC0415

        if saved.folder is None:
            raise InputError(f"A model of {self.method} is taken up from its folder, and this one has none.")
        self.bias_ = load_file(saved.folder / NETWORK)["bias"]

    def _check_options(self) -> None:
        super()._check_options()
        self._at_least(1, "size", "mined_rules", "first_steps", "sampled_rules", "epochs", "batch_size", "most_queries")
        self._at_least(0, "rounds", "generator_steps", "prior_weight", "penalty")
        self._check_rate("learning_rate", "generator_rate")
