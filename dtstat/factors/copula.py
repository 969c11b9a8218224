"""Factor models of the Gaussian copula: latent correlations, then maximum likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import EstimationWarning, InputError, warn
from dtstat.core.saved import register
from dtstat.data.frame import Frame
from dtstat.dependence.matrix import DependenceMatrix, within_unit
from dtstat.dependence.measures import BRIDGES
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS, FactorLikelihood, maximize

_NEGATIVE = -1e-8  # an eigenvalue below is negative by more than rounding
_LEAST_EIGENVALUE = 1e-6  # what it is raised to


@register(shapes={"R": "pp"}, rules={"values are in [-1, 1]": lambda latent: within_unit(latent.R)})
@dataclass(frozen=True, eq=False)
class LatentCorrelations:
    """Correlations of the normal variables behind p items.

    Attributes
    ----------
    R
        (p, p) correlations, positive semidefinite, 1 on the diagonal; read-only.
    measure
        What they were computed from.
    n_obs
        Number of rows they were computed from; None if unknown.
    smoothed
        Whether negative eigenvalues had to be raised.
    smallest_eigenvalue
        Smallest eigenvalue before that.
    """

    R: FloatArray
    measure: str
    n_obs: int | None
    smoothed: bool
    smallest_eigenvalue: float

    def __post_init__(self) -> None:
        self.R.setflags(write=False)

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return len(self.R)


def latent_correlations(dependence: DependenceMatrix) -> LatentCorrelations:
    """Correlations of the normal variables of which the items are increasing functions.

    For the Gaussian copula (Kruskal 1958; Liu, Han, Lafferty & Wasserman 2012)

        ρ = 2 sin(π r_S / 6)  from Spearman's,   ρ = sin(π τ / 2)  from Kendall's

    coefficient; Pearson, polychoric, tetrachoric and mixed correlations are ρ already. The
    formulas hold for items without ties: for rating scales of few points polychoric correlations
    are the ones without bias. The result need not be positive semidefinite; if it is not,
    negative eigenvalues are raised to a small positive number and the diagonal brought back to 1.

    Parameters
    ----------
    dependence
        Matrix of one of these measures.

    Raises
    ------
    InputError
        If the measure has no latent correlation.

    Warns
    -----
    EstimationWarning
        If eigenvalues had to be raised.

    Notes
    -----
    Cost: the eigenvalues of a p × p matrix.

    References
    ----------
    Kruskal, W. H. (1958). Ordinal measures of association. Journal of the American Statistical
    Association 53, 814–861. Liu, H., Han, F., Yuan, M., Lafferty, J. & Wasserman, L. (2012).
    High-dimensional semiparametric Gaussian copula graphical models. Annals of Statistics 40,
    2293–2326.

    Examples
    --------
    >>> tau = DependenceMatrix.from_matrix([[1, 1 / 3], [1 / 3, 1]], measure="kendall")
    >>> latent_correlations(tau).R.round(3).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    bridge = BRIDGES.get(dependence.measure)
    if bridge is None:
        raise InputError(
            f"`data` is a matrix of the measure '{dependence.measure}', which has no latent "
            f"correlation. Give the data, or a matrix of one of: {', '.join(BRIDGES)}.",
            "data",
        )
    R = bridge(dependence.values)
    np.fill_diagonal(R, 1.0)
    smallest = float(np.linalg.eigvalsh(R)[0])
    smoothed = smallest < _NEGATIVE
    if smoothed:
        R = nearest_correlation(R)
        warn(
            f"The latent correlations of the {len(R)} items were smoothed, because their matrix "
            f"is not positive semidefinite (smallest eigenvalue {smallest:.2g}); using "
            "complete rows only, fewer items or another measure may avoid this.",
            EstimationWarning,
            stacklevel=2,
        )
    return LatentCorrelations(R, dependence.measure, dependence.n_obs, smoothed, smallest)


