"""One structure fitted in several ways to the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dtstat as dt
from dtstat.core.arrays import FloatArray
from dtstat.curves.likelihood import LogLikelihood, log_likelihood
from dtstat.curves.posterior import JointModel
from dtstat.factors.copula import FactorEstimate, fit_factors, latent_correlations
from dtstat.factors.scores import learn_marginals, plausible_values
from dtstat.simulation.generate import Simulation


@dataclass(frozen=True, eq=False)
class Split:
    """Standardised rows to fit and to validate on, and where fits start."""

    simulation: Simulation
    fitted: FloatArray
    held: FloatArray
    start: FactorEstimate
    scores: FloatArray

    @classmethod
    def of(cls, simulation: Simulation, n: int = 4000) -> Split:
        """Cut a simulation after n rows; standardise by these."""
        X = np.ascontiguousarray(simulation.data.to_numpy(dtype=float))
        mean, sd = X[:n].mean(axis=0), X[:n].std(axis=0)
        Y = (X - mean) / sd
        R = latent_correlations(dt.dependence(simulation.data.iloc[:n])).R
        start = fit_factors(R, n, simulation.structure.support)
        return cls(simulation, Y[:n], Y[n:], start, learn_marginals(X[:n]).normal_scores(X[:n]))

    def factors(self, seed: int) -> tuple[FloatArray, np.random.Generator]:
        """Draw factors to start from; return the generator too."""
        rng = np.random.default_rng(seed)
        return plausible_values(self.start, self.scores, rng), rng

    def validation(self, model: JointModel) -> LogLikelihood:
        """Log-likelihood of the held-out rows; exact for three factors."""
        exact = self.start.loadings.shape[1] <= 3
        method, draws = ("quadrature", 0) if exact else ("importance", 1000)
        return log_likelihood(model, self.held, np.random.default_rng(0), method, draws)


def of_design(design: str, seed: int, **options: object) -> Split:
    """4000 rows to fit and 1000 to validate on, as in the paper."""
    return Split.of(dt.simulate(design, 5000, seed=seed, **options))  # type: ignore[arg-type]
