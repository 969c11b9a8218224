"""Which of two correlations is larger, and a band for all of them: the errors behind certificates.

Correlations are compared on Fisher's scale z = atanh ρ, where their errors hardly depend on ρ. With
J = I / (1 − r²) for the influence of the rows on z (:mod:`dtstat.dependence.influence`), a
difference d = |z_a| − |z_b| of two pairs of items has the studentized value

    t = d √(n − 1) / √(mean D²),     D = sign(z_a) J_a − sign(z_b) J_b,

and is referred to Student's distribution with 2 (n − 1) / (κ − 1) degrees of freedom, κ the
kurtosis of D: Satterthwaite's for a variance that is estimated from D² (for normal D they are n −
1). Without them tails are too thin by a factor of 2 (ratings) to 10 (skewed items, Pearson) in 100
rows; ``benchmarks/certify`` has the figures. Means of products of powers of J, hence all t of a
clique, are matrix products.

The sign of z_b is not known, so |ρ_a| > |ρ_b| is claimed only if both ρ_a sign(z_a) > ρ_b and
ρ_a sign(z_a) > −ρ_b are: two claims that both must hold cost nothing. For the sign of z_a, which
is read off the sample, see :data:`_MOST_UNEQUAL`.

References
----------
Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components.
Biometrics Bulletin 2, 110–114. Chernozhukov, V., Chetverikov, D. & Kato, K. (2013). Gaussian
approximations and multiplier bootstrap for maxima of sums of high-dimensional random vectors.
Annals of Statistics 41, 2786–2819.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.dependence.measures import INVERSE_BRIDGES

_LARGEST = 0.999  # a correlation beyond has no error that could be estimated
_LEAST_VARIANCE = 1e-12
_SUREST = 1e7  # degrees of freedom beyond which Student's distribution is the normal one
# Both z_a − z_b > c and z_a + z_b > c, or both below −c: with κ the correlation of the two, this
# has at most the probability of one of them alone if κ is at most .8. It is beyond if the errors of
# one correlation are some three times those of the other; such a pair is not compared.
_MOST_UNEQUAL = 0.8
_CHUNK = 4_000_000  # numbers of one block of multiplier draws, or of powers of influences


@dataclass(frozen=True, eq=False)
class PairErrors:
    """Correlations of all pairs of items on Fisher's scale, and their errors.

    Attributes
    ----------
    z
        (q,) correlations of the pairs, as ``np.triu_indices(p, 1)`` lists them.
    influence
        (q, m) influence of m rows on them, each with mean 0.
    n
        Rows behind a correlation; those of ``influence`` may be some of them.
    p
        Number of items.
    """

    z: FloatArray
    influence: FloatArray
    n: int
    p: int

    @classmethod
    def of(cls, R: FloatArray, influence: FloatArray, n: int) -> PairErrors:
        """Take (p, p) latent correlations and (q, m) influences on them, which are overwritten."""
        r = np.clip(R[np.triu_indices(len(R), 1)], -_LARGEST, _LARGEST)
        influence /= (1 - r**2)[:, None]
        return cls(np.arctanh(r), influence, n, len(R))

    @cached_property
    def place(self) -> IntArray:
        """(p, p) where the pair of two items stands among the pairs."""
        place = np.zeros((self.p, self.p), dtype=np.int64)
        place[np.triu_indices(self.p, 1)] = np.arange(len(self.z))
        return place + place.T

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """(q,) second and fourth moments of the influences."""
        second, fourth = np.empty_like(self.z), np.empty_like(self.z)
        step = max(1, _CHUNK // self.influence.shape[1])
        for start in range(0, len(second), step):
            block = slice(start, start + step)
            squares = self.influence[block] ** 2
            second[block] = squares.mean(axis=1)
            fourth[block] = np.einsum("ij,ij->i", squares, squares) / squares.shape[1]
        return second, fourth

    def tails(self, larger: IntArray, smaller: IntArray) -> FloatArray:
        """Return (a, b) tail probabilities of the contrasts |z| − |z| of two sets of pairs.

        Small only where the |z| of ``larger`` is beyond doubt above that of ``smaller``.
        """
        second, fourth = self._moments
        sign = np.where(self.z[larger] < 0, -1.0, 1.0)
        A, B = sign[:, None] * self.influence[larger], self.influence[smaller]
        A2, B2 = A * A, B * B
        m = A.shape[1]
        ab, a3b, a2b2, ab3 = (x @ y.T / m for x, y in ((A, B), (A2 * A, B), (A2, B2), (A, B2 * B)))
        a2, a4, b2, b4 = (
            second[larger, None],
            fourth[larger, None],
            second[smaller],
            fourth[smaller],
        )
        spread = np.sqrt(np.maximum((a2 + b2) ** 2 - 4 * ab**2, _LEAST_VARIANCE))
        worst: FloatArray = ((a2 - b2) / spread > _MOST_UNEQUAL).astype(np.float64)
        for g in (1.0, -1.0):
            variance = a2 + b2 - 2 * g * ab
            kurtic = a4 - 4 * g * a3b + 6 * a2b2 - 4 * g * ab3 + b4
            distance = (sign * self.z[larger])[:, None] - g * self.z[smaller]
            np.maximum(worst, student_tail(distance, variance, kurtic, self.n), out=worst)
        return worst

    def tail_from_zero(self, pairs: IntArray) -> float:
        """Largest of the one-sided tail probabilities of |z| against 0."""
        second, fourth = (moment[pairs] for moment in self._moments)
        return float(student_tail(np.abs(self.z[pairs]), second, fourth, self.n).max(initial=0.0))

    def band(
        self, error: float, n_draws: int, rng: np.random.Generator, progress: Progress = None
    ) -> FloatArray:
        """(q,) half-widths of a simultaneous band of level 1 − error on Fisher's scale.

        The level of a single pair at which the largest of all studentized errors keeps within the
        band is found by Gaussian multipliers: draws of Σ e_i J_i with independent normal e have the
        covariances of the errors. Student's distribution then turns it into a width.
        """
        second, fourth = self._moments
        variance = np.maximum(second, _LEAST_VARIANCE)
        m = self.influence.shape[1]
        scaled = self.influence / np.sqrt(variance * m)[:, None]
        largest = []
        step = max(1, _CHUNK // max(len(self.z), m))
        for start in track(range(0, n_draws, step), progress, "draws"):
            e = rng.standard_normal((min(step, n_draws - start), m), dtype=np.float32)
            largest.append(np.abs(e.astype(np.float64) @ scaled.T).max(axis=1))
        c = float(np.quantile(np.concatenate(largest), 1 - error, method="higher"))
        df = _degrees(variance, fourth, self.n)
        width: FloatArray = -stdtrit(df, ndtr(-c)) * np.sqrt(variance / (self.n - 1))
        return width


def _degrees(variance: FloatArray, fourth: FloatArray, n: int) -> FloatArray:
    excess = np.maximum(fourth / variance**2 - 1, 2 * (n - 1) / _SUREST)
    degrees: FloatArray = 2 * (n - 1) / excess
    return degrees


def student_tail(
    distance: FloatArray, variance: FloatArray, fourth: FloatArray, n: int
) -> FloatArray:
    """One-sided tail probabilities of studentized distances; 1 where there is no variance."""
    known = variance > _LEAST_VARIANCE
    variance = np.where(known, variance, 1.0)
    t = distance / np.sqrt(variance / (n - 1))
    tail: FloatArray = np.where(known, stdtr(_degrees(variance, fourth, n), -t), 1.0)
    return tail


def on_scale(z: FloatArray, measure: str) -> FloatArray:
    """Turn numbers on Fisher's scale of the latent correlation into values of a measure."""
    return INVERSE_BRIDGES[measure](np.tanh(z))
