"""Who wrote a paper, by the country of the author."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stablerule import write_dataset
from stablerule.errors import InputError
from stablerule.graph import Dataset
from stablerule_lab.experiments import natural
from stablerule_lab.experiments.bibliography import read_bibliography
from stablerule_lab.experiments.cells import Cell
from stablerule_lab.experiments.natural import NATURAL_SHIFT, country_name, figures, summarise, tables

COUNTRIES = ("AT", "BE", "CH", "DK", "EE", "FI")


def small_bibliography() -> Dataset:
    """Authors write with the same co-authors again and again; authors of the first countries write more."""
    random = np.random.default_rng(0)
    facts: list[tuple[str, str, str]] = []
    paper = 0
    for place, country in enumerate(COUNTRIES):
        team = [f"{country}-author{i}" for i in range(4)]
        facts += [(author, "author_country", country) for author in team]
        for _ in range(40 - 5 * place):
            facts += [(author, "wrote", f"paper{paper}") for author in random.choice(team, 3, replace=False)]
            facts.append((f"paper{paper}", "published_in", f"venue{random.integers(3)}"))
            if paper:
                facts.append((f"paper{paper}", "cites", f"paper{random.integers(paper)}"))
            paper += 1
    order = random.permutation(len(facts))
    mixed = [facts[i] for i in order]
    return Dataset.from_names("bibliography", train=mixed[:-240], valid=mixed[-240:-120], test=mixed[-120:])


WORLD = small_bibliography()


def test_countries_are_groups_and_no_edges() -> None:
    read = read_bibliography(WORLD)
    words = read.dataset.vocabulary
    assert set(words.relations) == {"wrote", "cites", "published_in"}
    assert not set(words.entities) & set(COUNTRIES)
    assert read.groups.names == COUNTRIES[:5]  # those with the most papers, the most first
    assert set(read.dataset.test.relations.tolist()) == {words.relation_id("wrote")}
    for author, country in zip(words.entities.names_of(read.dataset.test.heads), read.groups, strict=True):
        assert author.startswith(country)


def test_another_graph_is_refused() -> None:
    towns = Dataset.from_names("towns", train=[("Bonn", "in", "Germany")], test=[("Kiel", "in", "Germany")])
    with pytest.raises(InputError, match="'towns' has no relation 'wrote'"):
        read_bibliography(towns)
    nobody = Dataset.from_names(
        "nobody", train=[("a", "wrote", "p"), ("c", "author_country", "AT")], test=[("b", "wrote", "p")]
    )
    with pytest.raises(InputError, match="has an author with a country"):
        read_bibliography(nobody)


def test_a_cell_has_figures_by_country_and_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(natural, "load", lambda _: WORLD)
    cells: list[Cell] = [{"graph": "acl-biblio", "method": method, "seed": 0} for method in ("tabular", "popularity")]
    results: list[dict[str, Any]] = [{"cell": cell, "result": natural.evaluate_cell(cell, tmp_path)} for cell in cells]
    by_method = {str(cell["method"]): one["result"] for cell, one in zip(cells, results, strict=True)}
    assert by_method["tabular"]["whole"]["realistic"]["mrr"] > by_method["popularity"]["whole"]["realistic"]["mrr"]
    for found in by_method.values():
        groups = found["groups"].values()
        n = sum(group["n"] for group in groups)
        assert n == len(read_bibliography(WORLD).dataset.test)  # one question a fact: who wrote it
        mrr = sum(group["n"] * group["realistic"]["mrr"] for group in groups) / n
        assert mrr == pytest.approx(found["whole"]["realistic"]["mrr"])
    assert by_method["popularity"]["coverage_of_bodies"] == []
    made = tables(summarise(results, {}), {})
    assert [table.title.partition(": ")[2] for table in made] == [
        "MRR of the author",
        "authors that a body of tabular links to the paper",
    ]
    assert made[0].rows[0][0] == "tabular"
    assert set(made[0].headings) >= {country_name(name) for name in COUNTRIES[:5]}
    assert set(made[1].headings) >= {country_name(name) for name in COUNTRIES[:5]}
    assert all(line[0].startswith("`wrote(Y, X) <- ") for line in made[1].rows)
    other = [one | {"cell": one["cell"] | {"graph": "aminer"}} for one in results]
    names = [drawing.name for drawing in figures(summarise([*results, *other], {}), {})]
    assert names == [f"{kind}-{graph}" for graph in ("acl-biblio", "aminer") for kind in ("coverage", "countries")]


def test_several_seeds_are_averaged_and_their_spread_is_told() -> None:
    def ran(seed: int, first: float, second: float) -> dict[str, Any]:
        groups = {
            name: {"n": 1, "realistic": {"mrr": mrr}} for name, mrr in (("country/at", first), ("country/be", second))
        }
        result = {"groups": groups, "whole": {"optimistic": {"mrr": 1.0}}, "seconds": {"learn": 1.0, "rank": 1.0}}
        cell = {"graph": "acl-biblio", "method": "tabular", "seed": seed}
        return {"cell": cell, "result": result | {"ended_by": "itself", "coverage_of_bodies": []}}

    (row,) = summarise([ran(0, 0.2, 0.4), ran(1, 0.6, 0.4)], {})
    assert row["countries"] == pytest.approx({"At": 0.4, "Be": 0.4})
    assert row["deviation"] == pytest.approx(0.1)  # of each seed, though the means are equal
    assert row["over_seeds"] == pytest.approx(0.2 / 2**0.5)  # of .3 and .5
    (table,) = tables([row], {})
    assert dict(zip(table.headings, table.rows[0], strict=True))["± over seeds"] == "0.1414"
    (alone,) = tables(summarise([ran(0, 0.2, 0.4)], {}), {})
    assert "± over seeds" not in alone.headings


def test_a_dump_of_ones_own_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(natural.FOLDER_OF_OWN, raising=False)
    with pytest.raises(InputError, match="Set STABLERULE_AMINER to the folder of your bibliography"):
        natural.everything_of("aminer")
    write_dataset(WORLD, tmp_path / "mine")
    monkeypatch.setenv(natural.FOLDER_OF_OWN, str(tmp_path / "mine"))
    found = natural.everything_of("aminer")
    assert found.name == "aminer"
    assert read_bibliography(found).groups.names == COUNTRIES[:5]


def test_a_dump_of_the_user_is_not_given_to_methods_that_do_not_scale() -> None:
    asked = {cell["method"] for cell in NATURAL_SHIFT.asked_cells((natural.OWN,), (), (), {})}
    assert "stablerule" in asked
    assert not asked & {"nbfnet", "astarnet", "neural-lp", "drum", "compgcn"}
