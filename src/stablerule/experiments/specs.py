"""All experiments by name."""

from stablerule.experiments.ablation_experiment import TAKEN_APART
from stablerule.experiments.compared_rules_experiment import RULES_COMPARED
from stablerule.experiments.completion_experiment import COMPLETION_UNDER_SHIFT
from stablerule.experiments.efficiency_experiment import EFFICIENCY
from stablerule.experiments.experiment import Experiment
from stablerule.experiments.group_planes_experiment import GROUPS_IN_THE_PLANE
from stablerule.experiments.inductive_experiment import ON_NEW_ENTITIES
from stablerule.experiments.methods_experiment import METHODS_COMPARED
from stablerule.experiments.natural_experiment import NATURAL_SHIFT
from stablerule.experiments.no_shift_experiment import WITHOUT_SHIFT
from stablerule.experiments.rule_budget_experiment import RULE_BUDGET
from stablerule.experiments.train_side_experiment import TRAIN_SIDE
from stablerule.experiments.training_experiment import WHILE_LEARNING

SPECS = (
    COMPLETION_UNDER_SHIFT,
    WITHOUT_SHIFT,
    ON_NEW_ENTITIES,
    TAKEN_APART,
    RULE_BUDGET,
    NATURAL_SHIFT,
    RULES_COMPARED,
    EFFICIENCY,
    WHILE_LEARNING,
    GROUPS_IN_THE_PLANE,
    METHODS_COMPARED,
    TRAIN_SIDE,
)
EXPERIMENTS: dict[str, Experiment] = {spec.name: spec for spec in SPECS}
