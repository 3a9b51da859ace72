"""Search for settings on the validation facts: half of them take part in training, the other half evaluates.

Test facts are not used. The first trial has the method's current settings, so the best trial is never worse than them
on the evaluating half.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stablerule.errors import InputError, MissingExtra, OptionError, ReadError, StableRuleError
from stablerule.evaluation import evaluate
from stablerule.extending import Budget, check_minutes, flatten_options, join_options
from stablerule.io import write_beside
from stablerule.progress import progress_bar
from stablerule.registry import MODELS
from stablerule_lab.methods.settings import settings_for
from stablerule_lab.methods.spaces import SPACES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stablerule.graph import Dataset
    from stablerule_lab.methods.spaces import Space

FEWEST_VALID = 20
FORMAT = 2


@dataclass(frozen=True)
class Trial:
    """The options of one trial, and its MRR on the evaluating half, or the error that ended it."""

    options: dict[str, Any]
    mrr: float | None
    seconds: float
    error: str | None = None


@dataclass(frozen=True)
class Tuned:
    """All trials in order; the first has the current settings."""

    trials: tuple[Trial, ...]
    ended_by: Literal["trials", "minutes"]

    @property
    def best(self) -> Trial:
        """The trial with the largest MRR; the first one of equals."""
        finished = [trial for trial in self.trials if trial.mrr is not None]
        if not finished:
            raise InputError(f"All trials failed, the first one with: {self.trials[0].error}")
        return max(finished, key=lambda trial: trial.mrr or 0.0)


def tune(
    method: str,
    dataset: Dataset,
    *,
    trials: int = 20,
    minutes: float | None = None,
    fixed: dict[str, Any] | None = None,
    kept: Path | None = None,
    resume: bool = False,
    seed: int = 0,
) -> Tuned:
    """Try settings of a method on a dataset, and return all trials.

    minutes: time budget of all trials; each gets an equal share of what is left. fixed: options that are not searched,
    in addition to the method's settings for this graph outside its space. kept: a JSON file that is written after
    every trial; `resume` continues from its trials.
    """
    optuna = _need_optuna()
    if trials < 1:
        raise OptionError(f"Argument 'trials' must be at least 1, got {trials}.")
    if minutes is not None:
        check_minutes(minutes)
    present = flatten_options(join_options(settings_for(method, dataset.name, fixed), {"seed": seed}, fixed or {}))
    start = MODELS[method].with_options(present)
    start.check_options()  # fail once, not in every trial
    asked_for = flatten_options(fixed or {})
    space = {n: where for n, where in _space(method).items() if n not in asked_for and n in start.options}
    fixed = {name: value for name, value in present.items() if name not in space}
    halves = halve(dataset, seed)
    identity = {"format": FORMAT, "method": method, "data": dataset.sha256, "fixed": fixed, "seed": seed}
    done = _read(kept, identity) if resume and kept is not None else []
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed + len(done)))
    budget = Budget(minutes)
    for trial in done:
        _tell(optuna, study, space, trial)
    with progress_bar("tuning", trials) as advance:
        advance(len(done))
        while len(done) < trials and not (done and budget.passed):
            left = None if minutes is None else budget.left / 60 / (trials - len(done))
            if done:
                asked = study.ask()
                options = fixed | {name: _suggest(asked, name, where) for name, where in space.items()}
                trial = _try(method, halves, options, left)
                study.tell(asked, trial.mrr, state=None if trial.mrr is not None else optuna.trial.TrialState.FAIL)
            else:  # the current settings, even if they are outside the space
                trial = _try(method, halves, fixed | {name: start.options[name] for name in space}, left)
                _tell(optuna, study, space, trial)
            done.append(trial)
            if kept is not None:
                _write(kept, identity, done)
            advance(1, f"best MRR {max((one.mrr or 0.0) for one in done):.4f}")
    return Tuned(tuple(done), "trials" if len(done) >= trials else "minutes")


def halve(dataset: Dataset, seed: int) -> Dataset:
    """Split the validation facts: `valid` is the training half, `test` the evaluating half.

    The test facts are dropped.
    """
    facts = dataset.valid.distinct()
    if len(facts) < FEWEST_VALID:
        raise InputError(
            f"Dataset {dataset.name!r} has {len(facts)} validation facts; tuning needs at least {FEWEST_VALID}. "
            "Add a validation file, or split a single file with --shares 0.8,0.1,0.1."
        )
    order = np.random.default_rng([seed, len(facts)]).permutation(len(facts))
    teaching, judging = (facts.take(np.sort(part)) for part in np.array_split(order, 2))
    return replace(dataset, valid=teaching, test=judging)


def _try(method: str, halves: Dataset, options: dict[str, Any], minutes: float | None) -> Trial:
    began = time.perf_counter()
    try:
        model = MODELS[method].with_options(options).fit(halves.graph, halves.valid, minutes=minutes)
        mrr = evaluate(model, halves, resamples=2).mrr
    except (StableRuleError, RuntimeError, MemoryError) as error:  # settings that fail do not end the search
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Trial(options, None, round(time.perf_counter() - began, 2), said)
    return Trial(options, mrr, round(time.perf_counter() - began, 2))


def _space(method: str) -> Space:
    if method not in SPACES:
        raise OptionError(f"Method {method!r} has no settings to tune. Methods that have: {', '.join(SPACES)}.")
    return SPACES[method]


def _within(value: Any, where: list[Any] | tuple[float, float]) -> bool:
    if isinstance(where, list):
        return value in where
    return isinstance(value, int | float) and where[0] <= value <= where[1]


def _suggest(trial: Any, name: str, where: list[Any] | tuple[float, float]) -> Any:
    if isinstance(where, list):
        return trial.suggest_categorical(name, where)
    low, high = where
    value = trial.suggest_float(name, low, high, log=True)
    return round(value, 3 - math.floor(math.log10(value)))  # more digits mean nothing


def _tell(optuna: Any, study: Any, space: Space, trial: Trial) -> None:
    """Add a trial that the search did not suggest, if it is inside the space."""
    if trial.mrr is None or not all(
        name in trial.options and _within(trial.options[name], where) for name, where in space.items()
    ):
        return
    distributions = {
        name: optuna.distributions.CategoricalDistribution(where)
        if isinstance(where, list)
        else optuna.distributions.FloatDistribution(*where, log=True)
        for name, where in space.items()
    }
    values = {name: trial.options[name] for name in space}
    study.add_trial(optuna.trial.create_trial(params=values, distributions=distributions, value=trial.mrr))


def _write(path: Path, identity: dict[str, Any], trials: Iterable[Trial]) -> None:
    with write_beside(path) as temporary:
        kept = identity | {"trials": [asdict(trial) for trial in trials]}
        temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _read(path: Path, identity: dict[str, Any]) -> list[Trial]:
    if not path.exists():
        return []
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        trials = [Trial(**trial) for trial in kept["trials"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReadError(f"not a file of trials ({error}). Choose another file, or omit --resume.", path=path) from error
    differing = [name for name, value in identity.items() if kept.get(name) != json.loads(json.dumps(value))]
    if differing:
        raise InputError(f"{path}: its trials have another {differing[0]}. Choose another file.")
    return trials


def _need_optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtra("Tuning", package="optuna", extra="tune", distribution="./lab") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
