"""What the learner sees: closed and open walks, counted."""

from stablerule.samples.samples import RuleSamples, check_walk_lengths, sample_rules

__all__ = ["RuleSamples", "check_walk_lengths", "sample_rules"]
