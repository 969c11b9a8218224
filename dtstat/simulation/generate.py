"""Simulated survey data whose structure is known (Section 6 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.checks import Seed, seed_number, streams
from dtstat.core.errors import InputError
from dtstat.core.tables import Printed
from dtstat.simulation.designs import (
    MARGINALS,
    SECOND_PARENTS,
    draw_latents,
    find_design,
    independent_clusters,
    with_cross_loadings,
    without_unique_children,
)
from dtstat.simulation.maps import MapsArgument, additive_signal, assign_maps, find_map_set
from dtstat.structure.structure import Structure


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Printed):
    """Simulated data together with the truth behind them.

    Attributes
    ----------
    data
        n rows, items x1 ... xp.
    latents
        (n, d) factor values Z.
    structure
        The true structure, factors Z1 ... Zd.
    factor_correlations
        (d, d) population correlations Φ (of the copula, if the factors are not Gaussian).
    maps
        One row per item–parent pair: item, factor, map (a name such as "g3").
    noise_variances
        (p,) variances Ω of the noise.
    design
        Name of the design.
    seed
        Whole number from which the same call gives the same simulation again.
    """

    data: pd.DataFrame
    latents: FloatArray
    structure: Structure
    factor_correlations: FloatArray
    maps: pd.DataFrame
    noise_variances: FloatArray
    design: str
    seed: int

    def __repr__(self) -> str:
        n, p = self.data.shape
        return (
            f"Simulation: {self.design}, n = {n}, {p} items, "
            f"{self.structure.n_factors} factors, seed {self.seed}"
        )


def simulate(
    design: str = "v_structure",
    n: int = 5000,
    *,
    maps: MapsArgument = "paper",
    snr: float = 4.0,
    items_per_factor: int | None = None,
    n_factors: int | None = None,
    factor_correlation: float = 0.0,
    path_coefficient: float = 0.5,
    violating: float = 0.0,
    second_parent: str = "own",
    cross_loadings: int = 0,
    latent: str = "gaussian",
    levels: int | None = None,
    seed: Seed = None,
) -> Simulation:
    """Draw data from a nonlinear factor model with additive noise.

    Use it to see what a method recovers when the truth is known, to plan a study, or to repeat
    the paper's simulations. Item i is (Section 6 and Appendix B)

        X_i = Σ_{j ∈ pa(X_i)} g_k(Z_j) + ε_i,    ε_i ~ N(0, Ω_i),

    where k moves on by one at each use of a map and Ω_i is the variance of the sum in the drawn
    sample (divisor n) over ``snr``.

    Parameters
    ----------
    design
        "v_structure" (Z1 → Z3 ← Z2), "chain" (Z1 → Z2 → Z3 → Z4) and "double_mediation"
        (Z1 → Z2 → Z4, Z1 → Z3 → Z4) are the paper's first simulation. "clusters" has
        ``n_factors`` factors that all correlate at ``factor_correlation``. "high_dimensional" is
        the paper's second simulation: as "clusters", with d = 0.1 n factors (rounded, halves
        up, at least 2) and 15 items each, so p = 1.5 n when 10 divides n.
    n
        Number of observations.
    maps
        "paper" (the ten of Appendix B in turn), "linear", "non_monotone" (z², |z|, cos 1.5z,
        exp −z² in turn) or "one_in_five" (the paper's, but every fifth item of a factor gets z²
        or |z| alternately, which rank correlations cannot see). Or one map or a list of maps
        to cycle through, each a name (``dtstat.simulation.maps.MAPS``) or a function of an array.
    snr
        Signal-to-noise ratio: variance of the signal over variance of the noise.
    items_per_factor
        Children of each factor; 5 if omitted, 15 in "high_dimensional".
    n_factors
        Number of factors, for "clusters" only.
    factor_correlation
        Correlation of every two factors in "clusters" and "high_dimensional".
    path_coefficient
        Coefficient of each arrow in the three graphs; the factors keep variance 1.
    violating
        Share of the factors, rounded to a whole number of them, that have no unique child
        (Condition 1 fails) because each of their children has a second parent.
    second_parent
        "own": each of those children draws its own second parent; "shared": all children of a
        factor have the same.
    cross_loadings
        Number of further items with a second parent; every other factor keeps a unique child.
    latent
        Distribution of each factor: "gaussian", "t5", "skewed" (exponential), "uniform" or
        "bimodal", with mean 0 and variance 1. If not Gaussian, the correlations are those of
        the Gaussian copula.
    levels
        Cut each item into this many ordered answers 1, 2, ...; the cut points divide the range
        between its 2.5 % and 97.5 % quantiles evenly, so the middle answers are more frequent.
        Each item shows at least the lowest and the highest answer.
    seed
        Whole number, numpy Generator or SeedSequence, or None. Structure, factors and noise
        have separate streams: another ``snr`` leaves the factors as they were.

    Returns
    -------
    Simulation

    Raises
    ------
    InputError
        If an argument is out of range or unknown, or not for this design.

    Notes
    -----
    Cost: proportional to n (p + d²).

    Examples
    --------
    >>> from dtstat import simulate
    >>> sim = simulate("chain", n=200, seed=1)
    >>> sim
    Simulation: chain, n = 200, 20 items, 4 factors, seed 1
    >>> sim.structure.children("Z2")
    ('x6', 'x7', 'x8', 'x9', 'x10')
    >>> sim.maps.head(2)
      item factor map
    0   x1     Z1  g1
    1   x2     Z1  g2
    """
    n = checks.integer("n", n, 2, "Use at least two observations; the paper uses 5000.")
    snr = checks.positive("snr", snr, "The paper uses 4.")
    checks.choice("latent", latent, MARGINALS)
    if levels is not None:
        levels = checks.integer("levels", levels, 2, "Use 5 for a five-point answer scale.")
    seed = seed_number(seed)
    for_structure, for_latents, for_noise = streams(seed, 3)

    fixed = find_design(
        design, n, n_factors, items_per_factor, factor_correlation, path_coefficient
    )
    A = independent_clusters(fixed.n_factors, fixed.items_per_factor)
    A = _with_second_parents(A, violating, second_parent, cross_loadings, for_structure)
    edges = assign_maps(A, find_map_set(maps))
    Z = draw_latents(n, fixed.factor_correlations, latent, for_latents)
    signal = additive_signal(Z, edges, len(A))
    Omega = _noise_variances(signal, snr)
    X = signal + np.sqrt(Omega) * for_noise.standard_normal(signal.shape)

    structure = Structure(A, factor_names=[f"Z{j + 1}" for j in range(fixed.n_factors)])
    return Simulation(
        data=pd.DataFrame(
            X if levels is None else _answers(X, levels), columns=list(structure.item_names)
        ),
        latents=Z,
        structure=structure,
        factor_correlations=fixed.factor_correlations,
        maps=pd.DataFrame(
            [(structure.item_names[i], structure.factor_names[j], g.name) for i, j, g in edges],
            columns=["item", "factor", "map"],
        ),
        noise_variances=Omega,
        design=design,
        seed=seed,
    )


def _with_second_parents(
    A: BoolArray,
    violating: float,
    second_parent: str,
    cross_loadings: int,
    rng: np.random.Generator,
) -> BoolArray:
    """Add the parents that ``violating`` and ``cross_loadings`` ask for."""
    share = checks.proportion("violating", violating, "The paper uses 0, 0.2 and 0.4.")
    checks.choice("second_parent", second_parent, SECOND_PARENTS)
    k = checks.integer("cross_loadings", cross_loadings, 0, "Give the number of items.")
    if A.shape[1] == 1 and (share or k):
        raise InputError(
            "`violating` and `cross_loadings` need a second factor; got `n_factors` = 1. "
            "Raise `n_factors`.",
            "n_factors",
        )
    A = without_unique_children(A, share, second_parent, rng)
    return with_cross_loadings(A, k, rng)


def _noise_variances(signal: FloatArray, snr: float) -> FloatArray:
    """Return Ω_i = Var(signal_i) / snr, with the variance in this sample."""
    variances: FloatArray = signal.var(axis=0)
    if not variances.all():
        item = np.flatnonzero(variances == 0)[0] + 1
        raise InputError(
            f"`maps` must be functions that vary with the factor; item x{item} came out "
            "constant. Look at the map it uses.",
            "maps",
        )
    with np.errstate(over="ignore"):
        noise = variances / snr
    if not np.isfinite(noise).all():
        raise checks.refusal("snr", "large enough for a finite noise", snr, "The paper uses 4.")
    return noise


def _answers(X: FloatArray, levels: int) -> npt.NDArray[np.int64]:
    """Cut each column into 1 ... ``levels`` at even steps between its 2.5 % and 97.5 % quantiles.

    The cut points lie strictly between the smallest and the largest value of the column, so
    the answers 1 and ``levels`` both occur.
    """
    low, high = np.quantile(X, [0.025, 0.975], axis=0)
    steps: FloatArray = np.floor(levels * (X - low) / (high - low))
    return 1 + steps.clip(0, levels - 1).astype(np.int64)
