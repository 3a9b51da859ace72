"""The result of reading a dump: a dataset, and the countries of its authors as groups, not as edges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from stablerule.errors import OptionError, WriteError
from stablerule.extending import OwnFolder, find_split_of_file, split_suffixes
from stablerule.io import check_output_folder, read_dataset, write_dataset, write_folder_beside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from stablerule.graph import Dataset

WROTE, PUBLISHED_IN, CITES, COUNTRY = "wrote", "published_in", "cites", "author_country"
LABELS = f"{COUNTRY}.tsv"
TABLES = (".tsv", ".txt", ".csv", ".parquet")
OURS = OwnFolder(ours=lambda name: name == LABELS or find_split_of_file(name) is not None)


@dataclass(frozen=True, eq=False, repr=False)
class CitationGraph:
    """A graph of papers, authors and venues, and the country of each author.

    Validation and test facts are of `wrote` alone.

    >>> from stablerule.graph import Dataset
    >>> dataset = Dataset.from_names("tiny", train=[("author/Ann_Lee", "wrote", "paper/7")])
    >>> graph = CitationGraph(dataset, {"author/Ann_Lee": "country/japan"})
    >>> graph
    CitationGraph('tiny', 2 entities, train 1, valid 0, test 0; 1 authors of 1 countries)
    >>> graph.with_countries().frame("train").rows()[1]
    ('author/Ann_Lee', 'author_country', 'country/japan')
    """

    dataset: Dataset
    countries: Mapping[str, str] = field(default_factory=dict)

    def with_countries(self) -> Dataset:
        """Return the dataset with the countries as training facts, as in acl-biblio.

        They were inferred from affiliations. Remove them before training, as the experiment `natural` does.
        """
        frames = {split: self.dataset.frame(split) for split, facts in self.dataset.splits.items() if len(facts)}
        if self.countries:
            authors = {"head": list(self.countries), "tail": list(self.countries.values())}
            facts = pl.DataFrame(authors).select("head", pl.lit(COUNTRY).alias("relation"), "tail")
            frames["train"] = pl.concat([frames["train"], facts])
        return read_dataset(frames, name=self.dataset.name)

    def save(
        self,
        folder: str | PathLike[str],
        *,
        overwrite: bool = False,
        suffix: str = ".tsv",
        country_facts: bool = False,
    ) -> None:
        """Write a data folder with `author_country.tsv`, a file of labels; a failure leaves no folder.

        country_facts: also write the countries as training facts; suffix: see `write_dataset`.
        """
        folder = Path(folder)
        _check_format(suffix)
        with write_folder_beside(folder, overwrite=overwrite, replaces=OURS) as temporary:
            try:
                write_dataset(self.with_countries() if country_facts else self.dataset, temporary, suffix=suffix)
            except (OptionError, WriteError) as error:
                # Name the final folder: the temporary one is gone.
                raise type(error)(str(error).replace(str(temporary), str(folder))) from error
            if self.countries:
                lines = (f"{author}\t{country}\n" for author, country in self.countries.items())
                (temporary / LABELS).write_text("".join(lines), encoding="utf-8", newline="\n")

    def __repr__(self) -> str:
        words = self.dataset.vocabulary
        sizes = ", ".join(f"{name} {len(facts):,}" for name, facts in self.dataset.splits.items())
        of_authors = f"{len(self.countries):,} authors of {len(Counter(self.countries.values())):,} countries"
        return f"CitationGraph({self.dataset.name!r}, {len(words.entities):,} entities, {sizes}; {of_authors})"


def check_citations_place(folder: str | PathLike[str], suffix: str = ".tsv", *, overwrite: bool = False) -> None:
    """Check before starting that `CitationGraph.save` can write there."""
    _check_format(suffix)
    check_output_folder(Path(folder), overwrite=overwrite, replaces=OURS)


def _check_format(suffix: str) -> None:
    """Refuse RDF, which needs IRIs as names."""
    if split_suffixes(Path(f"train{suffix}"))[1] not in TABLES:
        raise OptionError(f"Can't write citations as {suffix!r}; formats are {', '.join(TABLES)}.")
