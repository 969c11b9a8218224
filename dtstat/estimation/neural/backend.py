"""The one place where torch is imported, and what is said if it cannot be."""

from __future__ import annotations

from dtstat.errors import MissingExtraError

try:
    import torch
except ImportError as error:
    raise MissingExtraError(
        "The estimator 'neural'",
        "torch",
        "neural",
        "Or use the estimator 'spline', which needs nothing more.",
    ) from error

__all__ = ["torch"]
