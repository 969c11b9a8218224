"""The matrices of a model as functions of its free parameters, with derivatives.

Every parameter changes Σ by a matrix of rank two, ∂Σ/∂θ_a = u_a v_aᵀ + v_a u_aᵀ. With the columns
u_a, v_a in U, V, gradients and information need only products of p × q matrices:

    tr(G ∂Σ/∂θ_a) = 2 u_aᵀ G v_a
    tr(W ∂Σ/∂θ_a W ∂Σ/∂θ_b) = 2 [(UᵀWU)∘(VᵀWV) + (UᵀWV)∘(VᵀWU)]_ab

An ordered item shows in which interval a normal variable y* lies. Neither its mean nor its variance
can be seen, so one of two conventions fixes its scale. With v the variance of y* given the observed
predictors, and δ the factor that brings y* to the scale on which thresholds and correlations are
estimated,

    delta    δ is a parameter (1, unless groups differ): the residual variance follows from
             δ² v = 1;
    theta    the residual variance is a parameter (1, unless groups differ): δ = 1 / √v

(Muthén & Asparouhov 2002). The residual variance of an item is its entry of Θ or, if it takes part
in regressions and so is an η, of Ψ.

References
----------
Muthén, B. & Asparouhov, T. (2002). Latent variable analysis with categorical outcomes:
Multiple-group and growth modeling in Mplus. Mplus Web Notes 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import EstimationError
from dtstat.sem.parameters import Model

_NAMES = ("lambda", "theta", "psi", "beta", "nu", "alpha", "tau", "delta")


@dataclass(frozen=True)
class Matrices:
    """The model's matrices at some parameter values; shapes (p, m), (p, p), (m, m), ..."""

    Lambda: FloatArray
    Theta: FloatArray
    Psi: FloatArray
    Beta: FloatArray
    nu: FloatArray
    alpha: FloatArray
    tau: FloatArray  # (p, cuts) thresholds of ordered items
    delta: FloatArray  # (p,) scales of the variables behind them

    @cached_property
    def total_effects(self) -> FloatArray:
        """(I − B)⁻¹, the effects of the disturbances of η on η."""
        unit = np.eye(len(self.Beta))
        return np.asarray(np.linalg.inv(unit - self.Beta)) if self.Beta.any() else unit

    @cached_property
    def eta_covariance(self) -> FloatArray:
        """(I − B)⁻¹ Ψ (I − B)⁻ᵀ."""
        return np.asarray(self.total_effects @ self.Psi @ self.total_effects.T)


@dataclass(frozen=True)
class Implied:
    """What a model implies at some parameter values: moments and their derivatives."""

    Sigma: FloatArray  # (p, p)
    mu: FloatArray  # (p,)
    U: FloatArray  # (p, slots) factors of the derivatives of Sigma
    V: FloatArray
    dmu: FloatArray  # (p, slots)

    @cached_property
    def inverse(self) -> tuple[FloatArray, float]:
        """Σ⁻¹ and log|Σ|."""
        return inverse(self.Sigma)


class NotPositiveDefiniteError(EstimationError, ArithmeticError):
    """A covariance matrix, as the implied one at some parameter values, is not positive definite.

    A search for the estimates steps back from it; outside a search its message reaches the user.
    """

    def __init__(self) -> None:
        super().__init__(
            "A covariance matrix of the model is not positive definite, so that this cannot be "
            "computed. Look at the variances in `parameters`, or fit the model again."
        )


