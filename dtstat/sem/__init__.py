"""Structural equation models in lavaan's sense: model, statistics, estimate, result, tables."""