def nearest_correlation(R: FloatArray) -> FloatArray:
    """Raise the eigenvalues of a matrix to a small positive number and scale the diagonal to 1."""
    values, vectors = np.linalg.eigh(R)
    positive: FloatArray = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(positive.diagonal())
    positive = positive / np.outer(scale, scale)
    positive = (positive + positive.T) / 2
    np.fill_diagonal(positive, 1.0)
    return positive


@register(
    shapes={"loadings": "pd", "factor_correlations": "dd", "uniquenesses": "p"},
    rules={
        "factor correlations are symmetric": lambda one: np.allclose(
            one.factor_correlations, one.factor_correlations.T, equal_nan=True
        )
    },
)
@dataclass(frozen=True, eq=False)
class FactorEstimate:
    """A fitted factor model with d factors of p items.

    Attributes
    ----------
    loadings
        (p, d) loadings Λ, zero outside the support; no column has a negative sum.
    factor_correlations
        (d, d) correlations Φ of the factors.
    uniquenesses
        (p,) error variances ψ, at least 0.001.
    log_likelihood
        −n/2 (p log 2π + log|Σ| + tr(Σ⁻¹R)) with Σ = ΛΦΛᵀ + Ψ.
    n_parameters
        Free loadings, p uniquenesses and d(d − 1)/2 factor correlations.
    converged
        Whether the likelihood stopped rising before the steps ran out.
    n_iterations
        Steps taken.
    reach
        If the search was given up because it could not come far enough: the log-likelihood that
        was out of its reach.
    """

    loadings: FloatArray
    factor_correlations: FloatArray
    uniquenesses: FloatArray
    log_likelihood: float
    n_parameters: int
    converged: bool
    n_iterations: int
    reach: float | None = None

    def __post_init__(self) -> None:
        for values in (self.loadings, self.factor_correlations, self.uniquenesses):
            values.setflags(write=False)


def fit_factors(
    R: FloatArray,
    n_obs: int,
    support: BoolArray,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    enough: float = -math.inf,
) -> FactorEstimate:
    """Fit a factor model with a given support to a correlation matrix, by maximum likelihood.

    Σ = ΛΦΛᵀ + Ψ with Λ zero outside the support and Φ a correlation matrix; see
    :mod:`dtstat.factors.maximum_likelihood` for the search. Items of no factor are
    independent of all others. An item that is the only one of its factor, and has no other, is
    taken as free of error (see :func:`as_estimate`). The matrix may be singular (fewer rows than
    items): no uniqueness falls below 0.001, so the likelihood stays bounded.

    Parameters
    ----------
    R
        (p, p) correlation matrix.
    n_obs
        Number n of rows behind it.
    support
        (p, d) which item loads on which factor; d may be 0.
    tolerance
        Gain in log-likelihood below which a step counts as standing still.
    max_iterations
        Most steps.
    enough
        Log-likelihood that the model must have to be of interest; the search is given up when it
        is too far for the steps left.

    Notes
    -----
    Cost: p²d per step, of which models with distinct factors need 10 to 20, others up to some
    hundreds. Nothing of size p × p is inverted. The search runs in the frame of the items
    (:mod:`dtstat.data.frame`), since where it stops depends on their order and signs.

    Examples
    --------
    >>> loadings = np.array([0.9, 0.8, -0.7, 0.6])
    >>> R = np.outer(loadings, loadings)
    >>> np.fill_diagonal(R, 1)
    >>> fit_factors(R, 100, np.ones((4, 1), dtype=bool)).loadings.ravel().round(3).tolist()
    [0.9, 0.8, -0.7, 0.6]
    """
    frame = Frame.of(R)
    framed, factors = frame.support(support)
    R = frame.matrix(R)
    found = fit_as_ordered(R, n_obs, framed, tolerance, max_iterations, enough)
    return as_given(found, frame, np.argsort(factors))