def inverse(Sigma: FloatArray) -> tuple[FloatArray, float]:
    """Σ⁻¹ and log|Σ| by Cholesky, scaled to variances near 1 so that units do not matter."""
    from scipy.linalg.lapack import dpotrf, dpotri

    unit = np.ldexp(1.0, np.frexp(Sigma.diagonal())[1] // 2)  # powers of two cost no digits
    scale = unit[:, None] * unit
    L, failed = dpotrf(Sigma / scale, lower=1)
    if failed:
        raise NotPositiveDefiniteError
    logdet = 2.0 * float(np.log(L.diagonal() * unit).sum())
    if not math.isfinite(logdet):  # LAPACK may factor NaN without complaint
        raise NotPositiveDefiniteError
    W, _ = dpotri(L, lower=1)  # the lower half of the inverse, zeros above
    W = W + W.T
    W.flat[:: len(W) + 1] /= 2
    W /= scale
    return W, logdet


class Layout:
    """Where the entries of a model go; computed once, used at every step.

    Derivatives are stacked in slots, one for each free entry of a matrix; parameters that are set
    equal share several slots, which :meth:`collect` adds up. The model of one group among several
    has some of the ``n_free`` parameters of all of them.
    """

    def __init__(self, model: Model, n_free: int | None = None) -> None:
        self.model = model
        q = model.n_free if n_free is None else n_free
        self.free = np.array([parameter.free for parameter in model.parameters])
        self._fixed = self._fixed_matrices()
        self._blocks = {name: self._block(name) for name in _NAMES}
        ends = np.cumsum([len(numbers) for _, _, numbers in self._blocks.values()]).tolist()
        self._slots = {n: slice(a, b) for n, a, b in zip(_NAMES, [0, *ends], ends, strict=False)}
        owner = np.concatenate([numbers for _, _, numbers in self._blocks.values()])
        self._distinct = np.array_equal(owner, np.arange(q))
        self._select = np.zeros((len(owner), q))
        self._select[np.arange(len(owner)), owner] = 1.0
        self.responses = Responses.of(model) if model.ordered else None
        self._U, self._V = self._constant_factors()
        self._dmu = np.zeros_like(self._U)  # constant derivatives of μ
        self._dmu[self._blocks["nu"][0], np.arange(len(owner))[self._slots["nu"]]] = 1.0
        self._halves = np.where(self._blocks["psi"][0] == self._blocks["psi"][1], 0.5, 1.0)
        # objective and information are asked for at the same values, one after the other
        self._last: tuple[FloatArray, Implied] | None = None

    def _fixed_matrices(self) -> dict[str, FloatArray]:
        """Fill in what is not free; the other entries are 0."""
        p, m = len(self.model.observed), len(self.model.eta)
        cuts = max((t + 1 for name, _, t in self.model.places if name == "tau"), default=0)
        shapes = ((p, m), (p, p), (m, m), (m, m), (p, 1), (m, 1), (p, cuts), (p, 1))
        matrices = {name: np.zeros(shape) for name, shape in zip(_NAMES, shapes, strict=True)}
        matrices["delta"] += 1.0
        for k, name in enumerate(self.model.eta):
            if name in self.model.observed:
                matrices["lambda"][self.model.observed.index(name), k] = 1.0
        for parameter, (matrix, i, j) in zip(self.model.parameters, self.model.places, strict=True):
            if not parameter.free and parameter.value is not None:
                matrices[matrix][i, j] = parameter.value
                if matrix in ("theta", "psi"):
                    matrices[matrix][j, i] = parameter.value
        return matrices

    def _block(self, name: str) -> tuple[IntArray, IntArray, IntArray]:
        """Rows, columns and free numbers (from 0) of the free entries of one matrix."""
        entries = [
            (row, column, parameter.free - 1)
            for parameter, (matrix, row, column) in zip(
                self.model.parameters, self.model.places, strict=True
            )
            if matrix == name and parameter.free
        ]
        rows, columns, numbers = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        return rows, columns, numbers

    def _constant_factors(self) -> tuple[FloatArray, FloatArray]:
        """Fill the columns of U and V that do not depend on the parameters; zero elsewhere."""
        unit = np.eye(len(self.model.observed))
        U, V = np.zeros((2, len(unit), len(self._select)))
        (li, _, _), (ti, tj, _) = self._blocks["lambda"], self._blocks["theta"]
        U[:, self._slots["lambda"]] = unit[:, li]
        U[:, self._slots["theta"]] = unit[:, ti]
        V[:, self._slots["theta"]] = unit[:, tj] * np.where(ti == tj, 0.5, 1.0)
        return U, V

    def matrices(self, theta: FloatArray) -> Matrices:
        """Fill the matrices with parameter values."""
        filled = {}
        for name in _NAMES:
            rows, columns, numbers = self._blocks[name]
            matrix = self._fixed[name]
            if len(numbers):
                matrix = matrix.copy()
                matrix[rows, columns] = theta[numbers]
                if name in ("theta", "psi"):
                    matrix[columns, rows] = theta[numbers]
            filled[name] = matrix
        Lambda, Theta, Psi, Beta, nu, alpha, tau, delta = filled.values()
        M = Matrices(Lambda, Theta, Psi, Beta, nu[:, 0], alpha[:, 0], tau, delta[:, 0])
        return M if self.responses is None else self.responses.complete(M)

    def implied(self, theta: FloatArray) -> Implied:
        """Moments and the factors of their derivatives; the last ones asked for are kept."""
        if self._last is None or not np.array_equal(self._last[0], theta):
            self._last = (theta.copy(), self.implied_by(self.matrices(theta)))
        return self._last[1]

    def implied_by(self, M: Matrices) -> Implied:
        """Moments that matrices imply, and the factors of their derivatives."""
        K = M.total_effects if M.Beta.any() else None
        T = M.Lambda if K is None else M.Lambda @ K  # effects of η's disturbances on the items
        C = T @ M.Psi if K is None else T @ M.Psi @ K.T
        Sigma = C @ M.Lambda.T + M.Theta
        U, V = self._U.copy(), self._V.copy()
        (_, lk, _), (si, sj, _), (bi, bj, _) = (self._blocks[n] for n in ("lambda", "psi", "beta"))
        V[:, self._slots["lambda"]] = C[:, lk]
        U[:, self._slots["psi"]] = T[:, si]
        V[:, self._slots["psi"]] = T[:, sj] * self._halves
        if len(bi):
            U[:, self._slots["beta"]] = T[:, bi]
            V[:, self._slots["beta"]] = C[:, bj]
        dmu = self._mean_derivatives(M) if self.model.mean_structure else self._dmu
        return Implied((Sigma + Sigma.T) / 2, M.nu + T @ M.alpha, U, V, dmu)

    def effect_derivatives(self, M: Matrices, k: int) -> FloatArray:
        """(p, slots) derivatives of T_k, the effects of η_k on the items: of μ for α = e_k."""
        unit = np.eye(len(M.alpha))[k]
        return self._mean_derivatives(replace(M, nu=0 * M.nu, alpha=unit), constants=False)

    def _mean_derivatives(self, M: Matrices, constants: bool = True) -> FloatArray:
        """(p, slots) derivatives of μ = ν + T α; without ``constants`` ν and α are given."""
        K = M.total_effects
        T, eta_means = M.Lambda @ K, K @ M.alpha
        dmu = self._dmu.copy() if constants else np.zeros_like(self._U)
        li, lk, _ = self._blocks["lambda"]
        bi, bj, _ = self._blocks["beta"]
        start = self._slots["lambda"].start
        dmu[li, start + np.arange(len(li))] = eta_means[lk]
        dmu[:, self._slots["beta"]] = T[:, bi] * eta_means[bj]
        if constants:
            dmu[:, self._slots["alpha"]] = T[:, self._blocks["alpha"][0]]
        return dmu

    def entries(self, name: str) -> tuple[IntArray, IntArray, slice]:
        """Rows and columns of the free entries of a matrix, and their slots."""
        rows, columns, _ = self._blocks[name]
        return rows, columns, self._slots[name]

    @property
    def n_slots(self) -> int:
        """Number of free entries of all matrices."""
        return len(self._select)

    def collect(self, slots: FloatArray) -> FloatArray:
        """Add up what belongs to the same free parameter, along the last axis."""
        if self._distinct:
            return slots
        collected: FloatArray = slots @ self._select
        return collected

    def collect_square(self, slots: FloatArray) -> FloatArray:
        """Add up both axes of a slots × slots matrix."""
        if self._distinct:
            return slots
        collected: FloatArray = self._select.T @ slots @ self._select
        return collected


def covariance_information(implied: Implied, W: FloatArray) -> FloatArray:
    """(q, q) ½ tr(W ∂Σ/∂θ_a W ∂Σ/∂θ_b) over the slots."""
    WU, WV = W @ implied.U, W @ implied.V
    cross = implied.U.T @ WV
    information: FloatArray = (implied.U.T @ WU) * (implied.V.T @ WV) + cross * cross.T
    return information


def covariance_gradient(implied: Implied, G: FloatArray) -> FloatArray:
    """(q,) tr(G ∂Σ/∂θ_a) over the slots, G symmetric."""
    gradient: FloatArray = 2.0 * np.einsum("ia,ia->a", implied.U, G @ implied.V)
    return gradient


@dataclass(frozen=True)
class Responses:
    """Where the variables behind ordered items are in the matrices of a model.

    Attributes
    ----------
    items
        Positions of the ordered items among the observed variables.
    regressed, eta
        Those of them that are η, and which η they are.
    given
        Which η are observed predictors.
    delta
        Whether scales are parameters and residual variances follow; else it is the other way round.
    """

    items: IntArray
    regressed: IntArray
    eta: IntArray
    given: IntArray
    delta: bool

    @classmethod
    def of(cls, model: Model) -> Responses:
        """Find the ordered items of a model."""
        items = [k for k, name in enumerate(model.observed) if name in model.ordered]
        regressed = [k for k in items if model.observed[k] in model.eta]
        eta = [model.eta.index(model.observed[k]) for k in regressed]
        given = [model.eta.index(name) for name in model.covariates]
        where = [np.array(one, dtype=np.int64) for one in (items, regressed, eta, given)]
        return cls(where[0], where[1], where[2], where[3], model.parameterization == "delta")

    def conditional(self, M: Matrices) -> Matrices:
        """Return the matrices given the observed predictors, which then have no moments."""
        if not len(self.given):
            return M
        Psi, alpha = M.Psi.copy(), M.alpha.copy()
        Psi[self.given], Psi[:, self.given], alpha[self.given] = 0.0, 0.0, 0.0
        return replace(M, Psi=Psi, alpha=alpha)

    def complete(self, M: Matrices) -> Matrices:
        """Fill in what follows: residual variances, or scales.

        Residual variances r of ordered items solve v = 1 / δ², which is linear: an item's own adds
        to its variance, that of an ordered η k adds T_ik² r_k to the variance of item i, where T
        are the effects of the disturbances of η on the items.
        """
        Theta, Psi = M.Theta.copy(), M.Psi.copy()
        if self.delta:
            Theta[self.items, self.items] = 0.0
            Psi[self.eta, self.eta] = 0.0
        filled = replace(M, Theta=Theta, Psi=Psi)
        T = M.Lambda if not M.Beta.any() else M.Lambda @ M.total_effects
        inner = self.conditional(filled).Psi
        variance = np.einsum("ij,jk,ik->i", T, inner, T) + np.diag(Theta)
        if not self.delta:
            delta = M.delta.copy()
            with np.errstate(invalid="ignore", divide="ignore"):
                delta[self.items] = 1.0 / np.sqrt(variance[self.items])
            return replace(filled, delta=delta)
        rest = np.zeros(len(T))
        rest[self.items] = M.delta[self.items] ** -2.0 - variance[self.items]
        if len(self.eta):
            share = T[np.ix_(self.regressed, self.eta)] ** 2
            Psi[self.eta, self.eta] = np.linalg.solve(share, rest[self.regressed])
            rest -= T[:, self.eta] ** 2 @ Psi[self.eta, self.eta]
            rest[self.regressed] = 0.0
        Theta[self.items, self.items] = rest[self.items]
        return filled
