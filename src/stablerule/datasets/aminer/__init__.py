"""AMiner's dumps of DBLP: papers, their authors, venues and citations, and the country of each author."""

from stablerule.datasets.aminer.affiliations import country_of
from stablerule.datasets.aminer.citations import CitationGraph
from stablerule.datasets.aminer.reading import read_aminer

__all__ = ["CitationGraph", "country_of", "read_aminer"]
