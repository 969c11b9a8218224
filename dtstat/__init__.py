"""dtstat: the latent structure behind survey items, by dependence thresholding.

    items → dependence matrix → solution path → tree of factors → levels → fitted model

Start with :func:`fit`, which has a structure for every number of factors and says which levels
stand out; see the structure at every threshold with :func:`solution_path`. Data are a DataFrame, an
array, the path of a file, or a :class:`DependenceMatrix`.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING

from dtstat.core.about import __version__ as __version__

if TYPE_CHECKING:
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


# Where each public name lives. Its module is imported when the name is first used, so that
# `import dtstat` costs nothing and a call no more than what it needs.
_HOMES = {
    "core.errors": "DataWarning DTError DTWarning EstimationError EstimationWarning InputError "
    "MissingExtraError",
    "core.saved": "load",
    "data.datasets": "datasets example_file load_dataset",
    "data.description": "Description describe",
    "data.items": "ItemData items",
    "data.readers": "read_survey",
    "dependence.api": "dependence",
    "dependence.matrix": "DependenceMatrix",
    "dependence.measures": "measures",
    "dependence.sparse": "SparseDependence",
    "efa.adequacy": "bartlett_test kmo",
    "efa.congruence": "SolutionComparison compare_solutions",
    "efa.parallel_analysis": "ParallelAnalysis parallel_analysis",
    "efa.result": "EFAFit efa",
    "factors.reliability": "Reliability reliability",
    "fit.api": "fit",
    "fit.result": "DTFit",
    "path.solution_path": "SolutionPath solution_path",
    "regression.api": "regress",
    "sem.api": "cfa growth sem",
    "sem.bootstrap": "Bootstrap bootstrap",
    "sem.comparison": "ModelComparison compare_models",
    "sem.hypotheses": "ScoreTest WaldTest score_test wald_test",
    "sem.invariance": "Invariance invariance",
    "sem.power": "ModelPower model_power",
    "sem.result": "CFAFit",
    "sem.vuong": "VuongTest vuong",
    "simulation.generate": "Simulation simulate",
    "structure.barcode": "Barcode",
    "structure.cliques": "independent_maximal_cliques",
    "structure.compare": "Comparison compare",
    "structure.margin": "Margin",
    "structure.path": "Candidate",
    "structure.structure": "Structure",
    "structure.syntax": "ModelSyntaxError",
    "trust.bounds": "Bound bounds",
    "trust.certificate": "Certificate",
    "trust.certify": "certify",
    "trust.diagnose": "diagnose margin",
    "trust.diagnosis": "Diagnosis",
    "trust.plan": "SurveyPlan plan",
    "trust.sample_size": "error_bound max_items min_margin sample_size sample_size_table",
    "trust.stability": "stability",
    "trust.stability_result": "Stability",
    "trust.survey": "SurveyDesign survey_design",
    "trust.unique_child": "ucc_probability",
}
_HOME = {name: f"dtstat.{home}" for home, names in _HOMES.items() for name in names.split()}


class _Package(types.ModuleType):
    """The package, whose public names some of its rooms share: `dtstat.fit` is the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (
            name in _HOME and isinstance(value, types.ModuleType)
        ):  # as importing a room would do
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'dtstat' has no attribute '{name}'", name=name, obj=self)
        if name == "load":  # a file may hold a result of any room
            for home in dict.fromkeys(_HOME.values()):
                importlib.import_module(home)
        value: object = getattr(importlib.import_module(_HOME[name]), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
del TYPE_CHECKING  # all that is left in the package is public
