"""Rules with their readable text, sets of rules with their measures, and file formats."""

from stablerule.rules.formats import LoadedRules, read_rules, write_rules
from stablerule.rules.rule import Rule
from stablerule.rules.ruleset import RuleSet
from stablerule.rules.scored import ScoredRule

__all__ = ["LoadedRules", "Rule", "RuleSet", "ScoredRule", "read_rules", "write_rules"]
