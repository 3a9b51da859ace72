"""How every model is judged: ranks with their tie band, metrics, groups, intervals."""

from stablerule.evaluation.band import filtered_rank
from stablerule.evaluation.by_scores import ByScores
from stablerule.evaluation.comparing import Comparison, compare
from stablerule.evaluation.evaluating import evaluate
from stablerule.evaluation.evaluation import Evaluation
from stablerule.evaluation.groups import GroupFigures
from stablerule.evaluation.ranker import Ranker
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
