"""Regressions in which outcomes or predictors are factors."""
