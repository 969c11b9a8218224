"""dtstat: the latent structure behind survey items, by dependence thresholding.

    items → dependence matrix → solution path → candidate structures

Start with :func:`solution_path`. Every function takes a DataFrame, an array, the path of a file,
or a :class:`DependenceMatrix`.
"""

from dtstat.api import dependence, items, solution_path
from dtstat.data import ItemData, datasets, load_dataset, read_survey
from dtstat.dependence import DependenceMatrix, measures
from dtstat.errors import DataWarning, DTError, DTWarning, InputError, MissingExtraError
from dtstat.results import SolutionPath
from dtstat.simulation import Simulation, simulate
from dtstat.structure import (
    Barcode,
    Candidate,
    Comparison,
    Structure,
    compare,
    independent_maximal_cliques,
)

__version__ = "0.1.0"

__all__ = [
    "Barcode",
    "Candidate",
    "Comparison",
    "DTError",
    "DTWarning",
    "DataWarning",
    "DependenceMatrix",
    "InputError",
    "ItemData",
    "MissingExtraError",
    "Simulation",
    "SolutionPath",
    "Structure",
    "compare",
    "datasets",
    "dependence",
    "independent_maximal_cliques",
    "items",
    "load_dataset",
    "measures",
    "read_survey",
    "simulate",
    "solution_path",
]
