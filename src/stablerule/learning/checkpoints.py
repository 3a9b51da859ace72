"""Save and restore the state of a training run: tensors as safetensors, the rest as JSON, no pickles."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import torch

from stablerule.errors import InputError, ReadError
from stablerule.io import write_folder_beside
from stablerule.io.atomic import restore_folder
from stablerule.io.checked_folder import CheckedFolder, sum_files
from stablerule.io.tensors import check_tensors, read_tensors, write_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

    from stablerule.learning.decorrelation import BodyWeights
    from stablerule.learning.network import RuleNetwork

PROGRESS, STATE = "progress.json", "state.safetensors"
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # Adam's state of a parameter


@dataclass
class Progress:
    """The progress of a run and its curves: the part of a checkpoint besides the tensors."""

    stage: int = 0
    step: int = 0
    best_loss: float = math.inf
    checks_without_gain: int = 0
    steps: list[dict[str, float]] = field(default_factory=list)  # loss, dependence, share, largest weight
    checks: list[dict[str, float]] = field(default_factory=list)  # loss on held-out samples
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if min(self.stage, self.step, self.checks_without_gain) < 0:
            raise InputError("stage, step and checks_without_gain must be 0 or more")


@dataclass(frozen=True)
class Kept:
    """The content of `progress.json`. identity: what the run depends on; walks: the number that it started with."""

    identity: dict[str, Any]
    walks: int
    progress: Progress
    checksums: dict[str, str] = field(default_factory=dict)


@dataclass
class CheckpointFolder:
    """Save a checkpoint to a folder every few seconds, replacing the one before.

    identity: what the run depends on (options, seed, hash of the facts); a checkpoint of another run is an error.
    """

    folder: Path
    identity: dict[str, object]
    every_seconds: float = 10.0
    resume: bool = False
    _last: float = field(default_factory=time.monotonic)

    def is_due(self) -> bool:
        """Return whether it is time for the next checkpoint."""
        return time.monotonic() - self._last >= self.every_seconds

    def write(self, tensors: Mapping[str, Tensor], **record: Any) -> None:
        """Write tensors by name, and what `progress.json` says beside the identity; the folder is replaced whole."""
        with write_folder_beside(self.folder, overwrite=True) as temporary:
            arrays = {name: tensor.detach().contiguous().cpu().numpy() for name, tensor in tensors.items()}
            write_tensors(arrays, temporary / STATE)
            said = {"identity": self.identity, **record, "checksums": sum_files(temporary, [STATE])}
            (temporary / PROGRESS).write_text(json.dumps(said), encoding="utf-8")
        self._last = time.monotonic()

    @property
    def there(self) -> bool:
        """Whether a run goes on from a checkpoint."""
        restore_folder(self.folder)
        return self.resume and self.folder.is_dir()

    def read_record(self, kind: type[T]) -> T:
        """Read what `progress.json` says; a checkpoint of another run is an error that says what differs."""
        files = self.files()
        kept = files.make_record(kind, files.read_json(PROGRESS), PROGRESS)
        identity = json.loads(json.dumps(self.identity))
        if kept.identity != identity:
            differ = sorted(name for name, value in identity.items() if kept.identity.get(name) != value)
            raise ReadError(
                f"the checkpoint is from another run: {', '.join(differ) or 'its options'} differ. "
                "Start again without --resume, or pass the same data and options.",
                path=self.folder,
            )
        return kept

    def files(self, checksums: Mapping[str, str] | None = None) -> CheckedFolder:
        """Return the files of the folder, to be held against their checksums."""
        return CheckedFolder(self.folder, "Start again without --resume.").with_checksums(checksums or {})


class Record(Protocol):
    """What `progress.json` of any run says."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the run depends on."""

    @property
    def checksums(self) -> dict[str, str]:
        """Those of the other files."""


T = TypeVar("T", bound=Record)


@dataclass
class Checkpoints(CheckpointFolder):
    """The checkpoint of a network that learns."""

    _walks: int = 0

    def walks_begun_with(self, walks: int) -> int:
        """Return the number of walks of the run to resume, which needs the same samples; `walks` for a new run."""
        self._walks = self.read_record(Kept).walks if self.there else walks
        return self._walks

    def keep(
        self,
        at: Progress,
        network: RuleNetwork,
        adam: torch.optim.Adam,
        weights: BodyWeights,
        best: dict[str, Tensor],
    ) -> None:
        """Save everything that the next step depends on."""
        tensors = _list_state_of_training(network, adam, weights, best)
        self.write(tensors, walks=self._walks, progress=asdict(at))

    def restore(
        self,
        at: Progress,
        network: RuleNetwork,
        adam: torch.optim.Adam,
        weights: BodyWeights,
        best: dict[str, Tensor],
    ) -> None:
        """Load the checkpoint if the run is resumed and has one; otherwise change nothing."""
        if not self.there:
            return
        kept = self.read_record(Kept)
        files = self.files(kept.checksums)
        found = read_tensors(files, STATE)
        check_tensors(found, _expect_tensor_shapes(found, network, adam, weights, best), files, STATE)
        tensors = {name: torch.tensor(array) for name, array in found.items()}
        for f in fields(at):
            setattr(at, f.name, getattr(kept.progress, f.name))
        network.load_state_dict(_take_tensor_group(tensors, "network"))
        for name, value in _take_tensor_group(tensors, "best").items():
            best[name].copy_(value)
        try:
            weights.restore(_take_tensor_group(tensors, "weights"))
        except (InputError, RuntimeError) as error:  # only torch can check the state of a generator
            raise files.make_damage_error(STATE, str(error)) from error
        state = adam.state_dict()
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _take_tensor_group(tensors, "adam").items():
            index, kind = name.split(".")
            moments.setdefault(int(index), {})[kind] = value
        state["state"] = moments
        adam.load_state_dict(state)


def _list_state_of_training(
    network: RuleNetwork, adam: torch.optim.Adam, weights: BodyWeights, best: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the tensors that the next step depends on, by name."""
    tensors = {f"network.{name}": p.detach() for name, p in network.named_parameters()}
    tensors |= {f"best.{name}": p for name, p in best.items()}
    tensors |= {f"weights.{name}": t for name, t in weights.copy_state().items()}
    for index, state in adam.state_dict()["state"].items():
        tensors |= {f"adam.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
    return tensors


def _expect_tensor_shapes(
    found: dict[str, Any],
    network: RuleNetwork,
    adam: torch.optim.Adam,
    weights: BodyWeights,
    best: dict[str, Tensor],
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a checkpoint of this run; Adam has no state for parameters without a gradient so far."""
    shapes = {
        name: tuple(tensor.shape) for name, tensor in _list_state_of_training(network, adam, weights, best).items()
    }
    for index, parameter in enumerate(network.parameters()):
        if any(name.startswith(f"adam.{index}.") for name in found):
            shapes |= {f"adam.{index}.{name}": tuple(parameter.shape) * (name != "step") for name in MOMENTS}
    return shapes


def _take_tensor_group(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key.split(".", 1)[1]: value for key, value in tensors.items() if key.startswith(f"{name}.")}
