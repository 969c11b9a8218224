"""Latent factors: their correlations, and draws with chosen marginal distributions (Section 6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.errors import InputError

# Arrows (from, to) between factors, numbered from 0 in causal order (Figure "sim_dgp").
GRAPHS: dict[str, tuple[tuple[int, int], ...]] = {
    "v_structure": ((0, 2), (1, 2)),
    "chain": ((0, 1), (1, 2), (2, 3)),
    "double_mediation": ((0, 1), (0, 2), (1, 3), (2, 3)),
}


def graph_correlations(graph: str, coefficient: float) -> FloatArray:
    """Return the (d, d) correlations of a graph of ``GRAPHS`` with equal path coefficients."""
    d = 1 + max(head for _, head in GRAPHS[graph])
    B = np.zeros((d, d))
    for tail, head in GRAPHS[graph]:
        B[head, tail] = coefficient
    return path_correlations(B)


def path_correlations(B: FloatArray) -> FloatArray:
    """Return the correlations of a linear path model whose variables all have variance 1.

    Z = B Z + ζ with independent ζ of variances Ψ, so with T = (I − B)⁻¹,

        Φ = T Ψ Tᵀ,    where Ψ solves  1 = Φ_jj = Σ_k T_jk² Ψ_k.

    Parameters
    ----------
    B
        (d, d) path coefficients, ``B[j, k]`` from k to j, strictly lower triangular.

    Raises
    ------
    InputError
        If the coefficients are so large that some variable would exceed variance 1.
    """
    T = np.linalg.inv(np.eye(len(B)) - B)
    psi = np.linalg.solve(T**2, np.ones(len(B)))
    if (psi <= 0).any():
        raise InputError(
            f"`path_coefficient` must be small enough for factors of variance 1; got "
            f"{B[B != 0][0]:g}, which makes factor {np.flatnonzero(psi <= 0)[0] + 1} vary more "
            "than that. The paper uses 0.5.",
            "path_coefficient",
        )
    Phi: FloatArray = T * psi @ T.T
    return Phi


def equicorrelated(d: int, phi: float) -> FloatArray:
    """Return the (d, d) matrix with ones on the diagonal and ``phi`` everywhere else."""
    return np.full((d, d), phi) + (1 - phi) * np.eye(d)


def draw_latents(
    n: int, Phi: FloatArray, distribution: str, rng: np.random.Generator
) -> FloatArray:
    """Draw n observations of d factors with mean 0 and variance 1.

    Gaussian vectors with correlations ``Phi`` are drawn and each variable is then carried to the
    wanted marginal distribution of ``MARGINALS`` (a Gaussian copula). ``Phi`` is therefore the
    exact population correlation for "gaussian"; for the others it is the correlation of the
    copula, and the factors' own correlations are somewhat weaker.
    """
    Y = rng.standard_normal((n, len(Phi))) @ np.linalg.cholesky(Phi).T
    return MARGINALS[distribution](Y)


def _t5(y: FloatArray) -> FloatArray:
    """Student's t with 5 degrees of freedom; by the lower tail, where Φ(y) keeps its digits."""
    from scipy.special import ndtr, stdtrit

    z: FloatArray = -np.sign(y) * stdtrit(5, ndtr(-np.abs(y))) / np.sqrt(5 / 3)
    return z


def _exponential(y: FloatArray) -> FloatArray:
    """Exponential less its mean (skewness 2): F⁻¹(Φ(y)) = −log Φ(−y)."""
    from scipy.special import log_ndtr

    z: FloatArray = -log_ndtr(-y) - 1
    return z


def _uniform(y: FloatArray) -> FloatArray:
    """Uniform on ±√3."""
    from scipy.special import ndtr

    z: FloatArray = np.sqrt(12) * (ndtr(y) - 0.5)
    return z


def _bimodal(y: FloatArray) -> FloatArray:
    """Even mixture of N(−0.9, 0.19) and N(0.9, 0.19), by interpolation of its quantiles."""
    from scipy.special import ndtr, ndtri

    mode, sd = 0.9, np.sqrt(1 - 0.9**2)
    x = np.linspace(-4, 4, 4001)
    cdf = (ndtr((x - mode) / sd) + ndtr((x + mode) / sd)) / 2
    return np.interp(y, ndtri(cdf), x)


MARGINALS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "gaussian": lambda y: y,
    "t5": _t5,
    "skewed": _exponential,
    "uniform": _uniform,
    "bimodal": _bimodal,
}
