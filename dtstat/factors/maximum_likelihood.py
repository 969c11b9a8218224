"""The search for the maximum likelihood of a factor model with a given support.

    Σ = Λ Φ Λᵀ + Ψ,   Λ zero outside the support, Φ = T Tᵀ, Ψ diagonal.

First EM (Rubin & Thayer 1982) with the factor variances free within a step (parameter expansion:
Liu, Rubin & Wu 1998), accelerated by Anderson's method (Walker & Ni 2011): some ten to twenty
steps if the factors are distinct. Factors that are nearly the same, or items without error, leave
ridges on which EM creeps; from there L-BFGS-B goes on. Both move θ, the vector of free loadings,
log uniquenesses and T: every θ within the bounds of the uniquenesses is a proper model.

References
----------
Rubin, D. B. & Thayer, D. T. (1982). EM algorithms for ML factor analysis. Psychometrika 47, 69–76.
Liu, C., Rubin, D. B. & Wu, Y. N. (1998). Parameter expansion to accelerate EM: the PX-EM
algorithm. Biometrika 85, 755–770. Walker, H. F. & Ni, P. (2011). Anderson acceleration for
fixed-point iterations. SIAM Journal on Numerical Analysis 49, 1715–1735.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MANY_ITEMS = 200  # from which the zeros of loadings cost more than knowing where they are
LEAST_UNIQUENESS = 1e-3  # keeps an item from being explained without error (Heywood case)
EM_STEPS = 30  # after so many EM is on a ridge
MEMORY = 8  # earlier steps that an accelerated one is made from
CORRECTIONS = 20  # the same of L-BFGS-B
CALM = 2  # steps in a row that must gain nothing: a single one may be a stumble
RIDGE = 1e-9  # relative; keeps apart factors that become one, and steps that repeat one another
PACE = 3  # last steps whose gain shows how far a search could still come,
HORIZON = 50  # if as many more gained as much; they gain less and less
POWER_ITERATIONS = 4
DAMPING = 0.7  # of the correlations the factors start with
NOTHING = 1e-9  # stands for the length of a factor that has no items


@dataclass(frozen=True, eq=False)
class Summit:
    """Where a search ended.

    Attributes
    ----------
    theta, value
        θ and the log-likelihood per row.
    converged
        Whether it is a maximum.
    iterations
        Steps taken.
    reach
        If the search was given up: the value it would have had if many more steps had gained as
        much as the last ones.
    """

    theta: FloatArray
    value: float
    converged: bool
    iterations: int
    reach: float | None = None


def maximize(
    likelihood: FactorLikelihood, least_gain: float, most: int, enough: float = -np.inf
) -> Summit:
    """Search for the maximum: accelerated EM, then quasi-Newton where that creeps.

    Steps gain less and less. A search that would not get to ``enough`` although many more steps
    gained as much as the last ones is given up.

    Parameters
    ----------
    likelihood
        What to maximize.
    least_gain
        Gain per row below which a step counts as standing still.
    most
        Most steps.
    enough
        Value per row that the maximum must have to be of interest.
    """
    found = accelerated_em(likelihood, least_gain, most, enough)
    left = most - found.iterations
    if found.converged or found.reach is not None or not left:
        return found
    return _climb(likelihood, found, least_gain, left)


M = TypeVar("M")


class Climbable(Protocol[M]):
    """A likelihood that EM can climb; M are the moments of its E-step."""

    def start(self) -> FloatArray:
        """Return a θ to start from."""

    def evaluate(self, theta: FloatArray) -> tuple[float, M]:
        """Return the log-likelihood per row at θ, and the moments of the E-step."""

    def em_step(self, moments: M) -> FloatArray:
        """Return θ of the M-step."""


def accelerated_em(
    likelihood: Climbable[M], least_gain: float, most: int, enough: float = -np.inf
) -> Summit:
    """Anderson's method on EM, at most ``EM_STEPS`` of ``most``; the likelihood never falls.

    With g the EM step, f(θ) = g(θ) − θ, and ΔΘ, ΔF the last changes in θ and f as rows:

        θ' = g(θ) − γᵀ(ΔΘ + ΔF),   γ = argmin ‖f(θ) − γᵀΔF‖,

    or θ' = g(θ), which cannot overshoot, if that would lower the likelihood.
    """
    theta = likelihood.start()
    value, moments = likelihood.evaluate(theta)
    ahead = likelihood.em_step(moments)
    d_theta, d_f = np.empty((2, MEMORY, theta.size))
    remembered = calm = iterations = 0
    values, reach = [value], np.inf
    while calm < CALM and iterations < min(most, EM_STEPS) and reach >= enough:
        k = min(remembered, MEMORY)
        proposal = _accelerate(ahead, ahead - theta, d_theta[:k], d_f[:k])
        new_value, moments = likelihood.evaluate(proposal)
        if not new_value >= value and remembered:
            remembered, proposal = 0, ahead
            new_value, moments = likelihood.evaluate(proposal)
        new_ahead = likelihood.em_step(moments)
        d_theta[remembered % MEMORY] = proposal - theta
        d_f[remembered % MEMORY] = (new_ahead - proposal) - (ahead - theta)
        remembered += 1
        calm = calm + 1 if new_value - value < least_gain else 0
        theta, value, ahead = proposal, new_value, new_ahead
        iterations += 1
        values.append(value)
        if iterations > PACE:
            pace = (value - values[-1 - PACE]) / PACE
            reach = value + min(most - iterations, HORIZON) * pace
    return Summit(theta, value, calm == CALM, iterations, reach if reach < enough else None)


def _accelerate(
    ahead: FloatArray, f: FloatArray, d_theta: FloatArray, d_f: FloatArray
) -> FloatArray:
    """Return Anderson's proposal; the plain step if there is no past, or one that repeats."""
    from scipy.linalg.lapack import dposv

    if not len(d_f):
        return ahead
    gram = d_f @ d_f.T
    gram.flat[:: len(gram) + 1] *= 1 + RIDGE
    _, gamma, failed = dposv(gram, d_f @ f)
    return ahead if failed else ahead - gamma @ (d_theta + d_f)


