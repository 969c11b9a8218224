"""Exploratory factor analysis and what goes with it."""
