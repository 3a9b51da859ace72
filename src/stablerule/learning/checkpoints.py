"""A run that can be killed and goes on: tensors as safetensors, the rest as JSON, never a pickle."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from stablerule.errors import ReadError
from stablerule.io import folder_beside

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from stablerule.learning.decorrelation import BodyWeights
    from stablerule.learning.network import RuleNetwork


@dataclass
class Progress:
    """Where a run stands, and the curves on the way: all that a checkpoint keeps beside the tensors."""

    stage: int = 0
    step: int = 0
    best_loss: float = math.inf
    checks_without_gain: int = 0
    steps: list[dict[str, float]] = field(default_factory=list)  # loss, dependence, share, largest weight
    checks: list[dict[str, float]] = field(default_factory=list)  # loss on held-out samples
    seconds: float = 0.0


@dataclass
class Checkpoints:
    """Keeps one checkpoint in a folder, replaced every so often.

    identity: what the run depends on (options, seed, hash of the facts); a checkpoint of another run is refused.
    """

    folder: Path
    identity: dict[str, object]
    every_seconds: float = 10.0
    resume: bool = False
    _last: float = field(default_factory=time.monotonic)
    _walks: int = 0

    def walks_begun_with(self, walks: int) -> int:
        """Return the walks of the run that goes on, whose samples it needs; `walks` where a run begins."""
        saved = self._read_progress() if self._goes_on() else None
        self._walks = walks if saved is None else int(saved.get("walks", walks))
        return self._walks

    def due(self) -> bool:
        """Tell whether it is time for the next one."""
        return time.monotonic() - self._last >= self.every_seconds

    def keep(
        self,
        at: Progress,
        network: RuleNetwork,
        adam: torch.optim.Adam,
        weights: BodyWeights,
        best: dict[str, Tensor],
    ) -> None:
        """Write everything that the next step depends on."""
        tensors = {f"network.{name}": p.detach() for name, p in network.named_parameters()}
        tensors |= {f"best.{name}": p for name, p in best.items()}
        tensors |= {f"weights.{name}": t for name, t in weights.state().items()}
        for index, state in adam.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
        with folder_beside(self.folder, overwrite=True) as temporary:
            save_file({name: t.contiguous().cpu() for name, t in tensors.items()}, temporary / "state.safetensors")
            text = json.dumps({"identity": self.identity, "walks": self._walks, "progress": asdict(at)})
            (temporary / "progress.json").write_text(text, encoding="utf-8")
        self._last = time.monotonic()

    def restore(
        self,
        at: Progress,
        network: RuleNetwork,
        adam: torch.optim.Adam,
        weights: BodyWeights,
        best: dict[str, Tensor],
    ) -> None:
        """Load the checkpoint, if resuming and if there is one; otherwise begin at the beginning."""
        if not self._goes_on():
            return
        kept = self._read_progress()
        try:
            tensors = load_file(self.folder / "state.safetensors")
        except (OSError, SafetensorError) as error:
            raise self._damaged(error) from error
        for f in fields(at):
            setattr(at, f.name, kept["progress"][f.name])
        network.load_state_dict(_part(tensors, "network"))
        for name, value in _part(tensors, "best").items():
            best[name].copy_(value)
        weights.restore(_part(tensors, "weights"))
        state = adam.state_dict()
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _part(tensors, "adam").items():
            index, kind = name.split(".")
            moments.setdefault(int(index), {})[kind] = value
        state["state"] = moments
        adam.load_state_dict(state)

    def _goes_on(self) -> bool:
        return self.resume and self.folder.is_dir()

    def _read_progress(self) -> dict[str, Any]:
        """Read how far the run came; a checkpoint of another run is an error that says what differs."""
        try:
            kept: dict[str, Any] = json.loads((self.folder / "progress.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self._damaged(error) from error
        if kept["identity"] != json.loads(json.dumps(self.identity)):
            differ = sorted(k for k, v in self.identity.items() if kept["identity"].get(k) != json.loads(json.dumps(v)))
            raise ReadError(
                f"the checkpoint is of another run: {', '.join(differ) or 'its options'} differ. "
                "Begin again without --resume, or with the same data and options.",
                path=self.folder,
            )
        return kept

    def _damaged(self, error: Exception) -> ReadError:
        return ReadError(f"a damaged checkpoint ({error}). Begin again without --resume.", path=self.folder)


def _part(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key.split(".", 1)[1]: value for key, value in tensors.items() if key.startswith(f"{name}.")}
