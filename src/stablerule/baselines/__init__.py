"""All learners by name."""

from stablerule.baselines.models import MODELS, load_model

__all__ = ["MODELS", "load_model"]
