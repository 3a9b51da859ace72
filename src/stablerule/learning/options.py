"""The options of the learners, in groups, and the paper's settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from stablerule.errors import OptionError, spell_closest

if TYPE_CHECKING:
    from stablerule.reasoning.scoring.theory import By

AggregationOption: TypeAlias = Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"]
SMALL_BATCH, LARGE_BATCH, FEW_RELATIONS = 3000, 5000, 60
EMBEDDING_BATCH = 500  # queries
MOST_SCORES = 1_000_000_000  # of an epoch that takes one answer at a time: beyond, all answers of a query go together
EMBEDDING_SIZES = ((5_000, 256), (60_000, 128), (1 << 62, 64))  # for at most so many entities
DRAWN_ENTITIES = 4_000
REGULARIZATION_OF_ONE, REGULARIZATION = 4e-4, (0.005, 0.1)  # it grows with the root of the entities; least, most
FACTS_A_LOOK = 25_000


@dataclass(frozen=True)
class Mining:
    """Options for sampling bodies and keeping rules.

    min_length: shortest body. backtracking: check after each step which relations close the walk; False checks after
    the last step only (the paper's NoBack). negatives: which samples count as closed by no relation: "open" every
    prefix that no relation closes, "paper" only full walks that were never closed, "none" none. min_support: minimum
    number of correct pairs of a rule. measure_budget: edges to follow when rules are measured; beyond it, rules are
    measured on a sample of heads; None is exact. constant_support, per_constant: minimum support of entity-specific
    rules, and how many to keep for each conclusion; None depends on the size of the graph.
    """

    min_length: int = 1
    backtracking: bool = True
    negatives: Literal["open", "paper", "none"] = "open"
    min_support: float = 1
    measure_budget: float | None = 2e9
    constant_support: int | None = None
    per_constant: int | None = None

    def __post_init__(self) -> None:
        for name in ("min_length", "measure_budget", "constant_support", "per_constant"):
            check_option_at_least(1, name, getattr(self, name))
        check_option_at_least(0, "min_support", self.min_support)


@dataclass(frozen=True)
class Decorrelation:
    """Options of the sample weights that decorrelate the dimensions of the body embeddings.

    The distance that a logit can move, steps times rate, matters most. On batches of FB15k-237, 5 fresh steps of 0.2
    gave the same dependence and effective share as the paper's 100 steps of 0.01. Single steps on carried-over logits
    reach that dependence after about 80 batches, at the minimum share. For long bodies, fresh steps down to the minimum
    share still reach a lower dependence.

    moment_order: highest power of the embeddings (O_d); 1 is the paper's FirstMoment. features: powers, or random
    Fourier features ("rff", `fourier_count` for each dimension). weight_steps, weight_rate: steps for each batch (T_d)
    and their rate (alpha_d). weight_penalty: penalty on uneven weights. share_floor: minimum effective share of the
    samples.
    restart: start each batch with equal weights, as in the paper. literal: the paper's exact form (raw embeddings,
    random start, no penalty, no minimum share). random: the control, random weights with the effective share of the
    learned ones.

    >>> Decorrelation(moment_order=0)
    Traceback (most recent call last):
    stablerule.errors.OptionError: Argument 'moment_order' must be at least 1, got 0.
    """

    moment_order: int = 2
    features: Literal["moments", "rff"] = "moments"
    fourier_count: int = 5
    weight_steps: int = 1
    weight_rate: float = 0.2
    weight_penalty: float = 0.05
    share_floor: float = 0.5
    restart: bool = False
    literal: bool = False
    random: bool = False

    def __post_init__(self) -> None:
        for name in ("moment_order", "fourier_count", "weight_steps"):
            check_option_at_least(1, name, getattr(self, name))
        if self.features not in ("moments", "rff"):
            raise OptionError(f"Argument 'features' must be 'moments' or 'rff', got {self.features!r}.")
        if not 0 < self.weight_rate < math.inf:
            raise OptionError(f"Argument 'weight_rate' must be above 0, got {self.weight_rate}.")
        if not 0 <= self.weight_penalty < math.inf:
            raise OptionError(f"Argument 'weight_penalty' must be 0 or more, got {self.weight_penalty}.")
        if not 0 <= self.share_floor <= 1:
            raise OptionError(f"Argument 'share_floor' must be between 0 and 1, got {self.share_floor}.")
        if self.literal and self.features != "moments":
            raise OptionError(
                "literal=True is the paper's form, which has features='moments' only. Leave one of them out."
            )


@dataclass(frozen=True)
class Training:
    """Options for training the network.

    size: dimensions of an embedding (d). steps: batches (T_r), for each length with order="lengths", in total with
    "mixed". batch_size: samples in a batch (N); None depends on the number of relations. learning_rate: alpha_r; with
    `decay` it decreases linearly to zero. warm_up: steps without the weights, because untrained embeddings carry no
    information. held_out: share of the samples that are not trained on and decide when to stop. check_every, patience:
    steps between checks on them, and checks without improvement before training stops; None runs all steps. selector:
    how the pair to merge is chosen; "argmax" is the paper's, which does not train the scorer of pairs. smoothing: the
    weight of the network's prediction, in samples, when it is mixed with the counts; None uses the network alone, as in
    the paper.
    """

    size: int = 128
    steps: int = 400
    batch_size: int | None = None
    learning_rate: float = 0.02
    decay: bool = True
    order: Literal["lengths", "mixed"] = "mixed"
    warm_up: int = 20
    held_out: float = 0.05
    check_every: int = 25
    patience: int | None = 4
    selector: Literal["straight-through", "argmax"] = "straight-through"
    smoothing: float | None = 20.0

    def __post_init__(self) -> None:
        for name in ("size", "steps", "batch_size", "check_every", "patience"):
            check_option_at_least(1, name, getattr(self, name))
        for name in ("warm_up", "smoothing"):
            check_option_at_least(0, name, getattr(self, name))
        if not 0 < self.learning_rate < 10:
            raise OptionError(f"Argument 'learning_rate' must be above 0 and below 10, got {self.learning_rate}.")
        if not 0 <= self.held_out < 1:
            raise OptionError(f"Argument 'held_out' must be at least 0 and below 1, got {self.held_out}.")

    def batch_size_for(self, relations: int) -> int:
        """Return the batch size for a graph with some number of relations."""
        return self.batch_size or (SMALL_BATCH if relations < FEW_RELATIONS else LARGE_BATCH)


@dataclass(frozen=True)
class Embedding:
    """How embeddings of entities and relations are trained; None depends on the size of the graph.

    size: complex numbers in a row. epochs: at most so many passes over the facts; training stops before that when
    facts that are held out gain nothing in `patience` looks. batch_size: queries in a batch. candidates: entities that
    are drawn for a batch, beside those that its facts name; they stand for all others. regularization: weight of the
    cubed moduli. relation_weight: weight of predicting the relation of a fact, beside its answer.

    >>> Embedding(size=0)
    Traceback (most recent call last):
    stablerule.errors.OptionError: Argument 'size' must be at least 1, got 0.
    """

    size: int | None = None
    epochs: int = 100
    patience: int = 3
    batch_size: int | None = None
    candidates: int | None = None
    regularization: float | None = None
    relation_weight: float = 0.0
    learning_rate: float = 0.1

    def __post_init__(self) -> None:
        for name in ("size", "epochs", "patience", "batch_size", "candidates"):
            check_option_at_least(1, name, getattr(self, name))
        for name in ("regularization", "relation_weight"):
            check_option_at_least(0, name, getattr(self, name))
        if not 0 < self.learning_rate < 10:
            raise OptionError(f"Argument 'learning_rate' must be above 0 and below 10, got {self.learning_rate}.")

    def sizes_for(self, entities: int, facts: int) -> EmbeddingSizes:
        """Decide what is open, for a graph with so many entities and facts.

        >>> Embedding().sizes_for(entities=104, facts=8_544).size
        256
        """
        together = 2 * facts * entities > MOST_SCORES
        size = next(size for most, size in EMBEDDING_SIZES if entities <= most)
        least, most = REGULARIZATION
        usual = min(max(REGULARIZATION_OF_ONE * math.sqrt(entities), least), most)
        return EmbeddingSizes(
            size=self.size or size,
            batch_size=self.batch_size or EMBEDDING_BATCH,
            together=together,
            candidates=self.candidates or DRAWN_ENTITIES,
            regularization=usual if self.regularization is None else self.regularization,
            relation_weight=self.relation_weight,
            learning_rate=self.learning_rate,
            epochs=self.epochs,
            look_every=max(1, round(FACTS_A_LOOK / max(facts, 1))),
            patience=self.patience,
        )


class EmbeddingSizes(NamedTuple):
    """What `Embedding` leaves open, decided for a graph; together: a query with all of its answers is one row."""

    size: int
    batch_size: int
    together: bool
    candidates: int
    regularization: float
    relation_weight: float
    learning_rate: float
    epochs: int
    look_every: int
    patience: int


class Weighs(Protocol):
    """The options of a learner that chooses its aggregation."""

    aggregation: AggregationOption
    by: By
    top: int
    seed: int


class MinesRules(Weighs, Protocol):
    """The options of a learner that samples paths and keeps the best bodies of each relation."""

    max_length: int | None
    walks: int | None
    rules_per_relation: int | None
    constants: bool
    mining: Mining


class CountsSamples(MinesRules, Protocol):
    """The options of a learner that scores bodies by the samples that they close."""

    smoothing: float


class TrainsNetwork(MinesRules, Protocol):
    """The options of a learner that scores bodies by a network."""

    decorrelation: Decorrelation | None
    training: Training
    device: str

    @property
    def options(self) -> dict[str, Any]:
        """All arguments by name."""


def check_option_at_least(least: float, name: str, value: float | None) -> None:
    """Raise an error for a value below the least one; None is the default."""
    if value is not None and value < least:
        raise OptionError(f"Argument {name!r} must be at least {least}, got {value}.")


# The options of models saved before options had groups.
OLD_MINING = {
    name: f"mining.{name}"
    for name in (
        *("min_length", "backtracking", "negatives", "min_support", "measure_budget"),
        *("constant_support", "per_constant"),
    )
}
OLD_NAMES = (
    OLD_MINING
    | {
        name: f"training.{name}"
        for name in (
            *("size", "steps", "batch_size", "learning_rate", "decay", "order", "warm_up", "held_out", "patience"),
            *("selector", "smoothing"),
        )
    }
    | {
        name: f"decorrelation.{name}"
        for name in (
            *("moment_order", "features", "weight_steps", "weight_rate", "weight_penalty", "share_floor", "restart"),
            "literal",
        )
    }
    | {"random_weights": "decorrelation.random", "decorrelate": "decorrelation"}
)


# The paper's hyper-parameters by graph, from its appendix E: N, d, T_r, alpha_r, T_d.
PAPER_SIZES = {
    "family": (500, 512, 1000, 1e-4, 200),
    "kinship": (1000, 1024, 2000, 2.5e-4, 200),
    "umls": (1000, 512, 2000, 2.5e-4, 100),
    "wn18rr": (5000, 1024, 2000, 1e-4, 50),
    "fb15k-237": (5000, 1024, 5000, 5e-4, 100),
    "yago3-10": (8000, 1024, 5000, 2.5e-4, 100),
    # The table gives no T_d for DBLP; 100 is its most frequent value.
    "dblp": (1000, 512, 2000, 2.5e-4, 100),
}


def find_paper_options(graph: str) -> dict[str, Any]:
    """Return the arguments of StableRule with the paper's settings for a graph.

    >>> find_paper_options("umls")["training"].size
    512
    """
    if graph not in PAPER_SIZES:
        known = ", ".join(PAPER_SIZES)
        raise OptionError(
            f"No paper settings for {graph!r}.{spell_closest(graph, PAPER_SIZES)} They exist for {known}."
        )
    batch_size, size, steps, learning_rate, weight_steps = PAPER_SIZES[graph]
    return {
        "max_length": 3,
        "rules_per_relation": 200,
        "constants": False,
        "aggregation": "count",
        "by": "score",
        "mining": Mining(min_length=2, negatives="paper"),
        "decorrelation": Decorrelation(
            moment_order=2, weight_steps=weight_steps, weight_rate=0.01, restart=True, literal=True
        ),
        "training": Training(
            size=size,
            steps=steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            decay=False,
            order="lengths",
            warm_up=0,
            patience=None,
            selector="argmax",
            smoothing=None,
        ),
    }
