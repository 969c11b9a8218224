"""The parts of a simulation design (Section 6 of the paper).

A design, looked up by name, fixes how many factors there are, how they correlate and how many items
each has. Supports begin as independent clusters, from which second parents depart. Factors are
drawn from a Gaussian copula with chosen marginal distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError

# Arrows (from, to) between factors, numbered from 0 in causal order (Figure "sim_dgp").
GRAPHS: dict[str, tuple[tuple[int, int], ...]] = {
    "v_structure": ((0, 2), (1, 2)),
    "chain": ((0, 1), (1, 2), (2, 3)),
    "double_mediation": ((0, 1), (0, 2), (1, 3), (2, 3)),
}
DESIGNS = (*GRAPHS, "clusters", "high_dimensional")
SECOND_PARENTS = ("own", "shared")


@dataclass(frozen=True)
class Design:
    """What a design fixes before anything is drawn.

    Attributes
    ----------
    factor_correlations
        (d, d) matrix Φ.
    items_per_factor
        Children of each factor before second parents are added.
    """

    factor_correlations: FloatArray
    items_per_factor: int

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return len(self.factor_correlations)


def find_design(
    design: str,
    n: int,
    n_factors: int | None,
    items_per_factor: int | None,
    factor_correlation: float,
    path_coefficient: float,
) -> Design:
    """Look up a design by name and complete it with the arguments that it takes."""
    checks.choice("design", design, DESIGNS)
    phi = checks.proportion(
        "factor_correlation", factor_correlation, "The paper uses 0, 0.25 and 0.75."
    )
    if n_factors is not None and design != "clusters":
        raise _not_taken("n_factors", design, "Leave it out, or use the design 'clusters'.")
    if phi and design in GRAPHS:
        raise _not_taken("factor_correlation", design, "Its graph and `path_coefficient` set them.")
    size = items_per_factor
    if size is None:
        size = 15 if design == "high_dimensional" else 5
    size = checks.integer("items_per_factor", size, 1, "Three or more make a factor recoverable.")
    if design in GRAPHS:
        checks.size("items_per_factor", size, (n, 4 * size))
        b = checks.finite("path_coefficient", path_coefficient, "The paper uses 0.5.")
        return Design(graph_correlations(design, b), size)
    if design == "high_dimensional":
        d = max(2, int(n / 10 + 0.5))  # as in the paper; halves are rounded up
    else:
        advice = "The design 'clusters' needs it, such as `n_factors=4`."
        d = checks.integer("n_factors", n_factors, 1, advice)
    checks.size("n" if design == "high_dimensional" else "n_factors", d, (max(n, d), d * size))
    return Design(equicorrelated(d, phi), size)


def _not_taken(argument: str, design: str, advice: str) -> InputError:
    return InputError(
        f"`{argument}` cannot be set for the design '{design}', which fixes it. {advice}", argument
    )


def independent_clusters(d: int, size: int) -> BoolArray:
    """Return the (d·size, d) support in which each item has one parent, factor by factor."""
    return np.repeat(np.eye(d, dtype=bool), size, axis=0)


def without_unique_children(
    support: BoolArray, share: float, second_parent: str, rng: np.random.Generator
) -> BoolArray:
    """Take the unique children from a random ``share`` of the factors, round(share · d) of them.

    Each child of such a factor gets a second parent at random among the other factors: its own
    draw ("own"), or one draw for all children of that factor ("shared"). The factors not chosen
    keep their unique children, so Condition 1 fails for exactly the chosen ones.

    Parameters
    ----------
    support
        (p, d) independent clusters.
    """
    d = support.shape[1]
    changed = support.copy()
    for factor in rng.permutation(d)[: round(share * d)]:
        children = np.flatnonzero(support[:, factor])
        draws = len(children) if second_parent == "own" else 1
        changed[children, _other_factors(factor, d, draws, rng)] = True
    return changed


def with_cross_loadings(support: BoolArray, k: int, rng: np.random.Generator) -> BoolArray:
    """Give ``k`` unique children a second parent at random, but no factor's last unique child.

    The items are taken from the factors in turn, in random order, so that they come from
    different factors as far as possible.
    """
    d = support.shape[1]
    one_parent = support.sum(axis=1) == 1
    spare = [
        rng.permutation(np.flatnonzero(one_parent & support[:, factor]))[1:]
        for factor in rng.permutation(d)
    ]
    in_turn = [item for turn in zip_longest(*spare) for item in turn if item is not None]
    if k > len(in_turn):
        raise InputError(
            f"`cross_loadings` must be at most {len(in_turn)} here, so that no factor loses its "
            f"last unique child; got {k}. Raise `items_per_factor` or lower `violating`.",
            "cross_loadings",
        )
    changed = support.copy()
    for item in in_turn[:k]:
        changed[item, _other_factors(support[item].argmax(), d, 1, rng)] = True
    return changed


def _other_factors(
    factor: np.intp, d: int, count: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw ``count`` factors, with replacement, from the d − 1 that are not ``factor``."""
    drawn = rng.integers(d - 1, size=count)
    return drawn + (drawn >= factor)


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
    T = np.linalg.inv(np.eye(len(B)) - np.clip(B, -1, 1))
    psi = np.linalg.solve(T**2, np.ones(len(B)))
    psi[(np.abs(B) > 1).any(axis=1)] = -1.0  # one such path alone makes a factor vary more
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
    return MARGINALS[distribution](draw_normal(n, Phi, rng))


def draw_normal(n: int, Phi: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(n, d) normal rows with means 0, variances 1 and the (d, d) correlations ``Phi``."""
    Y: FloatArray = rng.standard_normal((n, len(Phi))) @ np.linalg.cholesky(Phi).T
    return Y


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
