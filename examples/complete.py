"""Complete a graph, with probabilities: how many of the best new facts are true, and how many were expected?

The graph is a made-up world of families. Its hidden facts are known, so the answer can be checked. A probability is the
share of such candidates that are true, if the graph lacks one fact in ten. On small graphs it is often too low.
Run it with `python examples/complete.py`.
"""

from __future__ import annotations

import stablerule

STEPS = (100, 400, 800)


def main() -> None:
    """Find new facts, the most probable first, and compare the probabilities with what was hidden."""
    dataset = stablerule.households(seed=0).dataset
    model = stablerule.Tabular(max_length=2, walks=100_000, seed=0).fit(dataset.graph, dataset.valid)

    facts = list(model.complete(top=max(STEPS)))
    print("The most probable new facts:")
    for fact in facts[:3]:
        print(f"  {fact.probability:.2f}  {fact.head} - {fact.relation} - {fact.tail}")
        print(f"        {fact.rule}")

    hidden = set(dataset.frame("test").rows())
    print(f"\n{len(hidden):,} facts were hidden. Of the best new facts")
    for step in STEPS:
        true = sum((fact.head, fact.relation, fact.tail) in hidden for fact in facts[:step])
        expected = sum(fact.probability or 0 for fact in facts[:step])
        print(f"  the first {step:5,}: {true:5,} are true, {expected:3,.0f} were expected")


if __name__ == "__main__":
    main()
