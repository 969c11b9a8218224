"""Factor scores of a fitted model, and how reliable they are.

Both kinds of scores are linear in the items, η̄ + W (x − μ), and differ in the weights W alone:

    regression   W = C Σ⁻¹, with C = Cov(η, x): the mean of η given x (Thurstone 1935);
    Bartlett     W = (ΛᵀΘ⁻¹Λ)⁻¹ ΛᵀΘ⁻¹: the η under which x is most likely (Bartlett 1937).

A row with gaps uses the entries of Λ, Θ, C, Σ and μ that belong to the items it observes.

References
----------
Thurstone, L. L. (1935). The vectors of mind. University of Chicago Press.
Bartlett, M. S. (1937). The statistical conception of mental factors. British Journal of
Psychology 28, 97-104.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import EstimationError, InputError
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.matrices import NotPositiveDefiniteError, inverse

METHODS = ("regression", "Bartlett")

_DETERMINED = 1e-8  # distance from the span of the items at which a factor has no Bartlett score
_NO_RESIDUAL = 1e-10  # share of an item's variance below which its residual counts as none


def factor_scores(estimate: SEMEstimate, X: FloatArray, method: str = "regression") -> FloatArray:
    """Scores of every row on every factor: η̄ + W (x − μ).

    Regression scores have the smallest mean squared error but shrink towards η̄; Bartlett scores
    are unbiased given η but scatter more. A model without a mean structure takes the sample means
    for μ.

    Parameters
    ----------
    estimate
        The fitted model; items must be numeric.
    X
        (n, p) rows, columns in the order of ``estimate.model.observed``; NaN is missing.
    method
        "regression" or "Bartlett".

    Returns
    -------
    (n, d) scores, columns in the order of ``estimate.model.latent``. A row without any item is
    NaN; a Bartlett score is NaN where the observed items do not determine the factor.

    Raises
    ------
    InputError
        If the method is unknown, or items are ordinal.
    EstimationError
        If Bartlett scores do not exist: an item without residual variance, a factor without items.

    Notes
    -----
    Cost: one p × p inverse for each pattern of gaps, then O(n p d).
    """
    checks.choice("method", method, METHODS)
    _refuse_ordinal(estimate)  # dtstat.sem.response_scores has their scores
    form = measurement(estimate)
    weights = _Weights(estimate, form, method)
    mu = estimate.mu if estimate.model.mean_structure else estimate.mean
    scores = np.full((len(X), len(estimate.model.latent)), np.nan)
    marks, group = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    for k, mark in enumerate(marks):
        rows = group.reshape(-1) == k
        if mark.any():
            centered = np.where(mark, X[rows] - mu, 0.0)
            scores[rows] = form.eta_mean + centered @ weights.of(mark).T
    return scores


def score_reliability(estimate: SEMEstimate, method: str = "regression") -> FloatArray:
    """Squared correlation of each score with its factor, for rows without gaps.

    With scores Wx it is (WCᵀ)²_kk / [(WΣWᵀ)_kk Var(η_k)], in the model. For regression scores
    this is (CΣ⁻¹Cᵀ)_kk / Var(η_k), the largest value any linear score can reach; its root is the
    determinacy of the factor (Guttman 1955). Where scores stand in for factors, a determinacy of
    .9, that is a reliability of .81, is often asked for (Grice 2001).

    Parameters
    ----------
    estimate
        The fitted model; items must be numeric.
    method
        "regression" or "Bartlett".

    Returns
    -------
    (d,) reliabilities; NaN for a factor whose variance, or that of whose scores, is not positive.

    References
    ----------
    Guttman, L. (1955). The determinacy of factor score matrices with implications for five other
    basic problems of common-factor theory. British Journal of Statistical Psychology 8, 65-81.
    Grice, J. W. (2001). Computing and evaluating factor scores. Psychological Methods 6, 430-450.
    """
    checks.choice("method", method, METHODS)
    _refuse_ordinal(estimate)
    form = measurement(estimate)
    W = _Weights(estimate, form, method).of(np.ones(len(estimate.Sigma), dtype=bool))
    shared = np.einsum("kp,kp->k", W, form.C)
    spread = np.einsum("kp,pq,kq->k", W, estimate.Sigma, W)
    variance = np.diag(form.eta_covariance)
    scale = np.where((variance > 0) & (spread > 0), spread * variance, np.nan)
    reliability: FloatArray = shared**2 / scale
    return reliability


@dataclass(frozen=True, eq=False)
class Measurement:
    """A model as the regression of each item on factors and on other items.

    Solving the model for the items gives x = ν + Λη + Dx + e with Cov(e) = Θ, where η holds the
    latent variables only. D is zero unless items regress on items.

    Attributes
    ----------
    Lambda
        (p, d) direct effects of the d latent variables on the items.
    D
        (p, p) direct effects of items (columns) on items (rows).
    Theta
        (p, p) residual covariances.
    eta_mean, eta_covariance
        (d,) and (d, d) implied moments of the latent variables.
    C
        (d, p) implied covariances of latent variables and items.
    """

    Lambda: FloatArray
    D: FloatArray
    Theta: FloatArray
    eta_mean: FloatArray
    eta_covariance: FloatArray
    C: FloatArray


def measurement(estimate: SEMEstimate) -> Measurement:
    """Measurement form of a fitted model.

    The estimation core makes an observed variable that takes part in regressions its own η with
    loading 1, which moves its loadings into B and its residual into Ψ. Here they come back.
    """
    M = estimate.layout.matrices(estimate.theta)
    d = len(estimate.model.latent)
    own = M.Lambda[:, d:]  # which item an observed η is
    V = M.eta_covariance
    if estimate.model.mean_structure:
        eta_mean = (M.total_effects @ M.alpha)[:d]
    else:
        # What free intercepts of all items would give, (I − B)⁻¹ B_x x̄ with B the effects of
        # factors and B_x those of observed variables: 0 unless factors regress on the latter.
        inner = np.linalg.inv(np.eye(d) - M.Beta[:d, :d])
        eta_mean = inner @ M.Beta[:d, d:] @ (own.T @ estimate.mean)
    return Measurement(
        Lambda=M.Lambda[:, :d] + own @ M.Beta[d:, :d],
        D=own @ M.Beta[d:, d:] @ own.T,
        Theta=M.Theta + own @ M.Psi[d:, d:] @ own.T,
        eta_mean=eta_mean,
        eta_covariance=V[:d, :d],
        C=V[:d] @ M.Lambda.T,
    )


class _Weights:
    """Weights W of the items in the scores, for any set of observed items."""

    def __init__(self, estimate: SEMEstimate, form: Measurement, method: str) -> None:
        self.Sigma, self.form, self.bartlett = estimate.Sigma, form, method == "Bartlett"
        if self.bartlett:
            _check_residuals(estimate, form)
            complete = np.ones(len(self.Sigma), dtype=bool)
            _check_determined(estimate, self.of(complete))

    def of(self, mark: BoolArray) -> FloatArray:
        """(d, p) weights, 0 for items that are not marked as observed."""
        if self.bartlett:
            return self._bartlett(mark)
        W = np.zeros_like(self.form.C)
        inverted, _ = inverse(self.Sigma[np.ix_(mark, mark)])
        W[:, mark] = self.form.C[:, mark] @ inverted
        return W

    def _bartlett(self, mark: BoolArray) -> FloatArray:
        """Generalized least squares of x − Dx on Λ; NaN for factors the items leave open."""
        form = self.form
        needs_missing = (form.D[:, ~mark] != 0).any(axis=1)
        o = np.flatnonzero(mark & ~needs_missing)
        half = np.linalg.inv(np.linalg.cholesky(form.Theta[np.ix_(o, o)]))
        H = half @ form.Lambda[o]
        length = np.sqrt((H**2).sum(axis=0))
        length[length == 0] = 1.0
        solved = np.linalg.pinv(H / length, rcond=_DETERMINED)
        share = np.einsum("ki,ik->k", solved, H / length)  # 1 if the factor can be told apart
        A = (solved / length[:, None]) @ half
        W = np.zeros_like(form.C)
        W[:, o] = A
        W -= A @ form.D[o]
        W[share < 1 - _DETERMINED] = np.nan
        return W


def _check_residuals(estimate: SEMEstimate, form: Measurement) -> None:
    """Bartlett scores weigh items by the inverse of Θ, which must exist."""
    residual, names = np.diag(form.Theta), estimate.model.observed
    poor = np.flatnonzero(residual <= _NO_RESIDUAL * np.diag(estimate.Sigma))
    if len(poor):
        i = int(poor[0])
        raise EstimationError(
            "Bartlett scores need positive residual variances; that of item "
            f"'{names[i]}' is {residual[i]:.3g}. Use method='regression', or leave out the item."
        )
    try:
        inverse(form.Theta)
    except NotPositiveDefiniteError:
        raise EstimationError(
            "Bartlett scores need residual covariances that form a positive definite matrix; "
            "those of this model do not. Use method='regression', or drop residual covariances."
        ) from None


def _check_determined(estimate: SEMEstimate, W: FloatArray) -> None:
    """Refuse Bartlett scores of a factor that would be NaN in every row."""
    undetermined = np.isnan(W).any(axis=1)
    if undetermined.any():
        name = estimate.model.latent[int(np.flatnonzero(undetermined)[0])]
        raise EstimationError(
            f"Bartlett scores of factor '{name}' do not exist: no items measure it apart from "
            "the other factors. Use method='regression'."
        )


def _refuse_ordinal(estimate: SEMEstimate) -> None:
    if not estimate.procedure.likelihood:
        raise InputError(
            "`estimate` must come from an estimator for numeric items (ml, mlr, fiml); got "
            f"'{estimate.procedure.estimator}'. Scores linear in the items do not exist for the "
            "variables behind ordered ones.",
            "estimate",
        )
