"""StableRule: the learner of this package, from a graph to rules."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from stablerule.errors import InputError, MissingExtra
from stablerule.learning.fitting import fit_stablerule, measure_rules_again
from stablerule.learning.options import OLD_NAMES, Decorrelation, Mining, Training, find_paper_options
from stablerule.learning.plan import USUAL_LENGTH, plan_stablerule
from stablerule.learning.refit import fit_on_everything
from stablerule.reasoning.reasoner import RuleReasoner
from stablerule.samples import check_walk_lengths

if TYPE_CHECKING:
    from pathlib import Path

    from stablerule.graph import Dataset, Graph, Triples
    from stablerule.learning.network import RuleNetwork
    from stablerule.learning.plan import Plan
    from stablerule.reasoning.learned import Learned, Lesson


class StableRule(RuleReasoner):
    """Learn P(head relation | body) from sampled paths, under weights that decorrelate the embeddings of the bodies.

    `fit` chooses what is None for the graph, so that a laptop is enough; `plan(graph)` says what it will do. A rule's
    score is P(head relation | body) = (count + s * network) / (samples of the body + s), with s = `training.smoothing`.

    max_length: longest rule body. walks: how many paths to sample. rules_per_relation: chains kept for each relation
    and each inverse. constants: find entity-specific rules as well. aggregation: how rules that fire become one score;
    "auto" chooses on the validation facts. by, top: whether a rule counts by its confidence or its score, and how many
    rules count for noisy_or (0: all), where the aggregation is fixed. mining, training: see there. decorrelation: the
    weights; None learns without (the paper's NoDecor).

    >>> StableRule(max_length=2, decorrelation=None)
    StableRule(max_length=2, decorrelation=None)
    >>> StableRule(decorrelation=Decorrelation(moment_order=1))
    StableRule(decorrelation.moment_order=1)
    """

    refits: ClassVar[bool] = True
    method: ClassVar[str] = "stablerule"
    old_names: ClassVar[dict[str, str]] = OLD_NAMES

    def __init__(
        self,
        *,
        max_length: int | None = None,
        walks: int | None = None,
        rules_per_relation: int | None = None,
        constants: bool = True,
        aggregation: Literal["auto", "count", "log_count", "binary", "noisy_or", "max_plus", "learned"] = "auto",
        by: Literal["confidence", "score"] = "confidence",
        top: int = 0,
        mining: Mining = Mining(),  # noqa: B008  # it is frozen
        decorrelation: Decorrelation | None = Decorrelation(),  # noqa: B008
        training: Training = Training(),  # noqa: B008
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.max_length = max_length
        self.walks = walks
        self.rules_per_relation = rules_per_relation
        self.constants = constants
        self.aggregation = aggregation
        self.by = by
        self.top = top
        self.mining = mining
        self.decorrelation = decorrelation
        self.training = training
        self.device = device
        self.seed = seed

    @classmethod
    def paper(cls, graph: str, **changes: Any) -> Self:
        """Make a learner with everything that the paper prints for a graph: sizes, rates, steps, weights, selection.

        The paper leaves open how many walks are sampled and how many rules are kept (200 here, as its closest
        relative has), how equal scores are ranked, and for DBLP the steps of the weights. It sums path counts over
        walks that may pass an entity twice; answers here never do.

        >>> StableRule.paper("umls").training.size
        512
        """
        return cls(**(find_paper_options(graph) | changes))

    def fit(
        self,
        graph: Graph | Dataset,
        valid: Triples | None = None,
        *,
        examples: Triples | None = None,
        minutes: float | None = None,
        refit: bool = True,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from a graph. With `checkpoint`, a folder, a killed run goes on with `resume=True`.

        A run may go on with other `minutes`; it keeps the walks that it began with. refit: without validation facts,
        hold a tenth of the facts out to choose and calibrate on, then measure the rules again on all facts.
        """
        lesson = self._begin(graph, valid, examples, minutes)

        def learn(part: Lesson) -> Learned:
            return fit_stablerule(part, self, checkpoint=checkpoint, resume=resume)

        measure = partial(measure_rules_again, o=self)
        return self._end(lesson, fit_on_everything(lesson, self.seed, learn, measure, refit=refit))

    def plan(self, graph: Graph) -> Plan:
        """Say what `fit` would do on a graph, and what it would cost."""
        self.check_options()
        return plan_stablerule(graph, self)

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Say the plan in words."""
        return self.plan(graph).lines(minutes)

    def network(self) -> RuleNetwork:
        """Return the network that was learned, to look at what it says about bodies."""
        import torch  # noqa: PLC0415

        from stablerule.learning.network import RuleNetwork  # noqa: PLC0415

        self._check_fitted()
        tensors = self._tensors()
        if tensors is None:
            raise InputError("This StableRule has no network: there was nothing to learn from.")
        size = self.training.size
        try:
            with torch.device("meta"):  # no starting values, which would be replaced at once
                network = RuleNetwork(self.data_.relations, size, selector=self.training.selector)
        except RuntimeError as error:
            raise InputError(f"Option 'training.size' is {size:,}: no network is so large.") from error
        if self.saved_ is not None:
            shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
            self.saved_.check_tensors(tensors, shapes)
        given = {name: torch.tensor(array) for name, array in tensors.items()}
        network.load_state_dict(given, assign=True)
        return network

    def _tensors(self) -> dict[str, Any] | None:
        if self.learned_.network is not None:
            return dict(self.learned_.network)
        return None if self.saved_ is None else self.saved_.read_tensors()

    def _check_options(self) -> None:
        super()._check_options()
        check_walk_lengths(self.mining.min_length, self.max_length or max(USUAL_LENGTH, self.mining.min_length))
        self._check_at_least(1, "walks", "rules_per_relation", "max_length")
        try:
            import torch  # noqa: F401, PLC0415

            from stablerule.learning.training import check_torch_device  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("Learning with StableRule", package="torch", extra="learn") from error
        check_torch_device(self.device)
