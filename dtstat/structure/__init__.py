"""From a dependence matrix to every factor structure that thresholding can produce."""

from dtstat.structure.barcode import Bar, Barcode
from dtstat.structure.cliques import independent_maximal_cliques
from dtstat.structure.compare import Comparison, compare
from dtstat.structure.path import Candidate
from dtstat.structure.support import Structure

__all__ = [
    "Bar",
    "Barcode",
    "Candidate",
    "Comparison",
    "Structure",
    "compare",
    "independent_maximal_cliques",
]