def _climb(likelihood: FactorLikelihood, begin: Summit, least_gain: float, most: int) -> Summit:
    """L-BFGS-B on θ in units of the EM information: √ψ for loadings, √2 for log ψ, 1 for T."""
    from scipy.optimize import Bounds, minimize

    psi = likelihood.psi
    unit = np.ones(begin.theta.size)
    unit[: psi.start] = np.exp(begin.theta[psi].take(likelihood.item) / 2)
    unit[psi] = np.sqrt(2.0)
    low, high = np.full((2, unit.size), [[-np.inf], [np.inf]])
    low[psi], high[psi] = likelihood.log_bounds

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        value, moments = likelihood.evaluate(x * unit)
        return begin.value - value, -unit * likelihood.gradient(moments)

    found = minimize(
        loss,
        np.clip(begin.theta, low, high) / unit,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low / unit, high / unit),
        options={
            "maxiter": most,
            "maxfun": 2 * most,
            "maxcor": CORRECTIONS,
            "ftol": least_gain,
            "gtol": 0.0,
        },
    )
    return Summit(
        found.x * unit,
        begin.value - float(found.fun),
        found.status != 1,  # 1: out of steps; 2, no progress possible, is rounding
        begin.iterations + int(found.nit),
    )


@dataclass(frozen=True, eq=False)
class Moments:
    """What the likelihood at one θ rests on; W = Ψ⁻¹Λ, V the covariance of factors given items.

    Attributes
    ----------
    L, T, precision
        (p, d) Λ, (d, d) T and (p,) 1/ψ.
    V, WRW
        (d, d) V and WᵀRW.
    C_xz, C_zz
        (p, d) and (d, d) expected moments RWV of items with factors, V + V WᵀRW V of factors.
    """

    L: FloatArray
    T: FloatArray
    precision: FloatArray
    V: FloatArray
    WRW: FloatArray
    C_xz: FloatArray
    C_zz: FloatArray


