"""`read_aminer`: read a dump as a graph, with notes about what was skipped."""

from __future__ import annotations

import logging
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from stablerule.errors import InputError, OptionError, ReadError, spell_closest
from stablerule.extending import check_count, split_suffixes
from stablerule.graph import Triples, split_triples
from stablerule.io import ReadOptions
from stablerule_lab.aminer.affiliations import country_of
from stablerule_lab.aminer.assembly import assemble
from stablerule_lab.aminer.dump import read_dump
from stablerule_lab.aminer.notes import tell
from stablerule_lab.aminer.pairs import Gathering, Wanted, folded, spellings
from stablerule_lab.aminer.record import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from stablerule_lab.aminer.citations import CitationGraph

log = logging.getLogger("stablerule")

SPLIT = (0.8, 0.1, 0.1)


def read_aminer(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    from_year: int | None = None,
    to_year: int | None = None,
    venues: Iterable[str] | None = None,
    max_papers: int | None = None,
    min_papers: int = 1,
    countries: bool = True,
    top_countries: int | None = None,
    skip_damaged: bool = False,
    split: tuple[float, float, float] = SPLIT,
    seed: int | np.random.Generator = 0,
    name: str | None = None,
    encoding: str = "utf-8",
) -> CitationGraph:
    """Read a dump of AMiner's DBLP citation network as a graph; any version, text or JSON.

    The relations are wrote(author, paper), published_in(paper, venue) and cites(paper, paper). Validation and test
    facts are shares of `wrote` by `split`, chosen so that every entity is in the training facts. All other facts are
    training facts.

    source: a file, or several that make up one dump; also .gz, .xz, .zst, .bz2 and .zip.
    from_year, to_year: inclusive. venues: names, in any case. max_papers: stop after this many papers that remain.
        min_papers: skip authors with fewer papers, but not their papers.
    countries: infer each author's country from their affiliations, the most frequent one; needs the extra `countries`
        if the dump has affiliations. top_countries: keep papers with an author from the k countries with the most
        papers, and labels of these countries (the paper: 5).
    skip_damaged: skip and count unreadable records instead of raising an error.

    >>> import tempfile
    >>> dump = "#*On Rules\\n#@Ann Lee;Bo Chen\\n#oKyoto, Japan;-\\n#t2001\\n#cKDD\\n#index7\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dblp.txt"
    ...     _ = path.write_text(dump)
    ...     graph = read_aminer(path, split=(1, 0, 0))
    >>> for fact in graph.dataset.frame("train").rows():
    ...     print(*fact)
    author/Ann_Lee wrote paper/7
    author/Bo_Chen wrote paper/7
    paper/7 published_in venue/KDD
    >>> graph.countries
    {'author/Ann_Lee': 'country/japan'}
    """
    # A dump takes long to read: check the arguments of later steps before.
    ReadOptions(encoding=encoding)
    split_triples(Triples.empty(), split, seed)
    paths = _paths(source)
    wanted = _wanted(from_year, to_year, venues)
    check_count("min_papers", min_papers, least=1)
    for argument, value in (("max_papers", max_papers), ("top_countries", top_countries)):
        if value is not None:
            check_count(argument, value, least=1)
    if top_countries is not None and not countries:
        raise OptionError("Argument 'top_countries' needs countries. Remove countries=False (--no-countries).")
    gathered = Gathering(country_of if countries else None)
    _gather(gathered, paths, wanted, max_papers, skip_damaged=skip_damaged, encoding=encoding)
    made = assemble(
        gathered,
        name or split_suffixes(paths[0])[0],
        min_papers=min_papers,
        top_countries=top_countries,
        split=split,
        seed=seed,
    )
    notes = tell(gathered.counts, gathered.first_damage, countries=countries)
    for note in notes:
        log.warning(note)
    return replace(made, dataset=replace(made.dataset, notes=tuple(notes)))


def _paths(source: object) -> list[Path]:
    several = [source] if isinstance(source, str | PathLike) else source
    if isinstance(several, list | tuple) and several and all(isinstance(one, str | PathLike) for one in several):
        return [Path(one) for one in several]
    raise OptionError(f"Argument 'source' must be a path, or a list of paths, got {source!r}.")


def _wanted(from_year: int | None, to_year: int | None, venues: Iterable[str] | None) -> Wanted:
    for argument, year in (("from_year", from_year), ("to_year", to_year)):
        if year is not None:
            check_count(argument, year, least=1000)
    if from_year is not None and to_year is not None and from_year > to_year:
        raise OptionError(f"Argument 'to_year' must be at least from_year ({from_year}), got {to_year}.")
    if venues is None:
        return Wanted(from_year, to_year)
    if isinstance(venues, str):
        raise OptionError(f"Argument 'venues' must be a list of names, got {venues!r}.")
    return Wanted(from_year, to_year, folded(venues))


def _gather(
    gathered: Gathering,
    paths: list[Path],
    wanted: Wanted,
    max_papers: int | None,
    *,
    skip_damaged: bool,
    encoding: str,
) -> None:
    """Add all wanted records."""
    other_venues: set[str] = set()
    for path in paths:
        for where, found in read_dump(path, encoding=encoding):
            if isinstance(found, Damage):
                _damaged(gathered, found, where, skip=skip_damaged)
                continue
            gathered.counts["records"] += 1
            if reason := wanted.refuses(found):
                gathered.counts[reason] += 1
                if reason == "of other venues":
                    other_venues |= spellings(found.venue)
                continue
            if gathered.knows(found):
                twice = Damage(found.line, f"a second paper with the id {found.id!r}")
                _damaged(gathered, twice, where, skip=skip_damaged)
                continue
            gathered.add(found)
            if gathered.counts["papers"] == max_papers:
                return
    if not gathered.counts["papers"]:
        raise InputError(_nothing_left(gathered, wanted, other_venues, paths))


def _damaged(gathered: Gathering, damage: Damage, where: str, *, skip: bool) -> None:
    if not skip:
        cure = "To skip damaged records, pass skip_damaged=True (--skip-damaged)"
        raise ReadError(f"{damage.problem}. {cure}.", path=where, line=damage.line)
    gathered.counts["damaged"] += 1
    gathered.first_damage = gathered.first_damage or f"{where}, line {damage.line:,}: {damage.problem}."


def _nothing_left(gathered: Gathering, wanted: Wanted, other_venues: set[str], paths: list[Path]) -> str:
    reasons = ("of no known year", "of other years", "of other venues")
    told = ", ".join(f"{gathered.counts[reason]:,} are {reason}" for reason in reasons if gathered.counts[reason])
    near = "".join(spell_closest(venue, other_venues) for venue in sorted(wanted.venues or ()))
    records = gathered.counts["records"]
    return f"{paths[0]}: none of {records:,} papers is left{': ' * bool(told)}{told}.{near}"
