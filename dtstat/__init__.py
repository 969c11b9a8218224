"""dtstat: the latent structure behind survey items, by dependence thresholding.

    items → dependence matrix → solution path → tree of factors → levels → fitted model

Start with :func:`fit`, which has a structure for every number of factors and says which levels
stand out; see the structure at every threshold with :func:`solution_path`. Data are a DataFrame, an
array, the path of a file, or a :class:`DependenceMatrix`.
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
from dtstat.data.datasets import datasets, example_file, load_dataset
from dtstat.data.description import Description, describe
from dtstat.data.items import ItemData, items
from dtstat.data.readers import read_survey
from dtstat.dependence.api import dependence
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import measures
from dtstat.dependence.sparse import SparseDependence
from dtstat.efa.adequacy import bartlett_test, kmo
from dtstat.efa.congruence import SolutionComparison, compare_solutions
from dtstat.efa.parallel_analysis import ParallelAnalysis, parallel_analysis
from dtstat.efa.result import EFAFit, efa
from dtstat.factors.reliability import Reliability, reliability
from dtstat.fit.api import fit
from dtstat.fit.result import DTFit
from dtstat.path.solution_path import SolutionPath, solution_path
from dtstat.regression.api import regress
from dtstat.sem.api import cfa, growth, sem
from dtstat.sem.bootstrap import Bootstrap, bootstrap
from dtstat.sem.comparison import ModelComparison, compare_models
from dtstat.sem.hypotheses import ScoreTest, WaldTest, score_test, wald_test
from dtstat.sem.invariance import Invariance, invariance
from dtstat.sem.power import ModelPower, model_power
from dtstat.sem.result import CFAFit
from dtstat.sem.vuong import VuongTest, vuong
from dtstat.simulation.generate import Simulation, simulate
from dtstat.structure.barcode import Barcode
from dtstat.structure.cliques import independent_maximal_cliques
from dtstat.structure.compare import Comparison, compare
from dtstat.structure.margin import Margin
from dtstat.structure.path import Candidate
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import ModelSyntaxError
from dtstat.trust.bounds import Bound, bounds
from dtstat.trust.certificate import Certificate
from dtstat.trust.certify import certify
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
    "Bootstrap",
    "Bound",
    "CFAFit",
    "Candidate",
    "Certificate",
    "Comparison",
    "DTError",
    "DTFit",
    "DTWarning",
    "DataWarning",
    "DependenceMatrix",
    "Description",
    "Diagnosis",
    "EFAFit",
    "EstimationError",
    "EstimationWarning",
    "InputError",
    "Invariance",
    "ItemData",
    "Margin",
    "MissingExtraError",
    "ModelComparison",
    "ModelPower",
    "ModelSyntaxError",
    "ParallelAnalysis",
    "Reliability",
    "ScoreTest",
    "Simulation",
    "SolutionComparison",
    "SolutionPath",
    "SparseDependence",
    "Stability",
    "Structure",
    "SurveyDesign",
    "SurveyPlan",
    "VuongTest",
    "WaldTest",
    "bartlett_test",
    "bootstrap",
    "bounds",
    "certify",
    "cfa",
    "compare",
    "compare_models",
    "compare_solutions",
    "datasets",
    "dependence",
    "describe",
    "diagnose",
    "efa",
    "error_bound",
    "example_file",
    "fit",
    "growth",
    "independent_maximal_cliques",
    "invariance",
    "items",
    "kmo",
    "load",
    "load_dataset",
    "margin",
    "max_items",
    "measures",
    "min_margin",
    "model_power",
    "parallel_analysis",
    "plan",
    "read_survey",
    "regress",
    "reliability",
    "sample_size",
    "sample_size_table",
    "score_test",
    "sem",
    "simulate",
    "solution_path",
    "stability",
    "survey_design",
    "ucc_probability",
    "vuong",
    "wald_test",
]
