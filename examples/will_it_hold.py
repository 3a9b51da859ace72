"""Will it hold on my queries? Compare them with those that a model was evaluated on, before any answer is known.

In this made-up newsroom most people to learn from are journalists. Then you ask about more of them, or about
footballers: both have an employer, by different paths. Needs the extra `shifts`.
Run it with `python examples/will_it_hold.py`.
"""

from __future__ import annotations

import stablerule
from stablerule.shifts import QuerySet, compare_queries

FOOTBALLERS = {"more of the same": 0.2, "mostly footballers": 0.8}


def main() -> None:
    """Estimate the accuracy on two sets of queries, one alike and one not, and check it against the answers."""
    for name, share in FOOTBALLERS.items():
        dataset = stablerule.newsroom(people=500, valid=0.2, train_mix=0.2, test_mix=share, seed=0).dataset
        graph = dataset.graph
        learner = stablerule.Tabular(walks=5_000, rules_per_relation=40, constants=False, seed=0)
        model = learner.fit(graph, dataset.valid)

        reference = QuerySet.from_facts(dataset.valid, graph.n_relations)  # what the model was evaluated on
        queries = QuerySet.from_facts(dataset.test, graph.n_relations).without_answers()  # what you have
        known = stablerule.Graph.build(dataset.everything, dataset.vocabulary)  # true answers, no competing candidates
        report = compare_queries(reference, queries, graph, model=model, known=known)

        print(f"{name}: {report.verdict}")
        for cause in report.causes[:2]:
            print(f"  {cause}")
        expected = report.expected
        if expected.mrr is None:
            print(f"  the accuracy cannot be estimated: {expected.refused}")
        else:
            print(f"  expected MRR {expected.mrr:.2f} (from {expected.low:.2f} to {expected.high:.2f})")
        print(f"  measured, now that the answers are known: {stablerule.evaluate(model, dataset).mrr:.2f}\n")


if __name__ == "__main__":
    main()
