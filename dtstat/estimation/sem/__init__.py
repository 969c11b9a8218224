"""Structural equation models in lavaan's sense."""
