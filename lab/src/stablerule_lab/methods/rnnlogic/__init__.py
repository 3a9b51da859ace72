"""RNNLogic: a rule generator, trained by a predictor."""

from stablerule_lab.methods.rnnlogic.learner import RNNLogic

__all__ = ["RNNLogic"]
