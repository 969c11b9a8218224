"""Signs that a person answered without reading, each beside what attentive respondents would show.

Rules of thumb, such as "ten equal answers in a row", suit one questionnaire and not the next. Here
every index is compared with that of people drawn to answer as these items are answered: from a
Gaussian copula with the marginal distributions and correlations of the data, gaps included. A row
is flagged for an index if at most the share ``level`` of such people would be as extreme. What is
flagged is rare among attentive respondents, and no proof. People who use the scale in a way of
their own are flagged more often (``benchmarks/results/screening.md``); the even-odd index needs
many scales to flag anybody.

Correlations of the copula come from normal scores s_i, the means of a standard normal variable
within the answers of an item. An item of few answers keeps the share a_i = sd(s_i) of it, so that a
latent correlation ρ shows as about a_i a_j ρ; the observed ones are divided by that.

References
----------
Curran, P. G. (2016). Methods for the detection of carelessly invalid responses in survey data.
Journal of Experimental Social Psychology 66, 4-19.
Dunn, A. M., Heggestad, E. D., Shanock, L. R. & Theilgard, N. (2018). Intra-individual response
variability as an indicator of insufficient effort responding. Journal of Business and Psychology
33, 105-121.
Johnson, J. A. (2005). Ascertaining the validity of individual protocols from web-based personality
inventories. Journal of Research in Personality 39, 103-129.
Mahalanobis, P. C. (1936). On the generalized distance in statistics. Proceedings of the National
Institute of Sciences of India 2, 49-55.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chdtrc, ndtri

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.data.frame import Frame, rows_by_content

DRAWS = 20_000
_MOST_CELLS = 20_000_000  # of the people drawn
_MOST_WORK = 2e10  # operations for the distances of rows with gaps
_SMALLEST = 1e-8  # eigenvalue, of the largest, below which a covariance is taken for singular
_LARGEST_CORRELATION = 0.98

# Items of a scale with the sign of each: (places, signs).
Scale = tuple[Sequence[int], Sequence[float]]


def longest_string(X: FloatArray) -> FloatArray:
    """(n,) most answers in a row that are the same, in the order of the columns; gaps are skipped.

    Examples
    --------
    >>> longest_string(np.array([[3.0, 3, np.nan, 3, 1], [1, 2, 3, 4, 5]])).tolist()
    [3.0, 1.0]
    """
    n = len(X)
    last, run, longest = np.full(n, np.nan), np.zeros(n), np.zeros(n)
    for column in X.T:
        answered = ~np.isnan(column)
        run = np.where(answered, np.where(column == last, run + 1, 1), run)
        last = np.where(answered, column, last)
        longest = np.maximum(longest, run)
    return longest


def variability(X: FloatArray) -> FloatArray:
    """(n,) standard deviation of each person's answers; NaN with fewer than half of them."""
    answered = (~np.isnan(X)).sum(axis=1)
    enough = (answered >= 2) & (2 * answered >= X.shape[1])
    spread = np.full(len(X), np.nan)
    if enough.any():
        spread[enough] = np.nanstd(X[enough], axis=1, ddof=1)
    return spread


def even_odd(X: FloatArray, scales: Sequence[Scale], ends: FloatArray) -> FloatArray:
    """(n,) agreement of the two halves of all scales within a person, in [−1, 1].

    The means of the first, third, ... items of each scale are correlated, over scales, with those
    of the others and corrected for length, 2r / (1 + r); −1 at least. Negative items are turned
    round by ``ends``, (p,) sums of lowest and highest answer. NaN if a person has fewer than three
    scales with both halves, or no variation.
    """
    halves = []
    for start in (0, 1):
        means = []
        for places, signs in scales:
            half, sign = list(places)[start::2], np.asarray(signs, dtype=float)[start::2]
            means.append(_row_means(sign * X[:, half] + (1 - sign) / 2 * ends[half]))
        halves.append(np.column_stack(means))
    both = ~np.isnan(halves[0] + halves[1])
    count = both.sum(axis=1)
    a, b = (np.where(both, half, 0.0) for half in halves)
    with np.errstate(invalid="ignore", divide="ignore"):
        a = np.where(both, a - (a.sum(axis=1) / count)[:, None], 0.0)
        b = np.where(both, b - (b.sum(axis=1) / count)[:, None], 0.0)
        size = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
        r = (a * b).sum(axis=1) / size
        whole = np.maximum(2 * r / (1 + r), -1.0)
    whole = np.where(r <= -1 / 3, -1.0, whole)
    return np.where((count >= 3) & (size > 1e-12), whole, np.nan)


