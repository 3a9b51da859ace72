"""Weights of the rules of a relation: compiled softmax regression of the correct answer on path counts.

score(e) = sum over rules of weight * paths to e, plus the bias of e. Without biases, unreached entities are not
candidates, and queries with an unreached answer are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stablerule.extending import compiled, compiled_part
from stablerule_lab.methods.rnnlogic.path_table import LEFT_OUT, TRUTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stablerule_lab.methods.rnnlogic.path_table import PathTable

    Floats = NDArray[np.float64]

FIRST_DECAY, SECOND_DECAY, SMALL = 0.9, 0.999, 1e-8  # of Adam


class Predictor(NamedTuple):
    """Weights of the rules of one relation (n,), biases of the entities (E,) or none (0,), and the state of Adam."""

    weights: Floats
    bias: Floats
    moments: Floats  # (2, n + E): of the gradients and their squares
    steps: NDArray[np.int64]  # (1,)

    @classmethod
    def new(cls, rules: int, entities: int) -> Predictor:
        """Return a predictor with weights 0; without entities there are no biases."""
        return cls(np.zeros(rules), np.zeros(entities), np.zeros((2, rules + entities)), np.zeros(1, np.int64))


@compiled
def add_slopes(table: PathTable, queries: NDArray[np.int64], weights: Floats, bias: Floats, slopes: Floats) -> float:
    """Return the mean loss of some queries of a table, and add its gradient (n + E,), weights before biases.

    The loss of a query is -log softmax(scores)[truth] over all entities except other known answers.
    """
    n_rules, biased = len(weights), len(bias) > 0
    highest = bias.max() if biased else 0.0
    raised = np.exp(bias - highest)  # (E,): the weight of unreached entities
    everyone = raised.sum()
    useful, loss, common = 0, 0.0, 0.0
    for q in queries:
        useful += _truth(table, q, biased) >= 0
    for q in queries:
        truth = _truth(table, q, biased)
        if truth < 0:
            continue
        begin = table.starts[q]
        scores = _scores(table, q, weights, bias)
        candidates = len(scores) if biased else table.reached[q]
        for slot in range(candidates):
            if table.roles[begin + slot] == LEFT_OUT:
                scores[slot] = -np.inf
        top = max(scores[:candidates].max(), highest) if biased else scores[:candidates].max()
        shares = np.exp(scores[:candidates] - top)
        total, scale, listed = shares.sum(), 0.0, 0.0
        if biased:  # entities outside the table have their bias only
            for slot in range(candidates):
                listed += raised[table.entities[begin + slot]]
            scale = np.exp(highest - top)
            total += max(everyone - listed, 0.0) * scale
        loss += (np.log(total) + top - scores[truth]) / useful
        for slot in range(candidates):
            shares[slot] = (shares[slot] / total - (slot == truth)) / useful
        for i in range(table.entry_starts[q], table.entry_starts[q + 1]):
            slopes[table.entry_rules[i]] += shares[table.entry_slots[i]] * table.entry_paths[i]
        if biased:
            common += scale / total / useful
            for slot in range(candidates):
                entity = table.entities[begin + slot]
                slopes[n_rules + entity] += shares[slot] - raised[entity] * scale / total / useful
    for entity in range(len(bias)):
        slopes[n_rules + entity] += common * raised[entity]
    return loss


@compiled_part
def _truth(table: PathTable, q: int, biased: bool) -> int:
    """Return the index of the answer, -1 if the query is skipped."""
    begin = table.starts[q]
    for slot in range(table.starts[q + 1] - begin if biased else table.reached[q]):
        if table.roles[begin + slot] == TRUTH:
            return int(slot)
    return -1


@compiled_part
def _scores(table: PathTable, q: int, weights: Floats, bias: Floats) -> Floats:
    begin = table.starts[q]
    scores = np.zeros(table.starts[q + 1] - begin)
    if len(bias) > 0:
        for slot in range(len(scores)):
            scores[slot] = bias[table.entities[begin + slot]]
    for i in range(table.entry_starts[q], table.entry_starts[q + 1]):
        scores[table.entry_slots[i]] += weights[table.entry_rules[i]] * table.entry_paths[i]
    return scores


@compiled
def learn_epoch(
    table: PathTable, order: NDArray[np.int64], batch_size: int, rate: float, penalty: float, p: Predictor
) -> float:
    """Take an Adam step for each batch of the queries, in order; return the mean loss.

    penalty: L2 penalty of weights and biases.
    """
    n_rules, loss = len(p.weights), 0.0
    slopes = np.zeros(p.moments.shape[1])
    for start in range(0, len(order), batch_size):
        queries = order[start : start + batch_size]
        slopes[:] = 0
        loss += add_slopes(table, queries, p.weights, p.bias, slopes) * len(queries) / len(order)
        p.steps[0] += 1
        first_unbiased = 1 - FIRST_DECAY ** p.steps[0]
        second_unbiased = 1 - SECOND_DECAY ** p.steps[0]
        for i in range(len(slopes)):
            value = p.weights[i] if i < n_rules else p.bias[i - n_rules]
            slope = slopes[i] + 2 * penalty * value
            p.moments[0, i] = FIRST_DECAY * p.moments[0, i] + (1 - FIRST_DECAY) * slope
            p.moments[1, i] = SECOND_DECAY * p.moments[1, i] + (1 - SECOND_DECAY) * slope * slope
            step = rate * p.moments[0, i] / first_unbiased / (np.sqrt(p.moments[1, i] / second_unbiased) + SMALL)
            if i < n_rules:
                p.weights[i] -= step
            else:
                p.bias[i - n_rules] -= step
    return loss


@compiled
def rule_influence(table: PathTable, weights: Floats) -> Floats:
    """Return H (n,): the mean over queries of softmax over rules of (score at the truth - mean score over candidates).

    The score of a rule is weight * paths; the candidates are all reached entities. H sums to 1.
    """
    influence, queries = np.zeros(len(weights)), len(table.reached)
    for q in range(queries):
        gain = np.zeros(len(weights))
        for i in range(table.entry_starts[q], table.entry_starts[q + 1]):
            rule, part = table.entry_rules[i], 0.0
            if table.roles[table.starts[q] + table.entry_slots[i]] == TRUTH:
                part = 1.0
            gain[rule] += weights[rule] * table.entry_paths[i] * (part - 1 / table.reached[q])
        raised = np.exp(gain - gain.max())
        influence += raised / raised.sum() / queries
    return influence
