"""Checks on a solution: convergence, identification, and what is improper about it."""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.errors import EstimationError, EstimationWarning, warn
from dtstat.estimation.sem.matrices import Layout
from dtstat.estimation.sem.model import Model
from dtstat.estimation.sem.scoring import Minimum

_UNKNOWN = 1e-9  # eigenvalue of the scaled information below which a direction is not identified
_ROUNDING = 1e-6  # share of an item's variance, or of a correlation, that the search leaves open


def require_converged(found: Minimum) -> None:
    """Refuse a search that did not end at a minimum, and say what was tried."""
    if not found.converged:
        raise EstimationError(
            f"The model did not converge. Tried: {'; '.join(found.tried)}. Check that each factor "
            "has items that correlate, give starting values with start(), or simplify the model."
        )


def check_identified(information: FloatArray, model: Model) -> None:
    """Refuse a model some direction of whose parameters the information knows nothing of."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if values.size == 0 or values[0] > _UNKNOWN:
        return
    weight = np.abs(vectors[:, 0])
    names = {row.free - 1: row.name for row in reversed(model.parameters) if row.free}
    involved = ", ".join(f"'{names[k]}'" for k in np.argsort(-weight)[:4] if weight[k] > 0.1)
    raise EstimationError(
        "The model is not identified: the data say nothing about a combination of "
        f"{involved}. Fix or equate one of them."
    )


def review_solution(layout: Layout, theta: FloatArray) -> tuple[str, ...]:
    """Name what is improper about a solution, and warn of it."""
    M, total = layout.matrices(theta), layout.implied(theta).Sigma
    notes = []
    for row, (matrix, i, j) in zip(layout.model.parameters, layout.model.places, strict=True):
        if row.op != "~~":
            continue
        C = M.Theta if matrix == "theta" else M.Psi
        what = "residual " if matrix == "theta" else ""
        nothing = _ROUNDING * total[i, i] if matrix == "theta" else 0.0
        if row.lhs == row.rhs and C[i, i] < -nothing:
            notes.append(
                f"Heywood case: the {what}variance of '{row.lhs}' is negative "
                f"({C[i, i]:#.3g}). The item may be redundant, the factor too weak or "
                "the sample too small."
            )
        if row.lhs != row.rhs and row.free and min(C[i, i], C[j, j]) > 0:
            r = C[i, j] / np.sqrt(C[i, i] * C[j, j])
            if abs(r) > 1 + _ROUNDING:
                notes.append(
                    f"The {what}correlation of '{row.lhs}' and '{row.rhs}' is outside [-1, 1] "
                    f"({r:.3f}). They may be one {'item' if what else 'factor'}."
                )
    for note in notes:
        warn(note, EstimationWarning, stacklevel=2)
    return tuple(notes)
