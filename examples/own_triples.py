"""Your own triples: from a CSV file to rules and new facts, each with its reason.

Run it with `python examples/own_triples.py`. It takes the facts about painters beside it, or a file of yours.
"""

from __future__ import annotations

import sys
from pathlib import Path

import stablerule

PAINTERS = Path(__file__).with_name("painters.csv")


def main(path: str | Path = PAINTERS, relation: str = "nationality") -> None:
    """Learn rules for a relation, and print the facts that the file lacks."""
    dataset = stablerule.read_dataset(path)
    print(dataset)

    model = stablerule.Tabular(seed=0).fit(dataset.graph)  # counts paths; needs no PyTorch

    print(f"\nThe best rules for {relation}:")
    for scored in model.rules.filter(head_relation=relation, kind="chains").top(3, by="confidence"):
        print(f"  {scored.confidence:.2f}  {scored.rule}")

    print("\nNew facts, the best first:")
    for fact in model.complete(relations=[relation], domain="all", threshold=0.4):
        print(f"  {fact.score:.2f}  {fact.head} - {relation} - {fact.tail}")
        print(f"        because of {' - '.join(fact.path)}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
