"""What the learner sees: closed and open walks, counted."""

from stablerule.samples.samples import RuleSamples
from stablerule.samples.sampling import check_lengths, sample_rules

__all__ = ["RuleSamples", "check_lengths", "sample_rules"]
