"""dtstat: the latent structure behind survey items, by dependence thresholding.

    items → dependence matrix → solution path → candidate structures → fitted model

Start with :func:`fit`; see all structures with :func:`solution_path`. Every function takes a
DataFrame, an array, the path of a file, or a :class:`DependenceMatrix`.
"""

from dtstat.api import (
    bartlett_test,
    cfa,
    dependence,
    efa,
    fit,
    items,
    kmo,
    parallel_analysis,
    sem,
    solution_path,
)
from dtstat.data import ItemData, datasets, load_dataset, read_survey
from dtstat.dependence import DependenceMatrix, measures
from dtstat.errors import (
    DataWarning,
    DTError,
    DTWarning,
    EstimationError,
    EstimationWarning,
    InputError,
    MissingExtraError,
)
from dtstat.estimation.efa.congruence import SolutionComparison, compare_solutions
from dtstat.estimation.sem.syntax import ModelSyntaxError
from dtstat.results import CFAFit, DTFit, EFAFit, ParallelAnalysis, SolutionPath, load
from dtstat.simulation import Simulation, simulate
from dtstat.structure import (
    Barcode,
    Candidate,
    Comparison,
    Structure,
    compare,
    independent_maximal_cliques,
)
from dtstat.version import __version__ as __version__

__all__ = [
    "Barcode",
    "CFAFit",
    "Candidate",
    "Comparison",
    "DTError",
    "DTFit",
    "DTWarning",
    "DataWarning",
    "DependenceMatrix",
    "EFAFit",
    "EstimationError",
    "EstimationWarning",
    "InputError",
    "ItemData",
    "MissingExtraError",
    "ModelSyntaxError",
    "ParallelAnalysis",
    "Simulation",
    "SolutionComparison",
    "SolutionPath",
    "Structure",
    "bartlett_test",
    "cfa",
    "compare",
    "compare_solutions",
    "datasets",
    "dependence",
    "efa",
    "fit",
    "independent_maximal_cliques",
    "items",
    "kmo",
    "load",
    "load_dataset",
    "measures",
    "parallel_analysis",
    "read_survey",
    "sem",
    "simulate",
    "solution_path",
]