def as_given(
    estimate: FactorEstimate, frame: Frame, factors: IntArray | None = None
) -> FactorEstimate:
    """Bring an estimate in the frame of the items back to their order and signs.

    ``factors`` are the (d,) numbers that its factors have there; the same if None.
    """
    L, Phi = estimate.loadings, estimate.factor_correlations
    if factors is not None:
        L, Phi = L[:, factors], Phi[np.ix_(factors, factors)]
    L = frame.rows_as_given(L)
    turned = np.where(L.sum(axis=0) < 0, -1.0, 1.0)
    return replace(
        estimate,
        loadings=L * turned + 0.0,
        factor_correlations=Phi * np.outer(turned, turned),
        uniquenesses=estimate.uniquenesses[frame.place],
    )


def fit_as_ordered(
    R: FloatArray,
    n_obs: int,
    support: BoolArray,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    enough: float = -math.inf,
) -> FactorEstimate:
    """Fit as :func:`fit_factors` does, to items that are in their frame already."""
    p, d = support.shape
    # A factor without items changes nothing, and LAPACK refuses matrices of size 0.
    likelihood = FactorLikelihood(R, support if d else np.zeros((p, 1), dtype=bool))
    constant = p / 2 * math.log(2 * math.pi)
    found = maximize(likelihood, tolerance / n_obs, max_iterations, enough / n_obs + constant)
    L, T, log_psi = likelihood.unpack(found.theta)
    return as_estimate(
        L[:, :d],
        T[:d, :d],
        np.exp(log_psi),
        found.value,
        n_obs,
        int(support.sum()),
        found.converged,
        found.iterations,
        found.reach,
    )


def as_estimate(
    L: FloatArray,
    T: FloatArray,
    psi: FloatArray,
    value: float,
    n_obs: int,
    n_loadings: int,
    converged: bool,
    iterations: int,
    reach: float | None = None,
) -> FactorEstimate:
    """Bring factors to variance 1 and a positive sum of loadings.

    Of a factor with one item only the products λφ with other factors are determined, not λ. By
    convention the item is free of error: its uniqueness is the least there is, 0.001, its loading
    the largest, and the correlations of the factor the smallest that give the same Σ.

    ``value`` and ``reach`` are per row, less −p/2 log 2π.
    """
    p, d = L.shape
    constant = p / 2 * math.log(2 * math.pi)
    Phi = T @ T.T
    scale = np.sqrt(Phi.diagonal()) * np.where(L.sum(axis=0) < 0, -1.0, 1.0)
    Phi /= scale[:, None] * scale
    Phi.flat[:: d + 1] = 1.0
    L = L * scale + 0.0  # no -0.0 where there is no loading
    for i in np.flatnonzero(is_single(L)):
        k = int(L[i].argmax())
        largest = math.sqrt(max(L[i, k] ** 2 + psi[i] - LEAST_UNIQUENESS, L[i, k] ** 2))
        Phi[k] *= L[i, k] / largest
        Phi[:, k] *= L[i, k] / largest
        Phi[k, k], psi[i], L[i, k] = 1.0, psi[i] + L[i, k] ** 2 - largest**2, largest
    return FactorEstimate(
        loadings=L,
        factor_correlations=Phi,
        uniquenesses=psi,
        log_likelihood=n_obs * (value - constant),
        n_parameters=n_loadings + p + d * (d - 1) // 2,
        converged=converged,
        n_iterations=iterations,
        reach=None if reach is None else n_obs * (reach - constant),
    )


def is_single(loadings: FloatArray) -> BoolArray:
    """(p,) which items are the only one of their factor and have no other factor."""
    has = loadings != 0
    single: BoolArray = (has[:, has.sum(axis=0) == 1].any(axis=1)) & (has.sum(axis=1) == 1)
    return single


def heywood_items(estimate: FactorEstimate) -> BoolArray:
    """(p,) which items the factors explain without error, those left out that do by convention."""
    exact = estimate.uniquenesses <= 1.01 * LEAST_UNIQUENESS
    return exact & ~is_single(estimate.loadings)
