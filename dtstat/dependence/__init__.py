"""Measures of dependence between items, and the matrix of them."""
