"""Measures of dependence between items, and the matrix of them."""

from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.registry import REGISTRY, Measure, measures
from dtstat.dependence.sparse import SparseDependence

__all__ = [
    "REGISTRY",
    "DependenceMatrix",
    "Measure",
    "SparseDependence",
    "dependence_matrix",
    "measures",
]
