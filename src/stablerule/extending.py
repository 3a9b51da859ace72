"""What learners and experiments outside of the library are made of: the names to build on, in one place.

A learner is a `Reasoner`. `__init__` stores its options, `fit` learns between `_begin` and `_end`, and `_searcher`
makes what was learned ready for a graph, here by a function that scores all entities at once:

>>> import numpy as np
>>> class Degree(Reasoner):
...     "Answer every query with the entities that have the most facts."
...
...     method = "degree"
...
...     def __init__(self, *, seed: int = 0):
...         self.seed = seed
...
...     def fit(self, graph, valid=None, *, examples=None, minutes=None):
...         return self._end(self._begin(graph, valid, examples, minutes), Learned())
...
...     def plan_lines(self, graph, minutes=None):
...         return ["counts the facts of each entity"]
...
...     def _searcher(self, graph):
...         def score(heads, relations):
...             return np.tile(graph.degrees, (len(heads), 1))
...
...         return ScoreSearcher(graph, score, name=self.method)
>>> from stablerule import Dataset
>>> facts = [("Lyon", "in", "France"), ("Paris", "in", "France"), ("Bonn", "in", "Germany")]
>>> model = Degree().fit(Dataset.from_names("trip", train=facts).graph)
>>> [answer.entity for answer in next(model.answer([("Bonn", "in")], k=1))]
['France']

Learners of rules are a `RuleReasoner`. Their `fit` ends with `finish_learning`, which chooses how rules that fire
become one score, and calibrates it.

`stablerule learn --method degree` finds the learner when its distribution has an entry point in the group
`stablerule.methods` that names a list of records:

    from stablerule.registry import Method

    METHODS = [
        Method("degree", "control", "the largest entities", "mine.degree:Degree", inductive=True, explains=False)
    ]

A command is a function or a Typer app in the group `stablerule.commands`. The entry point `data.mine` is the command
`stablerule data mine`.
"""

from stablerule.datasets.arguments import check_count
from stablerule.datasets.loading import is_dataset_at_hand
from stablerule.evaluation.metrics import average_metrics, average_metrics_by_kind, compute_metrics
from stablerule.graph.triples import Ids, Offsets, read_only
from stablerule.io.files import DAMAGED, find_path_kind, make_read_error, open_bytes, split_suffixes
from stablerule.io.folders import OwnFolder
from stablerule.io.options import spell_read_option
from stablerule.io.reading import find_split_of_file
from stablerule.io.text import read_line_blocks, read_utf8_pieces
from stablerule.learning.extraction import (
    Candidates,
    keep_best_bodies,
    measure_chains,
    name_learned_rules,
    number_learned_rules,
    score_bodies,
    smooth_sample_counts,
)
from stablerule.learning.fitting import choose_walks_in_time, finish_learning, sample_paths
from stablerule.learning.options import PAPER_SIZES, check_option_at_least
from stablerule.learning.plan import (
    WALKS_A_SECOND,
    choose_walk_count,
    expect_body_count,
    limit_measuring_to_budget,
    limit_walks_to_budget,
    spell_duration,
)
from stablerule.paths.compiling import NOTHING, compiled, compiled_part
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.threads import count_cores, run_in_threads
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning.budget import Budget, check_minutes, interrupt_later
from stablerule.reasoning.calibration import Calibration, calibrate
from stablerule.reasoning.choosing import FIXED as FIXED_AGGREGATIONS
from stablerule.reasoning.choosing import ROWS as EVIDENCE_ROWS
from stablerule.reasoning.evidence_examples import Examples, Queries, collect_weight_examples
from stablerule.reasoning.evidence_weights import fit_evidence_weights, softmax_loss
from stablerule.reasoning.learned import Choice, Course, Learned, Lesson
from stablerule.reasoning.model_folder import NETWORK as NETWORK_FILE
from stablerule.reasoning.model_folder import SavedModel
from stablerule.reasoning.option_types import flatten_options, join_options
from stablerule.reasoning.ranks import FORMS as RANK_FORMS
from stablerule.reasoning.ranks import Ranks, Ties
from stablerule.reasoning.reasoner import Reasoner, RuleReasoner
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.score_searcher import ScoreSearcher
from stablerule.reasoning.scoring.evidence import COLUMNS as EVIDENCE_COLUMNS
from stablerule.reasoning.scoring.firing import (
    N_CANDIDATES,
    N_FIRINGS,
    Workplace,
    close_relation,
    fire_rules,
    make_empty_firings,
    make_firing_workplace,
    open_relation,
)
from stablerule.reasoning.scoring.query_kernels import Asked, Desk
from stablerule.reasoning.scoring.score import Aggregation
from stablerule.reasoning.scoring.theory import By, Encoded, Theory, encode_rules, make_empty_traits, set_rule_weights
from stablerule.reasoning.searcher import Searcher
from stablerule.rules.measuring import measure_rules
from stablerule.rules.scored import NUMBERS as RULE_NUMBERS
from stablerule.rules.scored import PESSIMISM
from stablerule.samples import RuleSamples, check_walk_lengths, sample_rules
from stablerule.shifts.grouping import Align
from stablerule.shifts.signatures import make_balanced_clusters, need_balanced_clusters, reduce_signatures
from stablerule.shifts.splits.source import narrow_to_split

