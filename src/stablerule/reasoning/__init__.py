"""The use of rules, without torch: what every learner can do, and the folder in which it is kept."""

from stablerule.reasoning.answers import Answer, Explanation
from stablerule.reasoning.completing import NewFact
from stablerule.reasoning.folder import DataMark, SavedModel, read_model_folder
from stablerule.reasoning.reasoner import RuleReasoner
from stablerule.reasoning.why_not import WhyNot

__all__ = [
    "Answer",
    "DataMark",
    "Explanation",
    "NewFact",
    "RuleReasoner",
    "SavedModel",
    "WhyNot",
    "read_model_folder",
]
