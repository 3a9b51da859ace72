"""The use of rules, without torch: what every learner can do, and the folder in which it is kept."""

from stablerule.reasoning.answers import Answer, Explanation
from stablerule.reasoning.folder import DataMark, SavedModel, read_model_folder
from stablerule.reasoning.reasoner import RuleReasoner

__all__ = ["Answer", "DataMark", "Explanation", "RuleReasoner", "SavedModel", "read_model_folder"]
