"""RNNLogic: a generator of rules, and a predictor that teaches it."""

from stablerule_lab.methods.rnnlogic.learner import RNNLogic

__all__ = ["RNNLogic"]
