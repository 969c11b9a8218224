"""The functions users call: check the arguments, run, return a result."""

from dtstat.api.models import cfa, efa, parallel_analysis, sem
from dtstat.api.path import dependence, items, solution_path

__all__ = ["cfa", "dependence", "efa", "items", "parallel_analysis", "sem", "solution_path"]
