"""The functions users call: check the arguments, run, return a result."""

from dtstat.api.fit import fit
from dtstat.api.models import bartlett_test, cfa, efa, kmo, parallel_analysis, sem
from dtstat.api.path import dependence, items, solution_path

__all__ = [
    "bartlett_test",
    "cfa",
    "dependence",
    "efa",
    "fit",
    "items",
    "kmo",
    "parallel_analysis",
    "sem",
    "solution_path",
]
