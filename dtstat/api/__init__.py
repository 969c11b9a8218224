"""The functions users call: check the arguments, run, return a result."""

from dtstat.api.fit import fit
from dtstat.api.given import compare
from dtstat.api.models import bartlett_test, cfa, efa, kmo, parallel_analysis, sem
from dtstat.api.path import dependence, items, solution_path
from dtstat.api.plan import margin, plan
from dtstat.api.trust import diagnose, stability

__all__ = [
    "bartlett_test",
    "cfa",
    "compare",
    "dependence",
    "diagnose",
    "efa",
    "fit",
    "items",
    "kmo",
    "margin",
    "parallel_analysis",
    "plan",
    "sem",
    "solution_path",
    "stability",
]
