"""StableRule learns logical rules from a knowledge graph.

>>> import stablerule
>>> dataset = stablerule.load("geography")
>>> "Paris" in dataset.vocabulary.entities
True
"""

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from stablerule.datasets import describe, households, load, newsroom, open_dataset
    from stablerule.errors import StableRuleError
    from stablerule.evaluation import evaluate
    from stablerule.graph import Dataset, Graph, Triples, Vocabulary, check
    from stablerule.io import open_graph, read_dataset, save_graph, to_pandas, write_dataset, write_triples
    from stablerule.learning import StableRule, Tabular
    from stablerule.registry import load_model
    from stablerule.rules import Rule, RuleSet, read_rules, write_rules

__all__ = [
    "Dataset",
    "Graph",
    "Rule",
    "RuleSet",
    "StableRule",
    "StableRuleError",
    "Tabular",
    "Triples",
    "Vocabulary",
    "check",
    "describe",
    "evaluate",
    "households",
    "load",
    "load_model",
    "newsroom",
    "open_dataset",
    "open_graph",
    "read_dataset",
    "read_rules",
    "save_graph",
    "to_pandas",
    "write_dataset",
    "write_rules",
    "write_triples",
]

if not TYPE_CHECKING:
    from stablerule.importing import import_when_used

    __getattr__, __dir__ = import_when_used(
        __name__,
        {
            "datasets": ("describe", "households", "load", "newsroom", "open_dataset"),
            "errors": ("StableRuleError",),
            "evaluation": ("evaluate",),
            "graph": ("Dataset", "Graph", "Triples", "Vocabulary", "check"),
            "io": ("open_graph", "read_dataset", "save_graph", "to_pandas", "write_dataset", "write_triples"),
            "learning": ("StableRule", "Tabular"),
            "registry": ("load_model",),
            "rules": ("Rule", "RuleSet", "read_rules", "write_rules"),
            **dict.fromkeys(("extending", "paths", "progress", "reasoning", "reports", "samples", "shifts"), ()),
        },
    )
