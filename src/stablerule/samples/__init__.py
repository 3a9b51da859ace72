"""The training samples of a learner: counts of closed and open walks."""

from stablerule.samples.samples import RuleSamples, check_walk_lengths, sample_rules

__all__ = ["RuleSamples", "check_walk_lengths", "sample_rules"]
