"""Tests of models that need not be nested: ``vuong``.

With the log-likelihoods lᵢ of each row under two models, LR = Σ (lᵢᴬ − lᵢᴮ) and ω² the variance of
the terms, two hypotheses are tested (Vuong 1989; Merkle, You & Preacher 2016):

* the models cannot be told apart in the population, ω² = 0. Then n ω̂² is distributed as Σ λ² χ²₁
  with λ the eigenvalues of Σ·diag(Iᴬ, −Iᴮ)⁻¹, where Σ is the covariance matrix of the rows' scores
  of both models and I is their information;
* if they can be told apart, they fit equally well. Then LR / (√n ω̂) is standard normal.

References
----------
Vuong, Q. H. (1989). Likelihood ratio tests for model selection and non-nested hypotheses.
Econometrica 57, 307-333.
Merkle, E. C., You, D. & Preacher, K. J. (2016). Testing nonnested structural equation models.
Psychological Methods 21, 151-163.
Abate, J. & Whitt, W. (1995). Numerical inversion of Laplace transforms of probability
distributions. ORSA Journal on Computing 7, 36-43.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.core.parallel import one_thread
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary, Table
from dtstat.data.containers import as_frame
from dtstat.data.items import as_items
from dtstat.data.readers import take_columns
from dtstat.sem.comparison import bread, check_fit, check_same_data
from dtstat.sem.constraints import Constraints
from dtstat.sem.designs import Design
from dtstat.sem.discrepancy import inverse_within
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.groups import find_groups, usable_groups
from dtstat.sem.likelihood import covariate_positions
from dtstat.sem.matrices import inverse
from dtstat.sem.normal import case_scores
from dtstat.sem.result import CFAFit

_LOG_2PI = math.log(2 * math.pi)
_SAME = 1e-6  # relative distance of moments of the same data
_NONE = 1e-12  # share of a variance, or of the largest eigenvalue, that is rounding


@register()
@dataclass(frozen=True, repr=False)
class VuongTest(Saved, Printed):
    """Two models that need not be nested, compared.

    Attributes
    ----------
    variance, distinguishable_pvalue
        ω̂² of the log-likelihood ratios of the rows, and the p value of "the models cannot be told
        apart".
    log_ratio, z
        Log-likelihood of the first model less that of the second, and its test statistic.
    a_better_pvalue, b_better_pvalue
        One-sided p values of "they fit equally well" against "the first fits better" and "the
        second fits better"; they count only if the models can be told apart.
    aic_difference, bic_difference
        Of the first model less those of the second.
    n_obs
        Rows.
    """

    variance: float
    distinguishable_pvalue: float
    log_ratio: float
    z: float
    a_better_pvalue: float
    b_better_pvalue: float
    aic_difference: float
    bic_difference: float
    n_obs: int

    def summary(self) -> Summary:
        """Lay out both tests to print."""
        rows = (
            ("cannot be told apart", f"{self.n_obs * self.variance:.3f}",
             f"{self.distinguishable_pvalue:.3f}"),
            ("equal fit, against the first is better", f"{self.z:.3f}",
             f"{self.a_better_pvalue:.3f}"),
            ("equal fit, against the second is better", f"{self.z:.3f}",
             f"{self.b_better_pvalue:.3f}"),
        )  # fmt: skip
        notes = (
            f"Log-likelihood, first less second: {self.log_ratio:.3f}; AIC "
            f"{self.aic_difference:.3f}; BIC {self.bic_difference:.3f}.",
            "The tests of equal fit count only if the first hypothesis is rejected.",
        )
        title = f"Vuong test of two models, {self.n_obs} rows"
        headers = ("hypothesis", "statistic", "p value")
        return Summary((), (Table(title, headers, rows, "lrr", notes),))

    def __repr__(self) -> str:
        return self.summary().to_text().lstrip("\n")


def vuong(a: CFAFit, b: CFAFit, data: Any) -> VuongTest:
    """Test two models that need not be nested: whether they differ, and which fits better.

    Parameters
    ----------
    a, b
        Results of :func:`dtstat.cfa` or :func:`dtstat.sem` for the same data, by "ml", "mlr" or
        "fiml".
    data
        The data that both were fitted to.

    Returns
    -------
    VuongTest

    Raises
    ------
    InputError
        If the models are of other data, or of ordered items, which have no likelihood.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> a = dt.cfa(data, "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; x1 ~~ x4")
    >>> b = dt.cfa(data, "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6 + x1")
    >>> test = dt.vuong(a, b, data)
    >>> round(test.distinguishable_pvalue, 3), round(test.z, 3)
    (0.003, -0.924)
    """
    one, other = check_fit("a", a).estimate, check_fit("b", b).estimate
    check_same_data(one, other)
    for estimate in (one, other):
        if estimate.logl is None or estimate.source != "rows":
            raise InputError(
                "`a` and `b` must be fitted to rows by a likelihood (ml, mlr, fiml): the test "
                "compares the log-likelihoods of rows.",
                "a",
            )
    if _given(one) != _given(other) or one.model.mean_structure != other.model.mean_structure:
        raise InputError(
            "`a` and `b` must have the same observed predictors and both or neither a mean "
            "structure; otherwise their likelihoods are of different things.",
            "a",
        )
    with one_thread():
        parts = [_rows_terms(fit, data) for fit in (a, b)]
        (la, sa), (lb, sb) = parts
        d = la - lb
        n, variance = len(d), float(d.var())
        if same := variance <= _NONE * float(la.var()):  # the same model, written in two ways
            variance, apart = 0.0, 1.0
        else:
            apart = weighted_chi_square_tail(n * variance, _weights(one, other, sa, sb) ** 2)
    z = 0.0 if same else float(d.sum()) / math.sqrt(n * variance)
    from scipy.special import ndtr

    counts = one.n_parameters - other.n_parameters
    return VuongTest(
        variance=variance,
        distinguishable_pvalue=apart,
        log_ratio=float(d.sum()),
        z=z,
        a_better_pvalue=float(ndtr(-z)),
        b_better_pvalue=float(ndtr(z)),
        aic_difference=-2 * float(d.sum()) + 2 * counts,
        bic_difference=-2 * float(d.sum()) + math.log(n) * counts,
        n_obs=n,
    )


def _given(estimate: SEMEstimate) -> set[str]:
    return {estimate.model.observed[k] for k in covariate_positions(estimate.model)}


def rows_of(fit: CFAFit, data: Any) -> list[FloatArray]:
    """Rows of each group that a model was fitted to; refuse data of another fit."""
    frame = as_frame(data)
    names = list(map(str, frame.columns))
    for name in fit.item_names:
        if name not in names:
            raise InputError(f"`data` have no column '{name}', which the model needs.", "data")
    items = as_items(take_columns(frame, [names.index(name) for name in fit.item_names]))
    gaps = fit.call.missing == "fiml"
    groups = None
    if fit.call.group is not None:
        groups = find_groups(frame, fit.call.group, fit.call.group_label or None)
        if groups.names != fit.groups:
            raise InputError("`data` have other groups than the fit. Give the same data.", "data")
    rows = [one.X for one in usable_groups(items, groups, Design(), gaps, "none")[0]]
    x = covariate_positions(fit.estimate.model)
    rows = [X[~np.isnan(X[:, x]).any(axis=1)] if x else X for X in rows]
    for X, block in zip(rows, fit.estimate.blocks, strict=True):
        same = len(X) == block.n_obs
        if same and not np.isnan(X).any():
            D = X - X.mean(axis=0)
            scale = np.sqrt(np.outer(np.diag(block.S), np.diag(block.S)))
            same = bool((np.abs(D.T @ D / len(X) - block.S) / scale).max() < _SAME)
        if not same:
            raise InputError(
                f"`data` are not the data of the fit, which has {block.n_obs} rows"
                + (" in its first group" if fit.groups else "")
                + ". Give the same rows.",
                "data",
            )
    return rows


def _rows_terms(fit: CFAFit, data: Any) -> tuple[FloatArray, FloatArray]:
    """(n,) log-likelihoods and (n, q) scores of the rows, one group after the other."""
    estimate = fit.estimate
    means = estimate.model.mean_structure
    values, scores = [], []
    for X, view in zip(rows_of(fit, data), estimate.views, strict=True):
        rows = X if means else X - X.mean(axis=0)
        implied = view.layout.implied(estimate.theta)
        mu = implied.mu if means else np.zeros_like(implied.mu)
        values.append(_log_likelihoods(rows, implied.Sigma, mu))
        scores.append(case_scores(rows, view.layout, estimate.theta, means))
    return np.concatenate(values), np.concatenate(scores)


def _log_likelihoods(X: FloatArray, Sigma: FloatArray, mu: FloatArray) -> FloatArray:
    values = np.empty(len(X))
    marks, group = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    for k, mark in enumerate(marks):
        rows, o = group.reshape(-1) == k, np.flatnonzero(mark)
        W, logdet = inverse(Sigma[np.ix_(o, o)])
        D = X[rows][:, o] - mu[o]
        values[rows] = -0.5 * (len(o) * _LOG_2PI + logdet + np.einsum("ni,ij,nj->n", D, W, D))
    return values


def _weights(a: SEMEstimate, b: SEMEstimate, sa: FloatArray, sb: FloatArray) -> FloatArray:
    """Eigenvalues of Σ diag(Iᴬ, −Iᴮ)⁻¹."""
    scores = np.hstack([sa, sb])
    Sigma = scores.T @ scores / len(scores)
    q = sa.shape[1]
    inverted = np.zeros_like(Sigma)
    for estimate, part, sign in ((a, slice(0, q), 1.0), (b, slice(q, None), -1.0)):
        space = Constraints(estimate.model).space(estimate.theta)
        inverted[part, part] = sign * inverse_within(bread(estimate), space)
    return np.asarray(np.linalg.eigvals(Sigma @ inverted).real, dtype=np.float64)


def weighted_chi_square_tail(value: float, weights: Sequence[float] | FloatArray) -> float:
    """P(Σ wₖ χ²₁ > value) for weights wₖ ≥ 0, by inverting its Laplace transform.

    The transform of the tail is (1 − φ(s)) / s with φ(s) = Π (1 + 2 wₖ s)^(−1/2). It is inverted by
    the alternating series of Abate & Whitt (1995), whose error is e^(−A), summed by Euler's method.

    Examples
    --------
    >>> round(weighted_chi_square_tail(5.991, [1.0, 1.0]), 3)
    0.05
    """
    from scipy.special import comb

    w = np.asarray(weights, dtype=float)
    w = w[w > _NONE * w.max(initial=0.0)]
    if value <= 0 or not len(w):
        return 1.0
    A, terms, averaged = 18.4, 30, 12
    k = np.arange(terms + averaged + 1)
    s = (A + 2j * np.pi * k) / 2  # times 1 / value
    transform = (1 - np.exp(-0.5 * np.log1p(2 * np.outer(s, w / value)).sum(axis=1))) / s
    series = np.where(k % 2 == 0, 1.0, -1.0) * np.where(k == 0, 0.5, 1.0) * transform.real
    partial = np.cumsum(series)[terms:]
    mean = float(comb(averaged, np.arange(averaged + 1)) @ partial / 2.0**averaged)
    tail = math.exp(A / 2) * mean
    return min(max(tail, 0.0), 1.0)
