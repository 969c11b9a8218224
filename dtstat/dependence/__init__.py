"""Measures of dependence between items, and the matrix of them."""

from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.registry import REGISTRY, Measure, measures

__all__ = ["REGISTRY", "DependenceMatrix", "Measure", "dependence_matrix", "measures"]
