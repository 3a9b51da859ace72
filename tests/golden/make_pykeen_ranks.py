"""Makes pykeen_ranks.json: what PyKEEN says about random scores with many ties.

Run by hand, with a Python that has pykeen: python tests/golden/make_pykeen_ranks.py. The same seed gives the same file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

SEED, ENTITIES, RELATIONS, FACTS, LEVELS = 20, 14, 3, 90, 4
TARGET = Path(__file__).with_name("pykeen_ranks.json")
METRICS = {"mrr": "mean_reciprocal_rank", "hits@1": "hits_at_1", "hits@3": "hits_at_3", "hits@10": "hits_at_10"}


def make_facts(rng: np.random.Generator) -> dict[str, Any]:
    """Distinct facts in three splits, some with entities that train does not have."""
    sizes = ENTITIES, RELATIONS, ENTITIES
    places = rng.choice(np.prod(sizes), FACTS, replace=False)
    rows = np.stack(np.unravel_index(places, sizes), axis=1)
    train, valid, test = np.split(rows, [FACTS * 5 // 9, FACTS * 6 // 9])
    return {"train": train.tolist(), "valid": valid.tolist(), "test": test.tolist()}


def ask_pykeen(splits: dict[str, Any], scores: np.ndarray[Any, Any]) -> dict[str, Any]:
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models.mocks import FixedModel
    from pykeen.triples import CoreTriplesFactory

    class Given(FixedModel):  # type: ignore[no-untyped-call]
        """Returns the scores that were made: [h, r] for tails, [t, r + R] for heads."""

        def score_t(self, hr_batch: Any, tails: Any = None, **_: Any) -> Any:
            return torch.as_tensor(scores[hr_batch[:, 0], hr_batch[:, 1]], dtype=torch.float32)

        def score_h(self, rt_batch: Any, heads: Any = None, **_: Any) -> Any:
            return torch.as_tensor(scores[rt_batch[:, 1], rt_batch[:, 0] + RELATIONS], dtype=torch.float32)

    class Evaluator(RankBasedEvaluator):
        """Keeps the ranks in double precision: in single precision MRR would be right to seven places only."""

        def finalize(self) -> Any:
            for parts in self.ranks.values():
                parts[:] = [part.astype(np.float64) for part in parts]
            return super().finalize()

    train, valid, test = (torch.as_tensor(splits[name]) for name in ("train", "valid", "test"))
    factory = CoreTriplesFactory(mapped_triples=train, num_entities=ENTITIES, num_relations=RELATIONS)
    found = Evaluator(filtered=True).evaluate(
        Given(triples_factory=factory), test, additional_filter_triples=[train, valid], batch_size=7, use_tqdm=False
    )
    return {
        side: {
            form: {name: found.get_metric(f"{side}.{form}.{theirs}") for name, theirs in METRICS.items()}
            for form in ("optimistic", "realistic", "pessimistic")
        }
        for side in ("both", "tail", "head")
    }


def main() -> None:
    from importlib.metadata import version

    rng = np.random.default_rng(SEED)
    splits = make_facts(rng)
    scores = rng.integers(LEVELS, size=(ENTITIES, 2 * RELATIONS, ENTITIES))
    made = {
        "made_by": f"tests/golden/make_pykeen_ranks.py with PyKEEN {version('pykeen')}",
        "seed": SEED,
        "entities": ENTITIES,
        "relations": RELATIONS,
        **{name: [" ".join(map(str, row)) for row in rows] for name, rows in splits.items()},
        # A string of digits for each (head, relation), a digit for each entity.
        "scores": [["".join(map(str, row)) for row in rows] for rows in scores.tolist()],
        "metrics": ask_pykeen(splits, scores),
    }
    TARGET.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