class FactorLikelihood:
    """Normal log-likelihood per row, −½ (log|Σ| + tr(Σ⁻¹R)), of one support.

    Parameters
    ----------
    R
        (p, p) correlations, or covariances.
    support
        (p, d) which item loads on which factor.
    """

    def __init__(self, R: FloatArray, support: BoolArray) -> None:
        self.R, self.support = R, support
        self.variances = R.diagonal().copy()
        self.log_bounds = np.full(len(R), np.log(LEAST_UNIQUENESS)), np.log(self.variances)
        p, self.d = support.shape
        self.item, self.factor = np.nonzero(support)
        self.edges = np.flatnonzero(support)
        self.triangle = np.flatnonzero(np.tril(np.ones((self.d, self.d))))
        self.psi = slice(len(self.edges), len(self.edges) + p)
        self._lay_out_regressions()
        self._sparse: csr_array | None = None  # (d, p), not zero where the support is
        if p >= MANY_ITEMS:
            from scipy.sparse import csr_array

            self._sparse = csr_array(support.T.astype(np.float64))

    def _lay_out_regressions(self) -> None:
        """Give every item as many places for parents as the item with most parents needs.

        Places an item does not need stand for dummies beyond the d factors, which correlate with
        nothing; so one call solves the regressions of all items.
        """
        n_parents = self.support.sum(axis=1)
        m = int(n_parents.max(initial=0))
        taken = np.arange(m) < n_parents[:, None]
        parent = np.tile(np.arange(self.d, self.d + m), (len(self.R), 1))
        parent[taken] = self.factor
        self.places = np.flatnonzero(taken)
        self.with_dummies = np.eye(self.d + m)
        self.pairs = parent[:, :, None] * (self.d + m) + parent[:, None, :]

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Λ, T and log ψ, this within its bounds."""
        L, T = np.zeros(self.support.shape), np.zeros((self.d, self.d))
        L.put(self.edges, theta[: self.psi.start])
        T.put(self.triangle, theta[self.psi.stop :])
        return L, T, theta[self.psi].clip(*self.log_bounds)

    def evaluate(self, theta: FloatArray) -> tuple[float, Moments]:
        """Return the log-likelihood at θ and the moments of the E-step.

        By the identities of Woodbury, with W = Ψ⁻¹Λ and K = I + Tᵀ ΛᵀW T,

            V = T K⁻¹ Tᵀ,   Σ⁻¹ = Ψ⁻¹ − W V Wᵀ,   |Σ| = |Ψ| |K|.
        """
        from scipy.linalg.lapack import dposv  # a tenth of numpy's overhead on small matrices

        L, T, log_psi = self.unpack(theta)
        precision = np.exp(-log_psi)
        W = L * precision[:, None]
        K = T.T @ self._sum_products(L, W) @ T
        K.flat[:: self.d + 1] += 1.0
        root, KT, _ = dposv(K, T.T)
        V = T @ KT
        RW = self._times(self.R, W)
        WRW = self._sum_products(W, RW)
        VWRW = V @ WRW
        log_det = log_psi.sum() + 2 * np.log(root.diagonal()).sum()
        value = -0.5 * float(log_det + self.variances @ precision - VWRW.trace())
        return value, Moments(L, T, precision, V, WRW, RW @ V, V + VWRW @ V)

    def _times(self, R: FloatArray, W: FloatArray) -> FloatArray:
        """Return RW for symmetric R, as :meth:`_sum_products` does."""
        return R @ W if self._sparse is None else self._sum_products(W, R).T

    def _sum_products(self, W: FloatArray, X: FloatArray) -> FloatArray:
        """Return WᵀX for W that is zero outside the support; if large, without its zeros."""
        if self._sparse is None:
            return W.T @ X
        self._sparse.data[:] = W.T[self.support.T]
        product: FloatArray = self._sparse @ X
        return product

    def em_step(self, moments: Moments) -> FloatArray:
        """M-step: regress each item on its parents; Φ = C_zz, brought to variances 1 through Λ."""
        from scipy.linalg.lapack import dpotrf

        C_zz = moments.C_zz.copy()
        C_zz.flat[:: self.d + 1] *= 1 + RIDGE
        self.with_dummies[: self.d, : self.d] = C_zz
        M = self.with_dummies.take(self.pairs)
        c = np.zeros(M.shape[:2])
        c.put(self.places, moments.C_xz.take(self.edges))
        slopes = c / M[:, 0] if M.shape[1] == 1 else np.linalg.solve(M, c[..., None])[..., 0]
        psi = np.maximum(self.variances - (slopes * c).sum(axis=1), LEAST_UNIQUENESS)
        scale = np.sqrt(C_zz.diagonal())
        T = dpotrf(C_zz, lower=1)[0] / scale[:, None]
        loadings = slopes.take(self.places) * scale.take(self.factor)
        return np.concatenate([loadings, np.log(psi), T.take(self.triangle)])

    def gradient(self, moments: Moments) -> FloatArray:
        """Return the derivatives of the log-likelihood by θ.

        For Λ and Ψ those of the expected log-likelihood (Fisher's identity); for T they are
        those of Φ times T, Λᵀ Σ⁻¹(R − Σ)Σ⁻¹ Λ T, with Σ⁻¹Λ = WQ, Q = I − VΛᵀW.
        """
        L, C_xz = moments.L, moments.C_xz
        LC = L @ moments.C_zz
        by_loading = (C_xz - LC) * moments.precision[:, None]
        residual = self.variances + ((LC - 2 * C_xz) * L).sum(axis=1)
        G = self._sum_products(L, L * moments.precision[:, None])
        Q = np.eye(self.d) - moments.V @ G
        by_T = (Q.T @ moments.WRW - G) @ Q @ moments.T
        return np.concatenate(
            [
                by_loading.take(self.edges),
                0.5 * (residual * moments.precision - 1.0),
                by_T.take(self.triangle),
            ]
        )

    def start(self) -> FloatArray:
        """Return the θ of one-factor solutions, one for the items of each factor.

        The first principal component v of those items (power iterations, all factors at once)
        gives the loadings cv that are nearest to the correlations off the diagonal,

            c² = (vᵀRv − Σ r_ii v_i²) / (1 − Σ v_i⁴),

        shared out where an item has several parents. The factors correlate as the components do,
        less some because shared items bring these together.
        """
        A = self.support.astype(float)
        first = (A * self._times(np.abs(self.R), A)).argmax(axis=0)
        v = A * self.R[:, first]
        for _ in range(POWER_ITERATIONS):
            v = A * self._times(self.R, v)
            v /= np.sqrt(np.maximum((v**2).sum(axis=0), NOTHING))
        S = self._sum_products(v, self.R) @ v
        off_diagonal = S.diagonal() - self.variances @ v**2
        c = np.sqrt(np.clip(off_diagonal / np.maximum(1 - (v**4).sum(axis=0), 0.1), 0.1, None))
        L = np.clip(c * v, -0.9, 0.9) / np.maximum(A.sum(axis=1, keepdims=True), 1)
        scale = np.sqrt(np.maximum(S.diagonal(), NOTHING))
        Phi = DAMPING * S / np.outer(scale, scale)
        np.fill_diagonal(Phi, 1.0)
        psi = np.maximum(self.variances - ((L @ Phi) * L).sum(axis=1), 0.1 * self.variances)
        T = np.linalg.cholesky(Phi)
        return np.concatenate([L.take(self.edges), np.log(psi), T.take(self.triangle)])
