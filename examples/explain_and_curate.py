"""Explain and curate: look at the reason of each new fact, reject what is wrong, and keep only rules that you trust.

Run it with `python examples/explain_and_curate.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import stablerule
from stablerule.learning import GivenRules

PAINTERS = Path(__file__).with_name("painters.csv")
# What a person knows and the file does not: born in Paris to English parents, he remained British.
WRONG = {("Alfred Sisley", "nationality", "France")}


def main() -> None:
    """Find new facts, explain a wrong one, and answer again from trusted rules."""
    dataset = stablerule.read_dataset(PAINTERS)
    model = stablerule.Tabular(seed=0).fit(dataset.graph)

    found = list(model.complete(relations=["nationality"], domain="all", threshold=0.4))
    right = [fact for fact in found if (fact.head, fact.relation, fact.tail) not in WRONG]
    print(f"{len(found)} new facts, {len(right)} of them right: " + ", ".join(fact.head for fact in right))

    for triple in WRONG:
        print(f"\nWhy {' - '.join(triple)}?")
        for reason in model.explain(triple)[:3]:
            print(f"  {reason.share:4.0%}  {reason.rule.rule}")
            print("        " + ", ".join(f"{r}({h}, {t})" for h, r, t in reason.facts[0]))

    trusted = model.rules.filter(head_relation="nationality", kind="chains", min_confidence=0.6)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trusted.txt"  # a text file, one rule a line: edit it by hand if you like
        stablerule.write_rules(trusted, path)
        curated = GivenRules(file=str(path), aggregation="noisy_or").fit(dataset.graph)

    print(f"\nWith {len(curated.rules)} trusted rule instead of {len(model.rules)}:")
    ((best, *_),) = curated.answer([("Piet Mondrian", "nationality")], k=1, explain=True)
    print(f"  Piet Mondrian - nationality - {best.entity}, by {best.reasons[0].rule.rule}")

    # A fact that no trusted rule supports is not answered, and `why_not` says why.
    print(f"\n{curated.why_not(('Piet Mondrian', 'nationality', 'Spain'))}")


if __name__ == "__main__":
    main()
