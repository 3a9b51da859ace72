"""All learners by name: those of the paper's comparison, the controls, and the project's own."""

from stablerule.baselines.models import METHODS, MODELS, Method, load_model

__all__ = ["METHODS", "MODELS", "Method", "load_model"]
