"""StableRule: learn rules with a network over sampled paths."""

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

    `fit` chooses values for options that are None, such that a laptop is enough; `plan(graph)` shows them. A rule's
    score is P(head relation | body) = (count + s * network) / (samples of the body + s), with s = `training.smoothing`.

    max_length: longest rule body. walks: number of paths to sample. rules_per_relation: chain rules to keep for each
    relation and each inverse. constants: whether to find entity-specific rules. aggregation: how the rules that fire
    become one score; "auto" chooses on the validation facts. by, top: for a fixed aggregation, whether rules are
    weighted by confidence or score, and how many rules noisy_or uses (0: all). mining, training: see `Mining` and
    `Training`.
    decorrelation: the sample weights; None trains without them (the paper's NoDecor).

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
        """Make a learner with the paper's settings for a graph: sizes, rates, steps, weights, selection.

        The paper does not specify the number of walks, the number of rules (200 here, as in the closest related
        method), the ranking of equal scores, and the weight steps for DBLP. It sums path counts over walks that may
        visit an entity twice; paths here never do.

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
        """Train on a graph; see `Reasoner.fit`.

        checkpoint: a folder; an interrupted run continues from it with `resume=True`, also with other `minutes`, and
        keeps its number of walks. refit: without validation facts, hold out a tenth of the facts to choose the
        aggregation and calibrate, then measure the rules again on all facts.
        """
        lesson = self._begin(graph, valid, examples, minutes)

        def learn(part: Lesson) -> Learned:
            return fit_stablerule(part, self, checkpoint=checkpoint, resume=resume)

        measure = partial(measure_rules_again, o=self)
        return self._end(lesson, fit_on_everything(lesson, self.seed, learn, measure, refit=refit))

    def plan(self, graph: Graph) -> Plan:
        """Return the sizes that `fit` would use on a graph, and an estimate of its time and memory."""
        self.check_options()
        return plan_stablerule(graph, self)

    def plan_lines(self, graph: Graph, minutes: float | None = None) -> list[str]:
        """Spell the plan, one line for each part."""
        return self.plan(graph).lines(minutes)

    def network(self) -> RuleNetwork:
        """Return the trained network."""
        import torch  # noqa: PLC0415

        from stablerule.learning.network import RuleNetwork  # noqa: PLC0415

        self._check_fitted()
        tensors = self._tensors()
        if tensors is None:
            raise InputError("This StableRule has no network, because there were no samples to train on.")
        size = self.training.size
        try:
            with torch.device("meta"):  # skips the random initial values, which are replaced below
                network = RuleNetwork(self.data_.relations, size, selector=self.training.selector)
        except RuntimeError as error:
            raise InputError(f"Option 'training.size' is {size:,}, too large for a network.") from error
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
