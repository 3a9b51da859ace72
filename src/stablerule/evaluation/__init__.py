"""Evaluate models: filtered ranks with ties, metrics, groups and confidence intervals."""

from stablerule.evaluation.by_scores import ByScores, filtered_rank
from stablerule.evaluation.compare import Comparison, compare
from stablerule.evaluation.evaluation import Evaluation, Ranker, evaluate
from stablerule.evaluation.groups import GroupFigures
from stablerule.evaluation.seeds import GroupResult, over_seeds
from stablerule.reasoning.ranks import Ranks

__all__ = [
    "ByScores",
    "Comparison",
    "Evaluation",
    "GroupFigures",
    "GroupResult",
    "Ranker",
    "Ranks",
    "compare",
    "evaluate",
    "filtered_rank",
    "over_seeds",
]
