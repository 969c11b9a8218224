"""Fitting a given structure: linear, ordinal and nonlinear."""
