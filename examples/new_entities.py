"""New entities: rules learned from made-up families answer about a real one that the model has never seen.

Most rules name relations only, so they hold on any graph with the same relations. Nothing is trained again.
Run it with `python examples/new_entities.py`.
"""

from __future__ import annotations

import stablerule

PARENTS = {
    "Bronisława Skłodowska": ["Marie Curie", "Bronisława Dłuska"],
    "Władysław Skłodowski": ["Marie Curie", "Bronisława Dłuska"],
    "Marie Curie": ["Irène Joliot-Curie", "Ève Curie"],
    "Pierre Curie": ["Irène Joliot-Curie", "Ève Curie"],
    "Irène Joliot-Curie": ["Hélène Langevin-Joliot", "Pierre Joliot"],
    "Frédéric Joliot-Curie": ["Hélène Langevin-Joliot", "Pierre Joliot"],
}
COUPLES = [("Marie Curie", "Pierre Curie"), ("Irène Joliot-Curie", "Frédéric Joliot-Curie")]
SIBLINGS = [
    ("Marie Curie", "Bronisława Dłuska"),
    ("Irène Joliot-Curie", "Ève Curie"),
    ("Hélène Langevin-Joliot", "Pierre Joliot"),
]
# One fact of each relation that is asked for, so that the graph knows its name.
KNOWN = [
    ("Władysław Skłodowski", "grandparent_of", "Ève Curie"),
    ("Ève Curie", "uncle_or_aunt_of", "Pierre Joliot"),
    ("Pierre Curie", "sibling_in_law_of", "Bronisława Dłuska"),
]
QUERIES = [
    ("Marie Curie", "grandparent_of"),
    ("Bronisława Dłuska", "uncle_or_aunt_of"),
    ("Ève Curie", "sibling_in_law_of"),
]


def main() -> None:
    """Learn from one graph, and answer on another."""
    world = stablerule.households(families=20, seed=0).dataset
    learner = stablerule.Tabular(max_length=2, walks=50_000, constants=False, aggregation="max_plus", seed=0)
    model = learner.fit(world.graph)
    print(f"Learned {len(model.rules):,} rules from {world.graph.n_facts:,} facts about made-up families.")

    facts = [(parent, "parent_of", child) for parent, children in PARENTS.items() for child in children]
    facts += [(child, "child_of", parent) for parent, _, child in facts]
    for relation, pairs in (("spouse_of", COUPLES), ("sibling_of", SIBLINGS)):
        facts += [(a, relation, b) for pair in pairs for a, b in (pair, pair[::-1])]
    curies = stablerule.Dataset.from_names("curies", train=facts + KNOWN).graph

    for query, answers in zip(QUERIES, model.answer(QUERIES, graph=curies, k=3, explain=True), strict=True):
        print(f"\n{' - '.join(query)} - ?")
        for answer in answers:
            reason = answer.reasons[0]
            print(f"  {answer.entity}, by {reason.rule.rule}")
            print(f"    {' - '.join(reason.groundings[0])}")


if __name__ == "__main__":
    main()
