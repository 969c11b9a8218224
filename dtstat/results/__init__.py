"""What functions return: frozen results that print, tabulate and explain themselves."""

from dtstat.results.cfa import CFAFit, SEMCall
from dtstat.results.efa import EFAFit
from dtstat.results.fit import DTFit
from dtstat.results.parallel import ParallelAnalysis
from dtstat.results.path import SolutionPath
from dtstat.results.serialize import load
from dtstat.results.trust.diagnosis import Diagnosis
from dtstat.results.trust.stability import Stability
from dtstat.results.trust.survey_plan import SurveyPlan

__all__ = [
    "CFAFit",
    "DTFit",
    "Diagnosis",
    "EFAFit",
    "ParallelAnalysis",
    "SEMCall",
    "SolutionPath",
    "Stability",
    "SurveyPlan",
    "load",
]
