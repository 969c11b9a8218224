"""What an estimator is: a discrepancy between a sample and a model, over all groups.

An estimator fits the model's moments to statistics of the sample, one block of them per group. All
it must know is in the protocol :class:`Discrepancy`; the search, the constraints and the results
(:mod:`dtstat.sem.estimate`) ask for nothing else, and not for the name of an estimator. The normal
likelihood (:class:`dtstat.sem.likelihood.NormalLikelihood`: ml, mlr, fiml) is one implementation.

Least squares (:class:`dtstat.sem.least_squares.LeastSquares`) is another. A block then has
statistics s (thresholds, means, slopes on covariates, variances, covariances), their asymptotic
covariance Γ and a weight matrix W, which is diagonal (dwls), the identity (uls) or full (wls); with
the model's σ(θ), Δ = ∂σ/∂θ and shares w of the rows,

    objective    ½ Σ w (s − σ)ᵀ W (s − σ),     gradient −Σ w Δᵀ W (s − σ)
    information  Σ w Δᵀ W Δ =: E
    covariance   H (Hᵀ E H)⁻¹ Hᵀ [Σ w Δᵀ W Γ W Δ] H (Hᵀ E H)⁻¹ Hᵀ / n
    test         n · 2 · objective, scaled by tr(UΓ) and tr((UΓ)²)

with H the directions that the constraints leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError
from dtstat.core.fit_indices import Test
from dtstat.core.saved import register
from dtstat.sem.matrices import Layout
from dtstat.sem.ordinal_moments import OrdinalMoments
from dtstat.sem.parameters import Model
from dtstat.sem.rows import Sample, complete_sample

Estimator = Literal[
    "ml", "mlr", "fiml", "mlm", "mlmv", "mlmvs", "mlf", "gls", "uls", "ulsm", "ulsmv", "ulsmvs",
    "wls", "dwls", "wlsm", "wlsmv", "wlsmvs",
]  # fmt: skip
Errors = Literal["standard", "sandwich", "robust.sem", "twostep", "none"]
Info = Literal["expected", "observed", "first.order"]
TestName = Literal[
    "standard", "yuan.bentler.mplus", "satorra.bentler", "mean.var.adjusted", "scaled.shifted"
]


@register()
@dataclass(frozen=True)
class Procedure:
    """How estimates, standard errors and tests were computed.

    Attributes
    ----------
    estimator
        Name of the estimator, as "ml" or "mlr".
    errors
        Standard errors: "standard", "sandwich" (of the likelihood), "robust.sem" (from Γ, the
        covariance of the sample's moments), "twostep" (SAM) or "none".
    information
        "expected", "observed" or "first.order" (mean squares of the rows' scores).
    test
        lavaan's name of the test reported first.
    likelihood
        Whether there is a likelihood; without one chi-square is n − 1 times a least-squares
        discrepancy.
    """

    estimator: Estimator
    errors: Errors
    information: Info
    test: TestName
    likelihood: bool = True

    @property
    def robust(self) -> bool:
        """Whether the test does not need normal answers."""
        return self.test != "standard"

    @property
    def uses_scores(self) -> bool:
        """Whether errors or test rest on the scores of single rows."""
        return (
            self.errors == "sandwich"
            or self.information == "first.order"
            or self.test == "yuan.bentler.mplus"
        )

    @property
    def uses_gamma(self) -> bool:
        """Whether errors or test rest on the covariance of the sample's moments."""
        adjusted = self.test not in ("standard", "yuan.bentler.mplus")
        return self.errors == "robust.sem" or adjusted


PROCEDURES = {
    "ml": Procedure("ml", "standard", "expected", "standard"),
    "mlr": Procedure("mlr", "sandwich", "observed", "yuan.bentler.mplus"),
    "fiml": Procedure("fiml", "standard", "observed", "standard"),
    "mlm": Procedure("mlm", "robust.sem", "expected", "satorra.bentler"),
    "mlmv": Procedure("mlmv", "robust.sem", "expected", "scaled.shifted"),
    "mlmvs": Procedure("mlmvs", "robust.sem", "expected", "mean.var.adjusted"),
    "mlf": Procedure("mlf", "standard", "first.order", "standard"),
    "gls": Procedure("gls", "standard", "expected", "standard", False),
    "wls": Procedure("wls", "standard", "expected", "standard", False),
    "uls": Procedure("uls", "robust.sem", "expected", "satorra.bentler", False),
}

# Of ordered items, with continuous ones among them or not.
ORDERED_PROCEDURES = {
    "wlsmv": Procedure("wlsmv", "robust.sem", "expected", "scaled.shifted", False),
    "wlsm": Procedure("wlsm", "robust.sem", "expected", "satorra.bentler", False),
    "wls": Procedure("wls", "standard", "expected", "standard", False),
    "dwls": Procedure("dwls", "standard", "expected", "standard", False),
    "ulsmv": Procedure("ulsmv", "robust.sem", "expected", "scaled.shifted", False),
    "ulsm": Procedure("ulsm", "robust.sem", "expected", "satorra.bentler", False),
    "uls": Procedure("uls", "standard", "expected", "standard", False),
}


@register(
    shapes={"Sigma": "pp", "mu": "p", "S": "pp", "mean": "p"},
    rules={
        "items were observed": lambda one: one.gaps is None or one.gaps.n_items == len(one.S),
        "rows were counted": lambda one: one.n_obs > 0,
    },
)
@dataclass(frozen=True)
class Block:
    """One group: its moments, as the model implies them and as they were found.

    Attributes
    ----------
    Sigma, mu
        Implied moments.
    S, mean
        Moments of the saturated model: those of the sample, or by EM with gaps. If some pairs of
        items are never answered together, those of the rows that each pair has in common.
    n_obs, n_given, n_patterns
        Rows used, rows given, and patterns of missing values.
    gaps
        Sufficient statistics of the rows, where they are more than S and mean.
    weight
        Sum of the weights of the rows, if they have any.
    ordinal
        What least squares fits the model to; S and Sigma are then those of the variables behind
        the items, on the scale on which they have variance 1 given the observed predictors.
    """

    Sigma: FloatArray
    mu: FloatArray
    S: FloatArray
    mean: FloatArray
    n_obs: int
    n_given: int
    n_patterns: int = 1
    gaps: Sample | None = None
    weight: float | None = None
    ordinal: OrdinalMoments | None = None

    @property
    def size(self) -> float:
        """Rows used, or the sum of their weights."""
        return self.n_obs if self.weight is None else self.weight

    def sample(self, means: bool) -> Sample:
        """Return the sufficient statistics of the rows."""
        return self.gaps or complete_sample(self.S, self.mean if means else None, self.size)


class Discrepancy(Protocol):
    """How far a model is from a sample, and what follows for its estimates.

    ``theta`` (q,) are the free parameters of all groups, ``space`` (q, r) the directions that
    constraints leave open.

    Attributes
    ----------
    model
        The model, with the moments of observed predictors filled in.
    procedure
        How it is fitted.
    layouts
        Where the parameters sit, in each group.
    n_obs, n_moments
        Rows of all groups (the sum of their weights), and statistics that the model explains.
    """

    model: Model
    procedure: Procedure
    layouts: tuple[Layout, ...]
    n_obs: float
    n_moments: int

    def starting_moments(self) -> Sequence[tuple[FloatArray, ...]]:
        """Covariances, means (and thresholds) of each group, to guess starting values from."""
        ...

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Half the discrepancy per row, and its gradient."""
        ...

    def information(self, theta: FloatArray) -> FloatArray:
        """(q, q) expected second derivative of the objective."""
        ...

    def covariance(self, theta: FloatArray, space: FloatArray) -> FloatArray:
        """(q, q) covariance of the estimates."""
        ...

    def test(self, theta: FloatArray, df: int, space: FloatArray) -> Test:
        """Test the model against the saturated one."""
        ...

    def baseline(self) -> Test:
        """Test independent items against the saturated model."""
        ...

    def corrected(
        self, theta: FloatArray, test: Test, baseline: Test, space: FloatArray
    ) -> tuple[Test | None, Test | None]:
        """Find the tests that robust CFI, TLI and RMSEA rest on; None if not known."""
        ...

    def log_likelihoods(self, theta: FloatArray) -> tuple[float | None, float | None]:
        """Log-likelihoods of the model and of the saturated one; None without a likelihood."""
        ...

    def blocks(self, theta: FloatArray) -> tuple[Block, ...]:
        """Moments of each group."""
        ...


def inverse_within(information: FloatArray, space: FloatArray) -> FloatArray:
    """H (Hᵀ I H)⁻¹ Hᵀ, the inverse information along the directions H that are left open."""
    if space.shape[1] == len(space):
        return inverse(information)
    return np.asarray(space @ inverse(space.T @ information @ space) @ space.T, dtype=np.float64)


def inverse(information: FloatArray) -> FloatArray:
    """Inverse of an information matrix.

    Raises
    ------
    EstimationError
        If it has none.
    """
    try:
        return np.asarray(np.linalg.inv(information), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise EstimationError(
            "The information matrix is singular, so there are no standard errors: parameters "
            "cannot be told apart, or covariances are too large or too small to be inverted. Fix "
            "parameters, or measure the items in other units."
        ) from None
