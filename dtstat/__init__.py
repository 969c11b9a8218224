"""dtstat: the latent structure behind survey items, by dependence thresholding.

    items → dependence matrix → solution path → candidate structures → fitted model

Start with :func:`fit`; see all structures with :func:`solution_path`. Every function takes a
DataFrame, an array, the path of a file, or a :class:`DependenceMatrix`.
"""

from dtstat.core.about import __version__ as __version__
from dtstat.core.errors import (
    DataWarning,
    DTError,
    DTWarning,
    EstimationError,
    EstimationWarning,
    InputError,
    MissingExtraError,
)
from dtstat.core.saved import load
from dtstat.data.datasets import datasets, load_dataset
from dtstat.data.items import ItemData, items
from dtstat.data.readers import read_survey
from dtstat.dependence.api import dependence
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import measures
from dtstat.dependence.sparse import SparseDependence
from dtstat.efa.api import bartlett_test, efa, kmo, parallel_analysis
from dtstat.efa.congruence import SolutionComparison, compare_solutions
from dtstat.efa.parallel_analysis import ParallelAnalysis
from dtstat.efa.result import EFAFit
from dtstat.fit.api import fit
from dtstat.fit.result import DTFit
from dtstat.path.solution_path import SolutionPath, solution_path
from dtstat.sem.api import cfa, sem
from dtstat.sem.result import CFAFit
from dtstat.simulation.generate import Simulation, simulate
from dtstat.structure.barcode import Barcode
from dtstat.structure.cliques import independent_maximal_cliques
from dtstat.structure.compare import Comparison, compare
from dtstat.structure.margin import Margin
from dtstat.structure.path import Candidate
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import ModelSyntaxError
from dtstat.trust.bounds import Bound, bounds
from dtstat.trust.diagnose import diagnose, margin
from dtstat.trust.diagnosis import Diagnosis
from dtstat.trust.plan import SurveyPlan, plan
from dtstat.trust.sample_size import (
    error_bound,
    max_items,
    min_margin,
    sample_size,
    sample_size_table,
)
from dtstat.trust.stability import stability
from dtstat.trust.stability_result import Stability
from dtstat.trust.survey import SurveyDesign, survey_design
from dtstat.trust.unique_child import ucc_probability

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
