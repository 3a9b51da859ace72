"""All experiments by name."""

from stablerule_lab.experiments.ablation import TAKEN_APART
from stablerule_lab.experiments.compared_rules import RULES_COMPARED
from stablerule_lab.experiments.completion import COMPLETION_UNDER_SHIFT
from stablerule_lab.experiments.efficiency import EFFICIENCY
from stablerule_lab.experiments.experiment import Experiment
from stablerule_lab.experiments.group_planes import GROUPS_IN_THE_PLANE
from stablerule_lab.experiments.inductive import ON_NEW_ENTITIES
from stablerule_lab.experiments.methods import METHODS_COMPARED
from stablerule_lab.experiments.natural import NATURAL_SHIFT
from stablerule_lab.experiments.no_shift import WITHOUT_SHIFT
from stablerule_lab.experiments.rule_budget import RULE_BUDGET
from stablerule_lab.experiments.train_side.spec import TRAIN_SIDE
from stablerule_lab.experiments.training import WHILE_LEARNING

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
