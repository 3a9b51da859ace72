"""All experiments by name."""

from stablerule.experiments.experiment import Experiment
from stablerule.experiments.methods import METHODS_COMPARED
from stablerule.experiments.train_side_experiment import TRAIN_SIDE

EXPERIMENTS: dict[str, Experiment] = {spec.name: spec for spec in (TRAIN_SIDE, METHODS_COMPARED)}
