"""What functions return: frozen results that print, tabulate and explain themselves."""

from dtstat.results.path import SolutionPath

__all__ = ["SolutionPath"]
