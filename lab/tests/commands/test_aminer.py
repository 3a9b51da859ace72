"""`stablerule data aminer` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.tests.aminer.dumps import PAPERS, full_lines, leading_commas
from stablerule import read_dataset
from tests.terminal import fails, run


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dblp.v12.json"
    path.write_text(leading_commas(PAPERS))
    return path


def test_a_dump_becomes_a_data_folder(dump: Path, tmp_path: Path) -> None:
    result = run("data", "aminer", dump, "-o", tmp_path / "dblp", "--from-year", "2002", "--split", "1,0,0")
    assert result.exit_code == 0
    assert "wrote" in result.stdout
    assert "Authors: country/" in result.stdout
    assert f"wrote {tmp_path / 'dblp'}" in result.stderr
    read = read_dataset(tmp_path / "dblp")
    assert set(read.vocabulary.relations) == {"wrote", "published_in", "cites"}
    assert "paper/1" not in read.vocabulary.entities
    assert (tmp_path / "dblp" / "author_country.tsv").read_text().startswith("author/Ann_Lee\tcountry/japan\n")


def test_options_reach_the_reader(dump: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.json"
    more.write_text(full_lines((PAPERS[0]._replace(id="7", venue="ICML"),)) + "nonsense\n")
    words: list[str | Path] = ["data", "aminer", dump, more, "--venue", "KDD", "--venue", "icml", "-o"]
    words.append(tmp_path / "out")
    message = fails(*words)
    assert message.startswith(f"{more}, line 2: ")
    assert "--skip-damaged" in message
    assert not (tmp_path / "out").exists()
    options = ["--skip-damaged", "--country-facts", "--min-papers", "2", "--top-countries", "5", "--to", "parquet"]
    assert run(*words, *options).exit_code == 0
    read = read_dataset(tmp_path / "out")
    assert set(read.vocabulary.relations) == {"wrote", "published_in", "cites", "author_country"}
    assert "author/Cy_Poe" not in read.vocabulary.entities
    assert "venue/VLDB" not in read.vocabulary.entities


def test_what_is_wrong_is_told_before_reading(dump: Path, tmp_path: Path) -> None:
    assert "already exists" in fails("data", "aminer", "nowhere.json", "-o", tmp_path)
    assert "formats are .tsv" in fails("data", "aminer", "nowhere.json", "-o", tmp_path / "out", "--to", "nt")
    assert fails("data", "aminer", dump, "-o", tmp_path / "out", "--max-papers", "0").startswith("--max-papers must be")
    assert "--top-countries needs countries" in fails(
        "data", "aminer", dump, "-o", tmp_path / "out", "--top-countries", "5", "--no-countries"
    )
    assert run("data", "aminer", dump, "-o", tmp_path / "out", "--split", "1,0").exit_code == 2
    assert not (tmp_path / "out").exists()
