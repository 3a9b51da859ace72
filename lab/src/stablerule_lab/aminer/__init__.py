"""Read AMiner's dumps of DBLP: papers with authors, venues and citations, and each author's country."""

from stablerule_lab.aminer.affiliations import country_of
from stablerule_lab.aminer.citations import CitationGraph
from stablerule_lab.aminer.reader import read_aminer

__all__ = ["CitationGraph", "country_of", "read_aminer"]
