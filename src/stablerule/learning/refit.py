"""Learn from everything: some facts are held out to choose and calibrate on, then rules are measured on all facts.

Without validation facts, a learner has to choose how rules become one score on facts that the rules were made from.
So a tenth of the facts is held out, such that the rest knows every entity and relation. Rules are learned from the
rest, and the aggregation is chosen on what was held out. Then the rules that were found are measured again on all
facts: their numbers, not the choice, are what more facts make better. Scores are then calibrated again; the facts that
were held out say how well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stablerule.graph import Dataset, Graph, split_triples
from stablerule.paths.withheld import ExampleFacts
from stablerule.reasoning.calibration import Calibration, calibrate
from stablerule.reasoning.rule_searcher import RuleSearcher
from stablerule.reasoning.scoring.theory import encode_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from stablerule.reasoning.learned import Learned, Lesson
    from stablerule.reasoning.scoring.score import Aggregation
    from stablerule.rules import RuleSet

HELD_OUT = 0.1  # of the facts
FEWEST, MOST = 200, 20_000  # with fewer there is nothing to choose and calibrate on, and more decide nothing


def count_held_out(graph: Graph) -> int:
    """Say how many facts of a graph are held out to choose on; 0 where they would be too few."""
    count = min(int(HELD_OUT * graph.n_facts), MOST)
    return count if count >= FEWEST else 0


def fit_on_everything(
    lesson: Lesson,
    seed: int,
    learn: Callable[[Lesson], Learned],
    measure: Callable[[Lesson, RuleSet], RuleSet],
    *,
    refit: bool = True,
) -> Learned:
    """Learn, with facts held out where nothing else can choose, and all facts may be examples.

    learn: from a lesson that has validation facts. measure: gives rules their numbers on all facts of a lesson.
    """
    if not refit or lesson.valid is not None or lesson.some_serve or not count_held_out(lesson.graph):
        return learn(lesson)
    part = hold_out_facts_to_learn(lesson, seed)
    learned = learn(part)
    if learned.rules is None or learned.choice is None:
        return learned
    count = 0 if part.valid is None else len(part.valid)
    choice = replace(learned.choice, chosen_on=f"{count:,} facts that were held out")
    rules = measure(lesson, learned.rules)
    calibration = calibrate_again(lesson, learned, rules, learned.choice.aggregation, seed)
    return replace(learned, rules=rules, choice=choice, calibration=calibration, held_out=count, ready=None)


def hold_out_facts_to_learn(lesson: Lesson, seed: int) -> Lesson:
    """Return a lesson whose validation facts were drawn from those of its graph."""
    graph = lesson.graph
    share = count_held_out(graph) / graph.n_facts
    train, valid, _ = split_triples(graph.triples, (1 - share, share, 0.0), seed)
    rest = Graph.build(train, graph.vocabulary, graph.name)
    dataset = Dataset.of_graph(rest, valid, lesson.dataset.test)
    return replace(lesson, dataset=dataset, examples=ExampleFacts.of(rest, None))


def calibrate_again(
    lesson: Lesson, learned: Learned, rules: RuleSet, aggregation: Aggregation, seed: int
) -> Calibration | str:
    """Calibrate the scores that rules give on all facts; the check stays that of the facts that were held out."""
    search = RuleSearcher(encode_rules(rules, lesson.graph, aggregation.by), aggregation)
    found, before = calibrate(search, lesson.dataset.known, examples=lesson.examples, seed=seed), learned.calibration
    if isinstance(found, Calibration) and isinstance(before, Calibration):
        return replace(found, reliability=before.reliability)
    return found
