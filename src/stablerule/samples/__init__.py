"""What the learner sees: closed and open walks, counted."""

from stablerule.samples.samples import RuleSamples
from stablerule.samples.sampling import sample_rules

__all__ = ["RuleSamples", "sample_rules"]