__all__ = [
    "DAMAGED",
    "EVIDENCE_COLUMNS",
    "EVIDENCE_ROWS",
    "FIXED_AGGREGATIONS",
    "NETWORK_FILE",
    "NOTHING",
    "N_CANDIDATES",
    "N_FIRINGS",
    "PAPER_SIZES",
    "PESSIMISM",
    "RANK_FORMS",
    "RULE_NUMBERS",
    "WALKS_A_SECOND",
    "Aggregation",
    "Align",
    "Asked",
    "Budget",
    "By",
    "Calibration",
    "Candidates",
    "Choice",
    "Course",
    "Desk",
    "Encoded",
    "ExampleFacts",
    "Examples",
    "Ids",
    "Learned",
    "Lesson",
    "Offsets",
    "OwnFolder",
    "Queries",
    "Ranks",
    "Reasoner",
    "RuleReasoner",
    "RuleSamples",
    "RuleSearcher",
    "SavedModel",
    "ScoreSearcher",
    "Searcher",
    "Theory",
    "Ties",
    "Workplace",
    "average_metrics",
    "average_metrics_by_kind",
    "calibrate",
    "check_count",
    "check_minutes",
    "check_option_at_least",
    "check_walk_lengths",
    "choose_walk_count",
    "choose_walks_in_time",
    "close_relation",
    "collect_weight_examples",
    "compiled",
    "compiled_part",
    "compute_metrics",
    "count_cores",
    "encode_rules",
    "expect_body_count",
    "find_path_kind",
    "find_relation_edges",
    "find_split_of_file",
    "finish_learning",
    "fire_rules",
    "fit_evidence_weights",
    "flatten_options",
    "interrupt_later",
    "is_dataset_at_hand",
    "join_options",
    "keep_best_bodies",
    "limit_measuring_to_budget",
    "limit_walks_to_budget",
    "make_balanced_clusters",
    "make_empty_firings",
    "make_empty_traits",
    "make_firing_workplace",
    "make_read_error",
    "measure_chains",
    "measure_rules",
    "name_learned_rules",
    "narrow_to_split",
    "need_balanced_clusters",
    "number_learned_rules",
    "open_bytes",
    "open_relation",
    "read_line_blocks",
    "read_only",
    "read_utf8_pieces",
    "reduce_signatures",
    "run_in_threads",
    "sample_paths",
    "sample_rules",
    "score_bodies",
    "set_rule_weights",
    "smooth_sample_counts",
    "softmax_loss",
    "spell_duration",
    "spell_read_option",
    "split_suffixes",
]
