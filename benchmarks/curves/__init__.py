"""Nonlinear item responses: speed and likelihood of the estimators, recovery, choice."""
