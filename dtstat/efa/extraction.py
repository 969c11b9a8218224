"""Extraction of factors from a correlation matrix, by minres and by ML, and how well they fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import InputError
from dtstat.core.fit_indices import p_value, rmsea_interval
from dtstat.core.saved import register
from dtstat.data.frame import Frame

METHODS = ("minres", "ml")

Objective = Callable[[FloatArray, FloatArray, int], tuple[float, FloatArray]]

LEAST_UNIQUENESS = 0.005  # keeps an item from being explained without error (Heywood case)
_SINGULAR = 1e-8  # smallest eigenvalue of a matrix that counts as positive definite
_MOST_STEPS = 1000
_FLAT = 1e-4  # derivative below which the solution counts as a minimum


@register(shapes={"loadings": "pd", "uniquenesses": "p", "heywood": "p"})
@dataclass(frozen=True, eq=False)
class Extraction:
    """Factors before rotation.

    Attributes
    ----------
    loadings
        (p, d) unrotated loadings Λ, columns by falling variance explained.
    uniquenesses
        (p,) error variances Ψ, at least 0.005.
    objective
        Minimum reached of the method's own discrepancy.
    converged
        Whether this is a minimum.
    n_steps
        Steps it took.
    heywood
        (p,) marks of the items whose uniqueness stopped at the lower bound.
    """

    loadings: FloatArray
    uniquenesses: FloatArray
    objective: float
    converged: bool
    n_steps: int
    heywood: BoolArray

    def __post_init__(self) -> None:
        for values in (self.loadings, self.uniquenesses, self.heywood):
            values.setflags(write=False)

    def as_given(self, frame: Frame) -> Extraction:
        """Bring factors of items in their frame back to the items as they are given."""
        return replace(
            self,
            loadings=frame.rows_as_given(self.loadings),
            uniquenesses=self.uniquenesses[frame.place],
            heywood=self.heywood[frame.place],
        )


def extract(R: FloatArray, n_factors: int, method: str = "minres") -> Extraction:
    """Extract factors by "minres" or "ml"."""
    name = checks.choice("method", method, METHODS)
    return {"minres": minres, "ml": maximum_likelihood}[name](R, n_factors)


def minres(R: FloatArray, n_factors: int, tolerance: float = 1e-8) -> Extraction:
    """Minimum-residual factors, which are those of unweighted least squares.

    Minimizes Σ_{i<j} (r_ij − λ_i'λ_j)² over Λ (Harman & Jones 1966). For given uniquenesses the
    best Λ is known (Eckart & Young), so the search runs over Ψ alone; see
    :func:`minres_objective`. The matrix need not be positive definite.

    Parameters
    ----------
    R
        (p, p) correlation matrix.
    n_factors
        Number of factors d, 1 ≤ d < p.
    tolerance
        Largest derivative at the solution.

    Notes
    -----
    Cost: the d leading eigenvectors of a p × p matrix per step, some tens of steps.

    References
    ----------
    Harman, H. H. & Jones, W. H. (1966). Factor analysis by minimizing residuals (minres).
    Psychometrika 31, 351–368. Jöreskog, K. G. (1977). Factor analysis by least-squares and
    maximum-likelihood methods. In: Statistical methods for digital computers 3.

    Examples
    --------
    >>> one = minres(np.outer([0.9, 0.8, 0.7], [0.9, 0.8, 0.7]) * (1 - np.eye(3)) + np.eye(3), 1)
    >>> np.abs(one.loadings.ravel()).round(3).tolist()
    [0.9, 0.8, 0.7]
    """
    d = check_n_factors(n_factors, len(R))
    found = _uniquenesses(R, d, minres_objective, tolerance)
    return Extraction(loadings=_leading(R - np.diag(found["uniquenesses"]), d)[1], **found)


def maximum_likelihood(R: FloatArray, n_factors: int, tolerance: float = 1e-6) -> Extraction:
    """Maximum-likelihood factors of normal items.

    Minimizes log|Σ| + tr(Σ⁻¹R) − log|R| − p over Σ = ΛΛ' + Ψ (Jöreskog 1967); see
    :func:`ml_objective`. Arguments and cost as for :func:`minres`, but R must be positive definite.

    References
    ----------
    Jöreskog, K. G. (1967). Some contributions to maximum likelihood factor analysis.
    Psychometrika 32, 443–482.
    """
    d = check_n_factors(n_factors, len(R))
    smallest = float(np.linalg.eigvalsh(R)[0])
    if smallest < _SINGULAR:
        raise InputError(
            "Maximum likelihood needs a positive definite matrix; the smallest eigenvalue of this "
            f'one is {smallest:.2g}. Use method="minres", which does not, or leave out items '
            "that others determine."
        )
    found = _uniquenesses(R, d, ml_objective, tolerance)
    return Extraction(loadings=_ml_factors(found["uniquenesses"], R, d)[1], **found)


def minres_objective(psi: FloatArray, R: FloatArray, d: int) -> tuple[float, FloatArray]:
    """Least squares over Λ at given uniquenesses, and its derivatives.

        f(Ψ) = ½ min_Λ ‖R − Ψ − ΛΛ'‖² = ½ (‖R − Ψ‖² − Σ_{k≤d} max(θ_k, 0)²)
        ∂f/∂ψ_i = −(R − Ψ − ΛΛ')_ii

    with θ_k the eigenvalues of R − Ψ. The diagonal is fitted exactly wherever ψ_i is inside its
    bounds, so f is there half the sum of squared residuals off the diagonal.
    """
    reduced = R - np.diag(psi)
    theta, L = _leading(reduced, d)
    value = 0.5 * (float(np.sum(reduced**2)) - float(np.sum(theta**2)))
    return value, (L**2).sum(axis=1) - np.diag(reduced)


def ml_objective(psi: FloatArray, R: FloatArray, d: int) -> tuple[float, FloatArray]:
    """Maximum-likelihood discrepancy over Λ at given uniquenesses, and its derivatives.

        f(Ψ) = Σ_{k>d} (θ_k − log θ_k − 1),   ∂f/∂ψ_i = (ΛΛ' + Ψ − R)_ii / ψ_i²

    with θ_k the eigenvalues of M = Ψ^−½ R Ψ^−½ (Jöreskog 1967). Computed as tr M − log|M| − p
    less the terms of the d largest; one of these below 1 is kept, its factor has no variance.
    """
    theta, L = _ml_factors(psi, R, d)
    diagonal = np.diag(R)
    log_det = float(np.linalg.slogdet(R)[1]) - float(np.sum(np.log(psi)))
    whole = float(np.sum(diagonal / psi)) - log_det - len(R)
    value = whole - float(np.sum(theta - np.log(theta) - 1.0))
    return value, ((L**2).sum(axis=1) + psi - diagonal) / psi**2


def check_n_factors(n_factors: object, p: int) -> int:
    """Return the number of factors if p items can have so many."""
    advice = f"The data have {p} items."
    d = checks.integer("n_factors", n_factors, 1, advice)
    if d >= p:
        raise checks.refusal("n_factors", f"smaller than the {p} items", d, "Ask for fewer.")
    return d


def _uniquenesses(R: FloatArray, d: int, objective: Objective, tolerance: float) -> dict[str, Any]:
    """Minimize over Ψ; return everything of an Extraction but the loadings."""
    from scipy.optimize import minimize

    found = minimize(
        objective,
        _start(R, d),
        args=(R, d),
        jac=True,
        method="L-BFGS-B",
        bounds=[(LEAST_UNIQUENESS, 1.0)] * len(R),
        options={"maxiter": _MOST_STEPS, "ftol": 1e-15, "gtol": tolerance, "maxcor": 20},
    )
    psi: FloatArray = found.x
    # The optimizer's own verdict is not used: it calls a minimum that it cannot improve in the last
    # digits a failed line search. A derivative that points out of the bounds does not count.
    inside = np.clip(psi - found.jac, LEAST_UNIQUENESS, 1.0)
    return {
        "uniquenesses": psi,
        "objective": float(found.fun),
        "converged": float(np.abs(inside - psi).max()) < _FLAT,
        "n_steps": int(found.nit),
        "heywood": psi <= LEAST_UNIQUENESS * (1 + 1e-6),
    }


def _start(R: FloatArray, d: int) -> FloatArray:
    """Jöreskog's start (1 − d/2p) / r^ii, one half where the matrix is singular."""
    p = len(R)
    if np.linalg.eigvalsh(R)[0] < _SINGULAR:
        return np.full(p, 0.5)
    start: FloatArray = (1 - d / (2 * p)) / np.diag(np.linalg.inv(R))
    return np.clip(start, LEAST_UNIQUENESS, 1.0)


def _leading(M: FloatArray, d: int, least: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return the d largest eigenvalues, none below ``least``, and L with LL' + least · I near M."""
    from scipy.linalg import eigh

    p = len(M)
    theta, W = eigh(M, subset_by_index=(p - d, p - 1), check_finite=False)
    theta = np.maximum(theta[::-1], least)
    return theta, W[:, ::-1] * np.sqrt(theta - least)


def _ml_factors(psi: FloatArray, R: FloatArray, d: int) -> tuple[FloatArray, FloatArray]:
    """Return the leading eigenvalues of Ψ^−½ R Ψ^−½, none below 1, and Λ = Ψ^½ W (Θ − I)^½."""
    scale = np.sqrt(psi)
    theta, L = _leading(R / np.outer(scale, scale), d, least=1.0)
    return theta, scale[:, None] * L


@register()
@dataclass(frozen=True)
class FitIndices:
    """How well the factors reproduce the correlations; None where it cannot be known.

    Attributes
    ----------
    df, df_null
        Degrees of freedom of the model and of that without factors.
    objective, objective_null
        Maximum-likelihood discrepancies log|Σ| + tr(Σ⁻¹R) − log|R| − p.
    chi_square, p_value
        Likelihood-ratio test of the number of factors, with Bartlett's correction.
    chi_square_null
        The same of the model without factors.
    empirical_chi_square, empirical_p_value
        Σ_{i≠j} n_ij residual_ij², and its test.
    rmsr, rmsr_corrected
        Root mean square residual off the diagonal: per correlation, per degree of freedom.
    fit_off_diagonal
        Share of the squared correlations that is reproduced.
    tli
        Tucker & Lewis (1973) reliability.
    rmsea, rmsea_low, rmsea_high
        Root mean square error of approximation (Steiger & Lind 1980) with its 90% interval.
    bic
        χ² − df log n.
    """

    df: int
    df_null: int
    objective: float | None
    objective_null: float | None
    chi_square: float | None
    p_value: float | None
    chi_square_null: float | None
    empirical_chi_square: float | None
    empirical_p_value: float | None
    rmsr: float
    rmsr_corrected: float | None
    fit_off_diagonal: float
    tli: float | None
    rmsea: float | None
    rmsea_low: float | None
    rmsea_high: float | None
    bic: float | None


def fit_indices(
    R: FloatArray, extraction: Extraction, n_obs: int | None, pairwise_n: IntArray | None = None
) -> FitIndices:
    """Fit of a factor solution, whatever its rotation.

        χ² = F (n − 1 − (2p + 5)/6 − 2d/3)                             (Bartlett 1951)
        TLI = (F₀/df₀ − F/df) / (F₀/df₀ − 1/n'),  n' the factor above   (Tucker & Lewis 1973)
        RMSEA = √max(χ²/(n df) − 1/(n − 1), 0)

    Without ``n_obs``, the rows behind R, there is no χ² nor what rests on it. ``pairwise_n`` are
    the (p, p) rows behind each correlation, for the empirical χ²; ``n_obs`` if omitted.
    """
    p, d = extraction.loadings.shape
    df, df_null = degrees_of_freedom(p, d), p * (p - 1) // 2
    F, F0 = _discrepancies(R, extraction)
    off = 1 - np.eye(p)
    squares = ((R - extraction.loadings @ extraction.loadings.T) * off) ** 2
    residual, total = float(squares.sum()), float(np.sum((R * off) ** 2))
    rows = n_obs if pairwise_n is None else pairwise_n
    empirical = None if rows is None else float(np.sum(rows * squares))
    corrected = 0.0 if n_obs is None else n_obs - 1 - (2 * p + 5) / 6 - 2 * d / 3
    n_model = corrected if corrected > 0 else None  # Bartlett's factor
    chi = None if F is None or n_model is None else F * n_model
    chi_null = None if F0 is None or n_model is None else F0 * (n_model + 2 * d / 3)
    return FitIndices(
        df=df,
        df_null=df_null,
        objective=F,
        objective_null=F0,
        chi_square=chi,
        p_value=_p_value(chi, df),
        chi_square_null=chi_null,
        empirical_chi_square=empirical,
        empirical_p_value=_p_value(empirical, df),
        rmsr=math.sqrt(residual / (2 * df_null)),
        rmsr_corrected=math.sqrt(residual / (2 * df)) if df > 0 else None,
        fit_off_diagonal=1 - residual / total if total > 0 else 1.0,
        tli=_tucker_lewis(F, df, F0, df_null, n_model),
        bic=None if chi is None or n_obs is None else chi - df * math.log(n_obs),
        **_rmsea(chi, df, n_obs),
    )


def degrees_of_freedom(p: int, d: int) -> int:
    """Correlations less free loadings: ((p − d)² − (p + d)) / 2; negative if too many factors."""
    return ((p - d) ** 2 - (p + d)) // 2


def _discrepancies(R: FloatArray, extraction: Extraction) -> tuple[float | None, float | None]:
    """ML discrepancies of the model and of no factors; None if R is not positive definite."""
    if np.linalg.eigvalsh(R)[0] < _SINGULAR:
        return None, None
    L, psi = extraction.loadings, extraction.uniquenesses
    ratio = np.linalg.solve(L @ L.T + np.diag(psi), R)
    F = float(np.trace(ratio)) - float(np.linalg.slogdet(ratio)[1]) - len(R)
    return max(F, 0.0), -float(np.linalg.slogdet(R)[1])


def _p_value(chi: float | None, df: int) -> float | None:
    return None if chi is None or df <= 0 else p_value(chi, df)


def _tucker_lewis(
    F: float | None, df: int, F0: float | None, df_null: int, n_model: float | None
) -> float | None:
    if F is None or F0 is None or n_model is None or df <= 0:
        return None
    return (F0 / df_null - F / df) / (F0 / df_null - 1 / n_model)


def _rmsea(chi: float | None, df: int, n: int | None) -> dict[str, float | None]:
    """RMSEA and its interval, as psych counts rows: n in the one, n − 1 in the other."""
    if chi is None or n is None or df <= 0:
        return {"rmsea": None, "rmsea_low": None, "rmsea_high": None}
    low, high = rmsea_interval(chi, df, n - 1)
    rmsea = math.sqrt(max(chi / (df * n) - 1 / (n - 1), 0.0))
    return {"rmsea": rmsea, "rmsea_low": low, "rmsea_high": high}
