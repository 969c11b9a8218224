"""Robust standard errors and tests.

MLR: sandwich standard errors and the scaled test of Yuan & Bentler (2000), as Mplus computes it.

Robust CFI, TLI and RMSEA: a likelihood with gaps measures misfit on a scale of its own. The
corrected tests measure it on that of complete normal data, by the discrepancy

    X² = n (log|Σ| − log|S| + tr(Σ⁻¹S) − p + (m − μ)ᵀ Σ⁻¹ (m − μ))

between the saturated moments (S, m) and what the model implies at its own estimates. If the model
is right X² has the mean tr(W_c P Γ Pᵀ), P = I − Δ E⁻¹ Δᵀ W, E = Δᵀ W Δ: W_c are the weights of the
discrepancy, W those the model was fitted with, Γ the covariance of the saturated moments and Δ the
derivatives of the implied ones (Zhang & Savalei 2023). For ordered items the corrected tests
measure misfit as if the variables behind the items were known: by the same discrepancy of
correlations, at the estimates of least squares (Savalei 2021).

References
----------
Savalei, V. (2021). Improving fit indices in structural equation modeling with categorical data.
Multivariate Behavioral Research 56, 390-407.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.fit_indices import Test
from dtstat.core.parallel import Steps
from dtstat.sem.designs import Rows
from dtstat.sem.discrepancy import Info
from dtstat.sem.gaps import saturated_hessian
from dtstat.sem.matrices import Implied, Layout, inverse
from dtstat.sem.normal import (
    Covariates,
    case_scores,
    expected_information,
    independence_layout,
    observed_information,
    parameters_of,
    saturated_layout,
)
from dtstat.sem.ordinal_moments import OrdinalMoments
from dtstat.sem.rows import Sample, independence_moments
from dtstat.sem.second_moments import moment_derivatives, normal_weights

# The saturated information has p (p + 3) / 2 rows; with more items inverting it takes longer than
# the fit.
MOST_ITEMS = 60


def score_trace(
    rows: Rows,
    sample: Sample,
    layout: Layout,
    theta: FloatArray,
    information: Info = "observed",
    steps: Steps | None = None,
) -> float:
    """tr(B A⁻¹) of a model: the expected −2 log-likelihood its parameters take up.

    Equals the number of parameters if the rows are normal and the model is right.
    """
    find = expected_information if information == "expected" else observed_information
    return _trace(find(sample, layout, theta, steps), rows, sample, layout, theta)


def saturated_score_trace(rows: Rows, sample: Sample, S: FloatArray, m: FloatArray) -> float:
    """tr(B₁ A₁⁻¹) of the saturated model for complete rows, in closed form.

    With y = L⁻¹(x − m), S = L Lᵀ, it is the mean of |Σ w y|² + ½ |Σ w (y yᵀ − I)|² over clusters;
    for rows that are independent these are w² d and ½ w² (d² − 2 d + p), d = |y|².
    """
    p = len(S)
    Y = np.linalg.solve(np.linalg.cholesky(S), (rows.X - m).T).T
    if rows.clusters is None:
        d = np.einsum("ij,ij->i", Y, Y)
        own = 0.5 * (d**2 - 2 * d + p) + (d if sample.means else 0.0)
        return float(np.sum(own if rows.weights is None else rows.weights**2 * own) / rows.total)
    i, j = np.tril_indices(p)
    scores = Y[:, i] * Y[:, j] - (i == j)
    scores[:, i == j] /= np.sqrt(2)
    scores = np.hstack([scores, Y]) if sample.means else scores
    return float(np.trace(rows.squares(scores)))


def conditional_score_trace(
    rows: Rows,
    sample: Sample,
    names: tuple[str, ...],
    covariates: Covariates,
    steps: Steps | None = None,
) -> float:
    """tr(B₁ A₁⁻¹) of the saturated model, given the observed predictors (if any).

    For complete rows its observed information is, at its own moments, the expected one.
    """
    layout = saturated_layout(names, sample.means, covariates)
    theta = parameters_of(layout, covariates.Sigma, covariates.mu)
    if sample.complete:
        A = expected_information(sample, layout, theta)
    else:
        free = layout.free > 0
        A = saturated_hessian(sample.batches, covariates.Sigma, covariates.mu, steps)
        A = A[np.ix_(free, free)]
    return _trace(A, rows, sample, layout, theta)


def _trace(A: FloatArray, rows: Rows, sample: Sample, layout: Layout, theta: FloatArray) -> float:
    B = rows.squares(case_scores(rows.X, layout, theta, sample.means))
    return float(np.trace(np.linalg.solve(A, B)))


def corrected_for_gaps(
    samples: Sequence[Sample],
    layouts: Sequence[Layout],
    theta: FloatArray,
    space: FloatArray,
    moments: Sequence[tuple[FloatArray, FloatArray]],
    df: int,
    rows: Sequence[Rows] | None,
    given: Sequence[int] = (),
    free: Sequence[int] = (),
    steps: Steps | None = None,
) -> tuple[Test, Test]:
    """Test a model, and independent items, as if no answers were missing.

    ``theta`` and ``df`` belong to the model, which moves along the columns of ``space``. What
    follows is per group: ``moments`` (covariances and means) belong to the saturated model, and
    ``rows`` are the rows themselves if Γ is to hold for answers that are not normal, else None.
    The moments of the predictors ``given`` are known; ``free`` ones may covary in the baseline.
    """
    groups = [
        _Gaps(sample, S, mean, None if rows is None else rows[k], given, steps)
        for k, (sample, (S, mean)) in enumerate(zip(samples, moments, strict=True))
    ]
    n = sum(sample.n_obs for sample in samples)
    parts = [
        (group, layout.implied(theta), group.derivatives(layout, theta) @ space, sample.n_obs / n)
        for group, layout, sample in zip(groups, layouts, samples, strict=True)
    ]
    chisq = sum(group.chisq(implied) for group, implied, _, _ in parts)
    whole = sum(group.whole for group in groups)
    test = _scaled(chisq, df, whole - _taken_up([(g, D, share) for g, _, D, share in parts]))
    names = layouts[0].model.observed
    chisq = taken = 0.0
    x = list(free)
    for group in groups:
        known = Covariates(tuple(given), group.S, group.mean)
        layout = independence_layout(names, True, known, x)
        Sigma, mu = independence_moments(group.sample)
        Sigma[np.ix_(x, x)], mu[x] = group.S[np.ix_(x, x)], group.mean[x]
        at = parameters_of(layout, Sigma, mu)
        chisq += group.chisq(layout.implied(at))
        taken += _taken_up([(group, group.derivatives(layout, at), 1.0)])
    pairs = len(groups) * (len(names) * (len(names) - 1) // 2 - len(x) * (len(x) - 1) // 2)
    return test, _scaled(chisq, pairs, whole - taken)


class _Gaps:
    """One group: W, W_c, J with Γ = W⁻¹ J W⁻¹, half = W⁻¹ W_c, and whole = tr(W_c Γ).

    All are conditional on the predictors that are ``given``.
    """

    def __init__(
        self,
        sample: Sample,
        S: FloatArray,
        mean: FloatArray,
        rows: Rows | None,
        given: Sequence[int] = (),
        steps: Steps | None = None,
    ) -> None:
        self.sample, self.S, self.mean = sample, S, mean
        i, j = np.tril_indices(len(S))
        known = np.isin(i, given) & np.isin(j, given)
        self._open = ~np.append(known, np.isin(np.arange(len(S)), given))
        inner = np.ix_(self._open, self._open)
        self.Wc = normal_weights(S, True)[inner]
        self.W = self.J = saturated_hessian(sample.batches, S, mean, steps)[inner]
        if rows is not None:
            saturated = saturated_layout(tuple(f"x{k}" for k in range(len(S))), True)
            at = parameters_of(saturated, S, mean)
            self.J = rows.squares(case_scores(rows.X, saturated, at, True)[:, self._open])
        self.half: FloatArray = np.asarray(np.linalg.solve(self.W, self.Wc), dtype=np.float64)
        self.whole = float(
            np.trace(self.half)
            if rows is None
            else np.sum(np.linalg.solve(self.W, self.J) * self.half.T)
        )

    def derivatives(self, layout: Layout, theta: FloatArray) -> FloatArray:
        """Differentiate the moments that are not given."""
        return moment_derivatives(layout, theta, True)[self._open]

    def chisq(self, implied: Implied) -> float:
        """Discrepancy of complete data, times n."""
        return self.sample.n_obs * discrepancy(self.S, self.mean, implied.Sigma, implied.mu)


def _taken_up(parts: Sequence[tuple[_Gaps, FloatArray, float]]) -> float:
    """tr(W_c Γ) − tr(W_c P Γ Pᵀ) over groups with derivatives D and shares of the rows."""
    E = sum(share * D.T @ g.W @ D for g, D, share in parts)
    EC = np.linalg.solve(E, sum(share * D.T @ g.Wc @ D for g, D, share in parts))
    mixed = sum(share * D.T @ g.J @ (g.half @ D) for g, D, share in parts)
    own = sum(share * D.T @ g.J @ D for g, D, share in parts)
    twice = np.trace(np.linalg.solve(E, mixed))
    once = np.trace(EC @ np.linalg.solve(E, own))
    return float(2 * twice - once)


def discrepancy(S: FloatArray, mean: FloatArray, Sigma: FloatArray, mu: FloatArray) -> float:
    """Maximum likelihood discrepancy of two normal distributions."""
    W, logdet = inverse(Sigma)
    d = mean - mu
    return float(logdet - inverse(S)[1] + (W * S).sum() - len(S) + d @ W @ d)


def _scaled(chisq: float, df: int, expected: float) -> Test:
    return Test(chisq, df, expected / df) if df else Test(chisq, df)


def corrected_for_categories(
    moments: Sequence[OrdinalMoments],
    implied: Sequence[FloatArray],
    derivatives: Sequence[FloatArray],
    weighted: Sequence[FloatArray],
    bread: FloatArray,
    df: int,
) -> tuple[Test, Test] | None:
    """Test a model, and independent items, as if the variables behind the items were known.

    If the model is right the discrepancy has the mean tr(W_c P Γ Pᵀ), P = I − Δ E⁻¹ Δᵀ W, over all
    groups; W_c are the weights of the discrepancy, which knows correlations only.

    Parameters
    ----------
    moments, implied
        Statistics of each group, and the correlations that the model implies.
    derivatives, weighted
        Δ and W Δ of each group.
    bread, df
        E⁻¹ of all groups, along the directions that constraints leave; degrees of freedom.

    Returns
    -------
    tuple or None
        None if a matrix of correlations is not positive definite: there is no discrepancy.
    """
    found = [m.correlations for m in moments]
    if min(np.linalg.eigvalsh(R)[0] for R in (*found, *implied)) < 1e-8:
        return None
    n = sum(m.n_obs - 1 for m in moments)
    q = len(bread)
    chisq = base = whole = base_whole = 0.0
    mixed, own, taken = np.zeros((q, q)), np.zeros((q, q)), np.zeros((q, q))
    pairs = 0
    for m, Sigma, D, WD in zip(moments, implied, derivatives, weighted, strict=True):
        share, zero = (m.n_obs - 1) / n, np.zeros(len(Sigma))
        j, i = np.triu_indices(len(Sigma), 1)
        below = slice(len(m.statistics) - len(i), None)
        W, _ = inverse(Sigma)
        Wc = W[np.ix_(i, i)] * W[np.ix_(j, j)] + W[np.ix_(i, j)] * W[np.ix_(j, i)]
        G, gamma = m.gamma @ WD, m.gamma[below, below]
        WcD = Wc @ D[below]
        chisq += m.n_obs * discrepancy(m.correlations, zero, Sigma, zero)
        base += m.n_obs * discrepancy(m.correlations, zero, np.eye(len(Sigma)), zero)
        whole += float(np.sum(Wc * gamma))
        base_whole += float(np.trace(gamma))
        mixed += share * (G[below].T @ WcD)
        own += share * (D[below].T @ WcD)
        taken += share * (WD.T @ G)
        pairs += len(i)
    whole -= 2 * float(np.sum(bread * mixed))
    whole += float(np.sum((bread @ own) * (bread @ taken).T))
    test = Test(chisq, df, whole / df) if df else Test(chisq, df)
    return test, Test(base, pairs, base_whole / pairs) if pairs else Test(base, pairs)
