"""Structures are scored on rows that were not fitted: one split, or cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.factors.copula import fit_factors
from dtstat.factors.scores import Marginals, learn_marginals, row_log_likelihoods
from dtstat.search.records import Fitted

SHARE = 0.2  # of the rows that validate, as in the paper (1000 of 5000)
FOLDS = 5
_FEWEST = 2  # held-out rows: one has no standard error

Learn = Callable[[FloatArray], Marginals]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Log-likelihoods of rows under structures that were fitted to other rows.

    Attributes
    ----------
    rows
        (m, n) one row per structure, one column per held-out row.
    errors
        (m,) Monte Carlo standard errors of the sums; None if the likelihoods are exact.
    """

    rows: FloatArray
    errors: FloatArray | None = None

    @property
    def monte_carlo_se(self) -> FloatArray:
        """(m,) Monte Carlo standard errors of the means."""
        m, n = self.rows.shape
        return np.zeros(m) if self.errors is None else self.errors / n

    @property
    def mean(self) -> FloatArray:
        """(m,) mean log-likelihood of each structure; larger is better."""
        means: FloatArray = self.rows.mean(axis=1)
        return means

    def behind(self) -> tuple[FloatArray, FloatArray]:
        """How far each structure is behind the best one, and the standard error of that.

        Rows are paired: what makes a row likely or not under all structures cancels.
        """
        gaps = self.rows[self.mean.argmax()] - self.rows
        n = gaps.shape[1]
        errors = gaps.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(gaps), np.inf)
        return gaps.mean(axis=1), errors


def split_rows(n: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return rows to fit on and rows to validate on, at random."""
    order = np.random.default_rng(seed).permutation(n)
    held = max(round(SHARE * n), _FEWEST)
    return np.sort(order[held:]), np.sort(order[:held])


def folds(n: int, seed: int) -> IntArray:
    """(n,) the fold of each row, at random and of equal sizes as far as possible."""
    fold: IntArray = np.random.default_rng(seed).permutation(np.arange(n) % FOLDS)
    return fold


def validate(
    fitted: tuple[Fitted, ...], X: FloatArray, held: FloatArray, learn: Learn = learn_marginals
) -> HeldOut:
    """Score fitted structures on held-out rows.

    Parameters
    ----------
    fitted
        Structures fitted to the rows ``X``.
    X, held
        Answers that were fitted, and those that were not.
    learn
        How margins are learned.
    """
    Z = learn(X).normal_scores(held)
    return HeldOut(np.array([row_log_likelihoods(one.estimate, Z) for one in fitted]))


def cross_validate(
    supports: list[BoolArray],
    X: FloatArray,
    correlations: list[FloatArray],
    fold: IntArray,
    learn: Learn = learn_marginals,
    progress: Progress = None,
) -> HeldOut:
    """Score structures on each fold, with parameters from the other folds.

    Parameters
    ----------
    supports
        The structures.
    X
        (n, p) answers.
    correlations
        For each fold the latent correlations of the rows outside it.
    fold
        (n,) the fold of each row.
    learn
        How margins are learned.
    progress
        True for a bar, or a function of (done, total).
    """
    rows = np.empty((len(supports), len(X)))
    for k, R in enumerate(track(correlations, progress, "folds")):
        out = fold == k
        Z = learn(X[~out]).normal_scores(X[out])
        for j, support in enumerate(supports):
            estimate = fit_factors(R, int((~out).sum()), support)
            rows[j, out] = row_log_likelihoods(estimate, Z)
    return HeldOut(rows)