def _row_means(X: FloatArray) -> FloatArray:
    answered = (~np.isnan(X)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: FloatArray = np.nansum(X, axis=1) / np.where(answered, answered, np.nan)
    return means


def covariance(X: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Means and covariances, from the rows that each pair has; None if they are singular."""
    if len(X) <= X.shape[1]:
        return None
    mean = np.nanmean(X, axis=0)
    S = np.atleast_2d(pd.DataFrame(X).cov().to_numpy())
    if not np.isfinite(S).all():
        return None
    sizes = np.sqrt(np.outer(np.diag(S), np.diag(S)))
    if not (sizes > 0).all():  # answers so small that their squares are 0
        return None
    R = S / sizes
    if not np.isfinite(R).all():
        return None
    eigenvalues = np.linalg.eigvalsh(R)
    return (mean, S) if eigenvalues[0] > _SMALLEST * eigenvalues[-1] else None


def mahalanobis(X: FloatArray, mean: FloatArray, S: FloatArray) -> FloatArray:
    """(n,) squared distances (x − m)ᵀ S⁻¹ (x − m), of the answers that a row has; NaN if of none.

    Rows with gaps are left out (NaN) if they would take too long.
    """
    observed = ~np.isnan(X)
    patterns, which = np.unique(observed, axis=0, return_inverse=True)
    which = np.ravel(which)
    distances = np.full(len(X), np.nan)
    affordable = len(patterns) * X.shape[1] ** 3 <= _MOST_WORK
    for k, pattern in enumerate(patterns):
        if not pattern.any() or not (pattern.all() or affordable):
            continue
        rows = np.flatnonzero(which == k)
        D = X[np.ix_(rows, pattern)] - mean[pattern]
        solved = np.linalg.solve(S[np.ix_(pattern, pattern)], D.T)
        distances[rows] = np.einsum("ij,ji->i", D, solved)
    return distances


def distance_p(distances: FloatArray, X: FloatArray) -> FloatArray:
    """(n,) chance of so large a distance if answers were normal: chi-square, df answers given."""
    return np.asarray(chdtrc((~np.isnan(X)).sum(axis=1), distances), dtype=np.float64)


def repeats(X: FloatArray) -> BoolArray:
    """(n,) whether an earlier row has the same answers; rows with half of them or fewer never."""
    again = 2 * (~np.isnan(X)).sum(axis=1) > X.shape[1]
    # Compared as bytes, with one kind of NaN and one zero.
    rows = np.ascontiguousarray(np.where(np.isnan(X), np.nan, X) + 0.0)
    _, first = np.unique(rows.view(np.dtype((np.void, rows[0].nbytes))), return_index=True)
    again[first] = False
    return np.asarray(again)


def draw_honest(X: FloatArray, rng: np.random.Generator, draws: int = DRAWS) -> FloatArray:
    """Draw people who answer as these do: their margins, correlations and gaps."""
    p, frame = X.shape[1], Frame.of_answers(X)
    X = frame.answers(X)[rows_by_content(X, frame)]  # so that their order does not matter
    count = int(min(draws, max(2_000, _MOST_CELLS // p)))
    columns = [np.sort(x[~np.isnan(x)]) for x in X.T]
    Z = rng.standard_normal((count, p)) @ np.linalg.cholesky(_latent_correlations(X)).T
    drawn = np.empty_like(Z)
    # Φ(z) by ranks: the margins are then those of the data, whatever the draw.
    for k, answers in enumerate(columns):
        places = np.argsort(np.argsort(Z[:, k])) * len(answers) // count
        drawn[:, k] = answers[places]
    drawn[np.isnan(X)[rng.integers(len(X), size=count)]] = np.nan
    return frame.columns_as_given(drawn)


def _latent_correlations(X: FloatArray) -> FloatArray:
    scores = np.column_stack([_normal_scores(x) for x in X.T])
    R = np.array(pd.DataFrame(scores).corr().fillna(0.0))
    kept = np.nanstd(scores, axis=0)
    R = np.clip(R / np.outer(kept, kept), -_LARGEST_CORRELATION, _LARGEST_CORRELATION)
    np.fill_diagonal(R, 1.0)
    values, vectors = np.linalg.eigh(R)
    R = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    scale = np.sqrt(np.diag(R))
    return np.asarray(R / np.outer(scale, scale))


def _normal_scores(x: FloatArray) -> FloatArray:
    """Means of a standard normal variable within the answers, (φ(t_k) − φ(t_{k+1})) / p_k."""
    observed = ~np.isnan(x)
    _, places, counts = np.unique(x[observed], return_inverse=True, return_counts=True)
    share = counts / counts.sum()
    cuts = ndtri(np.clip(np.concatenate([[0.0], np.cumsum(share)]), 0.0, 1.0))
    density = np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi)
    scores = np.full(len(x), np.nan)
    scores[observed] = (-np.diff(density) / share)[places]
    return scores


def chance(index: FloatArray, honest: FloatArray, low: bool) -> FloatArray:
    """(n,) share of attentive respondents whose index is as extreme, (1 + count) / (1 + draws)."""
    known = honest[~np.isnan(honest)]
    sign = 1.0 if low else -1.0
    ordered = np.sort(sign * known)
    count = np.searchsorted(ordered, sign * index + 1e-12, side="right")
    return np.where(np.isnan(index), np.nan, (1 + count) / (1 + len(ordered)))
