"""Why an answer was given: the rules behind its score, each with its share and its concrete paths.

A kernel that scores answers notes their reasons in the same pass (`add_reasons`). What answering, completing and
explaining show is read off these notes, so it is the same everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from stablerule.paths.compiling import compiled, compiled_part
from stablerule.paths.reach import find_relation_edges
from stablerule.paths.sorting import find_first_at_least
from stablerule.reasoning.answers import Explanation
from stablerule.reasoning.scoring.firing import N_CANDIDATES, N_FIRINGS
from stablerule.reasoning.scoring.score import find_score_without_rules, share_out_score
from stablerule.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stablerule.graph import Stepped
    from stablerule.graph.triples import Ids, Offsets
    from stablerule.reasoning.scoring.firing import Firings
    from stablerule.reasoning.scoring.score import How
    from stablerule.reasoning.scoring.theory import Encoded, Theory, Worth

ALL = 2**31 - 1  # reasons of an answer
SHOWN_PATHS = 3  # groundings of one explanation
MOST_EDGES = 5_000_000  # looked at for the paths of one rule between two entities


class Reasons(NamedTuple):
    """The rules behind n answers: those of answer i at starts[i]:starts[i + 1], the largest share first.

    rules: (r,) by their row in the theory. parts: (r,) what each adds to the sum that becomes the score. shares: (r,)
    its share of what all rules add; those of one answer sum to 1 where all of its rules are listed. A rule that counts
    against the answer has a share of 0; where no rule adds anything, the shares are those of the weights. paths: (r,)
    how many paths of the rule lead to the answer. rest: (n,) the part of the sum that no rule gave.
    """

    starts: Offsets
    rules: Ids
    parts: NDArray[np.float64]
    shares: NDArray[np.float64]
    paths: Ids
    rest: NDArray[np.float64]


@compiled_part
def make_empty_reasons(answers: int) -> Reasons:
    """Begin without reasons, for so many answers."""
    size = answers
    return Reasons(
        np.zeros(answers + 1, np.int64),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size),
        np.empty(size, np.int32),
        np.zeros(answers),
    )


@compiled_part
def _make_room_for_reasons(r: Reasons, used: int, wanted: int) -> Reasons:
    """Return the same reasons with room for more."""
    size = max(2 * len(r.rules), wanted)
    rules, paths, parts, shares = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size), np.empty(size)
    for i in range(used):
        rules[i], paths[i], parts[i], shares[i] = r.rules[i], r.paths[i], r.parts[i], r.shares[i]
    return Reasons(r.starts, rules, parts, shares, paths, r.rest)


@compiled_part
def add_reasons(
    r: Reasons,
    first: int,
    slots: Ids,
    n: int,
    most: int,
    f: Firings,
    worth: Worth,
    how: How,
    popularity: Ids,
    offsets: NDArray[np.int64],
) -> Reasons:
    """Add at most so many reasons for each of n candidates of one query; they are the answers first:first + n.

    slots: of the candidates, -1 for one that no rule reaches.
    """
    candidates, n_firings, slot_of_firing = f.sizes[N_CANDIDATES], f.sizes[N_FIRINGS], f.slots
    place_of = np.empty(candidates, np.int32)
    for slot in range(candidates):
        place_of[slot] = -1
    starts, at = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    for i in range(n):
        if slots[i] >= 0:
            place_of[slots[i]] = i
    for i in range(n_firings):
        place = place_of[slot_of_firing[i]]
        if place >= 0:
            starts[place + 1] += 1
    for i in range(n):
        at[i] = starts[i]
        starts[i + 1] += starts[i]
    firings = np.empty(starts[n], np.int64)
    for i in range(n_firings):
        place = place_of[slot_of_firing[i]]
        if place >= 0:
            firings[at[place]] = i
            at[place] += 1
    for i in range(n):
        own = firings[starts[i] : starts[i + 1]]
        begin = r.starts[first + i]
        wanted = min(most, len(own))
        if begin + wanted > len(r.rules):
            r = _make_room_for_reasons(r, begin, begin + wanted)
        if len(own) > 0:
            entity = f.entities[slots[i]]
            r.rest[first + i] = find_score_without_rules(how, popularity[entity], offsets[entity + 1] - offsets[entity])
            _list_reasons(r, begin, wanted, own, f, worth, how)
        r.starts[first + i + 1] = begin + wanted
    return r


@compiled_part
def _list_reasons(
    r: Reasons, begin: int, wanted: int, firings: NDArray[np.int64], f: Firings, worth: Worth, how: How
) -> None:
    """Write the `wanted` best of the firings of one candidate, in order of share, then of weight."""
    n, levels, weights, rules, paths = len(firings), worth.levels, worth.level_weights, f.rules, f.paths
    parts = np.empty(n)
    share_out_score(f, worth, how, firings, parts)
    adds, total = np.empty(n), 0.0
    for attempt in range(3):
        for i in range(n):
            if attempt == 0:
                adds[i] = max(parts[i], 0.0)
            else:
                adds[i] = weights[levels[rules[firings[i]]]] if attempt == 1 else 1.0
            total += adds[i]
        if total > 0:
            break
    for place in range(wanted):
        best = -1
        for i in range(n):
            if adds[i] < 0:
                continue
            more = best < 0 or adds[i] > adds[best]
            if not more and adds[i] == adds[best]:
                more = weights[levels[rules[firings[i]]]] > weights[levels[rules[firings[best]]]]
            if more:
                best = i
        r.rules[begin + place], r.paths[begin + place] = rules[firings[best]], paths[firings[best]]
        r.parts[begin + place], r.shares[begin + place] = parts[best], adds[best] / total
        adds[best] = -1  # it is listed


def join_reasons(parts: Sequence[tuple[NDArray[np.int64], Reasons]], answers: int) -> Reasons:
    """Put the reasons of parts of the answers together; each part says which answers it has."""
    counts, rest = np.zeros(answers, np.int64), np.zeros(answers)
    for which, part in parts:
        counts[which], rest[which] = np.diff(part.starts), part.rest
    starts = np.concatenate([[0], np.cumsum(counts)])
    size = int(starts[-1])
    joined = Reasons(starts, np.empty(size, np.int32), np.empty(size), np.empty(size), np.empty(size, np.int32), rest)
    for which, part in parts:
        total = int(part.starts[-1])
        shift = np.repeat(starts[which] - part.starts[:-1], np.diff(part.starts))
        to = np.arange(total) + shift
        joined.rules[to], joined.paths[to] = part.rules[:total], part.paths[:total]
        joined.parts[to], joined.shares[to] = part.parts[:total], part.shares[:total]
    return joined


def take_reasons(r: Reasons, answers: NDArray[np.int64]) -> Reasons:
    """Return the reasons of some of the answers, by number."""
    counts = np.diff(r.starts)[answers]
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(starts[-1]) + np.repeat(r.starts[answers] - starts[:-1], counts)
    return Reasons(starts, r.rules[rows], r.parts[rows], r.shares[rows], r.paths[rows], r.rest[answers])


def name_reasons(encoded: Encoded, heads: Ids, relations: Ids, tails: Ids, r: Reasons) -> list[tuple[Explanation, ...]]:
    """Return the explanations of each answer (head, relation, tail), with some paths by name."""
    answer_of = np.repeat(np.arange(len(tails)), np.diff(r.starts))
    asked = heads[answer_of], relations[answer_of], tails[answer_of]
    paths = _find_paths_behind_answers(encoded, *asked, r.rules, SHOWN_PATHS)
    names, found = encoded.graph.vocabulary.entities, []
    rules = {rule: encoded.rules[int(encoded.rows[rule])] for rule in np.unique(r.rules).tolist()}
    for i, rule in enumerate(r.rules.tolist()):
        # A rule that was read backwards is shown as it stands, from X to Y.
        turn = -1 if rule < encoded.n_chains and encoded.turned[rule] else 1
        walked = (path[path >= 0][::turn] for path in paths[i] if path[0] >= 0)
        groundings = tuple(tuple(names.names_of(path).to_list()) for path in walked)
        found.append(Explanation(rules[rule], float(r.shares[i]), int(r.paths[i]), groundings, part=float(r.parts[i])))
    return [tuple(found[start:end]) for start, end in zip(r.starts[:-1], r.starts[1:], strict=True)]


def find_first_rules_of_reasons(r: Reasons) -> Ids:
    """Return (n,) the rule with the largest share behind each answer, -1 where there is none."""
    rules = np.full(len(r.starts) - 1, -1, np.int32)
    has_one = np.diff(r.starts) > 0
    rules[has_one] = r.rules[r.starts[:-1][has_one]]
    return rules


def tabulate_reasons(encoded: Encoded, relation: int, heads: Ids, tails: Ids, rules: Ids) -> dict[str, pl.Series]:
    """Return columns rule and path for facts of one relation: the rule behind each, and one path from head to tail.

    rules: (n,) by their row in the theory. Where it is -1, the rule is null and the path empty.
    """
    used, which = np.unique(rules, return_inverse=True)
    paths = _find_paths_behind_answers(encoded, heads, np.full(len(rules), relation, np.int32), tails, rules, 1)
    # No entity has the id -1: it gives null, which is then left out of the list.
    names = encoded.graph.vocabulary.entities.table
    steps = [names.gather(pl.Series(step).replace(-1, None)).alias(f"{i}") for i, step in enumerate(paths[:, 0].T)]
    return {
        "rule": pl.Series(_spell_rules_of_reasons(encoded, used), dtype=pl.String).gather(which),
        "path": pl.DataFrame(steps).select(pl.concat_list(pl.all()).list.drop_nulls()).to_series(),
    }


def _spell_rules_of_reasons(encoded: Encoded, rules: Ids) -> list[str | None]:
    """Spell rules of a theory; -1 is none."""
    frame = encoded.rules.to_frame()[encoded.rows[rules[rules >= 0]]]
    columns = frame.select("head_relation", "body", "constant", "body_constant").iter_rows()
    spelled = (str(Rule(head, tuple(body), None if c is None else (c, d))) for head, body, c, d in columns)
    return [next(spelled) if rule >= 0 else None for rule in rules.tolist()]


def _find_paths_behind_answers(encoded: Encoded, heads: Ids, relations: Ids, tails: Ids, rules: Ids, most: int) -> Ids:
    """Return (n, most, L + 1): up to `most` paths of a rule from each head to its tail, filled with -1."""
    graph = encoded.graph
    paths = np.full((len(rules), most, encoded.theory.bodies.shape[1] + 1), -1, np.int32)
    find_paths_of_reasons(graph.stepped, graph.n_relations, encoded.theory, heads, relations, tails, rules, paths)
    return paths


@compiled
def find_paths_of_reasons(
    g: Stepped, relations: int, t: Theory, heads: Ids, asked: Ids, tails: Ids, rules: Ids, paths: Ids
) -> None:
    """Fill paths (n, m, L + 1), all -1 before, with up to m paths of one rule for each of n answers; -1 is no rule.

    For a rule with constants it is the fact that it needs: the entity that has the trait, and the trait's own.
    """
    chains, known = len(t.lengths), len(t.traits.keys)
    for i in range(len(rules)):
        rule = rules[i]
        if 0 <= rule < chains:
            find_chain_paths(g, heads[i], tails[i], t.bodies[rule], t.lengths[rule], paths[i])
        elif rule >= chains:
            rule -= chains
            # q(X, c) <- trait of X: X is the head where q is the relation asked, and else the tail.
            of_head = t.trait_starts[asked[i]] <= rule < t.trait_starts[asked[i] + 1]
            owner, other = (heads[i], tails[i]) if of_head else (tails[i], heads[i])
            trait = t.rule_traits[rule]
            paths[i, 0, 0] = owner
            if trait < known:
                paths[i, 0, 1] = t.traits.keys[trait] // (2 * relations)
                continue
            # For any entity it is one such fact, if possible not the one that is asked for.
            own = asked[i] if of_head else (asked[i] + relations) % (2 * relations)
            low, high = find_relation_edges(g, owner, trait - known)
            again = trait - known == own and g.step_tails[low] == other and low + 1 < high
            paths[i, 0, 1] = g.step_tails[low + again]


@compiled
def find_chain_paths(g: Stepped, head: int, tail: int, body: Ids, length: int, paths: Ids) -> int:
    """Fill the first rows of paths (m, L + 1) with paths along a body, entities distinct; return how many there are."""
    if head == tail:
        return 0
    if length == 1:  # it is the fact itself
        paths[0, 0], paths[0, 1] = head, tail
        return 1
    path, found = np.empty(length, np.int32), 0
    path[0] = head
    at, end = np.empty(length, np.int64), np.empty(length, np.int64)
    at[0], end[0] = find_relation_edges(g, head, body[0])
    depth, seen = 0, 0
    while depth >= 0 and seen < MOST_EDGES and found < len(paths):
        if at[depth] == end[depth]:
            depth -= 1
            continue
        here = g.step_tails[at[depth]]
        at[depth] += 1
        seen += 1
        again = here == tail
        for i in range(depth + 1):
            again = again or path[i] == here
        if again:
            continue
        depth += 1
        path[depth] = here
        at[depth], end[depth] = find_relation_edges(g, here, body[depth])
        if depth + 1 == length:  # one step is left, and the tails stand sorted
            place = find_first_at_least(g.step_tails, at[depth], end[depth], tail)
            if place < end[depth] and g.step_tails[place] == tail:
                for i in range(length):
                    paths[found, i] = path[i]
                paths[found, length] = tail
                found += 1
            depth -= 1
    return found
