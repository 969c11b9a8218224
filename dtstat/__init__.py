"""dtstat: the latent structure behind survey items, by dependence thresholding.

    items → dependence matrix → solution path → candidate structures → fitted model

Start with :func:`fit`; see all structures with :func:`solution_path`. Every function takes a
DataFrame, an array, the path of a file, or a :class:`DependenceMatrix`.
"""

from dtstat.api import (
    bartlett_test,
    cfa,
    compare,
    dependence,
    diagnose,
    efa,
    fit,
    items,
    kmo,
    margin,
    parallel_analysis,
    plan,
    sem,
    solution_path,
    stability,
)
from dtstat.data import ItemData, datasets, load_dataset, read_survey
from dtstat.dependence import DependenceMatrix, SparseDependence, measures
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
from dtstat.results import (
    CFAFit,
    Diagnosis,
    DTFit,
    EFAFit,
    ParallelAnalysis,
    SolutionPath,
    Stability,
    SurveyPlan,
    load,
)
from dtstat.simulation import Simulation, simulate
from dtstat.structure import (
    Barcode,
    Candidate,
    Comparison,
    Structure,
    independent_maximal_cliques,
)
from dtstat.theory.bounds import Bound, bounds
from dtstat.theory.margin import Margin
from dtstat.theory.planning import (
    error_bound,
    max_items,
    min_margin,
    sample_size,
    sample_size_table,
)
from dtstat.theory.survey import SurveyDesign, survey_design
from dtstat.theory.unique_child import ucc_probability
from dtstat.version import __version__ as __version__

__all__ = [
    "Barcode",
    "Bound",
    "CFAFit",
    "Candidate",
    "Comparison",
    "DTError",
    "DTFit",
    "DTWarning",
    "DataWarning",
    "DependenceMatrix",
    "Diagnosis",
    "EFAFit",
    "EstimationError",
    "EstimationWarning",
    "InputError",
    "ItemData",
    "Margin",
    "MissingExtraError",
    "ModelSyntaxError",
    "ParallelAnalysis",
    "Simulation",
    "SolutionComparison",
    "SolutionPath",
    "SparseDependence",
    "Stability",
    "Structure",
    "SurveyDesign",
    "SurveyPlan",
    "bartlett_test",
    "bounds",
    "cfa",
    "compare",
    "compare_solutions",
    "datasets",
    "dependence",
    "diagnose",
    "efa",
    "error_bound",
    "fit",
    "independent_maximal_cliques",
    "items",
    "kmo",
    "load",
    "load_dataset",
    "margin",
    "max_items",
    "measures",
    "min_margin",
    "parallel_analysis",
    "plan",
    "read_survey",
    "sample_size",
    "sample_size_table",
    "sem",
    "simulate",
    "solution_path",
    "stability",
    "survey_design",
    "ucc_probability",
]
