"""The interface of all learners, answering with rules, and the model folder; nothing here needs torch."""

from stablerule.reasoning.answers import Answer, Explanation
from stablerule.reasoning.completing import NewFact
from stablerule.reasoning.learned import Learned
from stablerule.reasoning.model_folder import DataMark, SavedModel, read_model_folder
from stablerule.reasoning.reasoner import Reasoner, RuleReasoner
from stablerule.reasoning.whynot import WhyNot

__all__ = [
    "Answer",
    "DataMark",
    "Explanation",
    "Learned",
    "NewFact",
    "Reasoner",
    "RuleReasoner",
    "SavedModel",
    "WhyNot",
    "read_model_folder",
]
