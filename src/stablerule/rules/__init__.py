"""What is learned: a rule, and its readable text."""

from stablerule.rules.rule import Rule

__all__ = ["Rule"]
