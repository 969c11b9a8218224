"""The masked network by stochastic EM (the paper, appendix C.2).

E-step: MALA moves every person's factors (:mod:`dtstat.curves.mala`), one draw completes the data.
M-step: Adam steps on Σ (x_i − g_i(z))² / 2ω_i, Ω from the residuals in closed form, Φ from the
draw.

``PAPER`` follows appendix C.2: 3000 iterations; in each, isotropic MALA whose step size is tuned
until .574 ± .01 of the proposals are accepted, ten moves discarded, one draw kept, one Adam step
on all rows, Ω in closed form, Φ the correlations of the draw. What the paper does not say, or we
do otherwise:

- z starts at draws of the factors under the Gaussian copula model of the structure, Φ at that
  model's, the network at random weights;
- tuning ends after 50 moves at the latest, and "average acceptance" is the mean over all rows in
  one move;
- Adam's learning rate is its default, .001;
- Φ stays as given for 100 iterations, then goes a tenth of the way to the correlations of each
  draw, eigenvalues at least .02: if it follows every draw from the start, factors become
  collinear and the sampler freezes;
- Ω is from the residuals that the Adam step is computed from, and at least .001 (items are
  standardized);
- a sampler that has frozen makes estimation start anew, once, with Φ held still for half of the
  iterations and damped more; a structure that freezes it twice is left out.

``FAST`` has the same network and target. The network first learns the given values; MALA is
preconditioned; the learning rate falls; weights have a weak normal prior; θ and Φ are averaged
over the last half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import EstimationError, EstimationWarning, warn
from dtstat.core.parallel import Progress, track
from dtstat.curves import mala
from dtstat.curves.network import (
    LEAST_NOISE,
    Adam,
    MaskedNetwork,
    NetworkEstimate,
    generator_from,
    residual_variances,
    tensor,
    torch,
)
from dtstat.curves.network_model import NetworkModel
from dtstat.curves.posterior import posterior_covariance
from dtstat.curves.response_model import correlations

_PATIENCE = 5  # frozen iterations in a row
_PILOT = 500  # rows that the preconditioner is learned from
_LAST_MOVES, _BETWEEN = 20, 4  # of MALA at the averaged parameters; Ω is from every fourth
_START_NOISE = 0.5


@dataclass(frozen=True)
class Schedule:
    """Settings of stochastic EM.

    Attributes
    ----------
    iterations
        Of EM.
    pretraining
        Adam steps on the given values before the first.
    tuning
        Most moves of MALA in each iteration that tune the step size and are then forgotten; with
        0 the moves tune as they go.
    moves
        Moves of MALA to the draw that is kept.
    preconditioned
        Whether proposals have about the posterior's covariance.
    adam_steps, batch
        Adam steps in each iteration, and rows in each; None: all.
    first_rate, last_rate
        Learning rates; constant over the first half of the iterations, then falling.
    phi_from, phi_damping
        Iteration from which Φ moves, and how far it goes to each draw's.
    averaged
        Share of the iterations, the last ones, over which θ and Φ are averaged; 0: the last.
    interpolated
        Whether training reads outputs with one parent off a table.
    decay
        Precision of a normal prior of the weights, which keeps few answers from being learned by
        heart; 0: none.
    """

    iterations: int
    pretraining: int
    tuning: int
    moves: int
    preconditioned: bool
    adam_steps: int
    batch: int | None
    first_rate: float
    last_rate: float
    phi_from: int
    phi_damping: float
    averaged: float
    interpolated: bool
    decay: float

    def rate(self, t: int) -> float:
        """Learning rate of iteration t."""
        return falling(t / self.iterations, self.first_rate, self.last_rate)


PAPER = Schedule(
    iterations=3000,
    pretraining=0,
    tuning=50,
    moves=11,
    preconditioned=False,
    adam_steps=1,
    batch=None,
    first_rate=1e-3,
    last_rate=1e-3,
    phi_from=100,
    phi_damping=0.1,
    averaged=0.0,
    interpolated=False,
    decay=0.0,
)

FAST = Schedule(
    iterations=150,
    pretraining=200,
    tuning=0,
    moves=5,
    preconditioned=True,
    adam_steps=5,
    batch=2000,
    first_rate=3e-3,
    last_rate=2e-4,
    phi_from=15,
    phi_damping=0.2,
    averaged=0.5,
    interpolated=True,
    decay=3.0,
)


def falling(done: float, first: float, last: float) -> float:
    """Learning rate when a share of the work is done: constant for half of it, then a cosine."""
    late = max(2 * done - 1, 0.0)
    return last + (1 + math.cos(math.pi * late)) / 2 * (first - last)


def fit_network(
    X: FloatArray,
    support: BoolArray,
    Z: FloatArray,
    Phi: FloatArray,
    rng: np.random.Generator,
    schedule: Schedule = FAST,
    progress: Progress = None,
) -> NetworkEstimate:
    """Estimate network, noise and Φ of a given structure.

    A sampler that freezes (``mala.is_frozen``, five iterations in a row) makes estimation start
    anew, once, with Φ held still for half of the iterations and damped more.

    Parameters
    ----------
    X
        (n, p) standardized answers; NaN if missing.
    support
        (p, d) the structure.
    Z, Phi
        (n, d) and (d, d): factors and their correlations to start from.
    rng
        Source of randomness.
    schedule
        ``FAST``, ``PAPER``, or either with changes (``dataclasses.replace``).
    progress
        True for a bar, a function of (done, total), or None.
    """
    start = _Start(np.ascontiguousarray(X), support, Z, Phi)
    found = _run(start, rng, schedule, progress)
    if found is None:
        warn(
            "The sampler of the network's factors froze; estimation restarts with slower "
            "updates of the factor correlations. If it happens often, use estimator='spline'.",
            EstimationWarning,
            stacklevel=2,
        )
        still = max(schedule.iterations // 2, schedule.phi_from)
        slower = replace(schedule, phi_from=still, phi_damping=schedule.phi_damping / 4)
        found = _run(start, rng, slower, progress)
        if found is None:
            raise EstimationError(
                f"The network with {support.shape[1]} factors cannot be estimated: its sampler "
                "froze twice. Use estimator='spline', or fewer factors."
            )
        found = replace(found, restarts=1)
    return found


@dataclass(frozen=True, eq=False)
class _Start:
    """The data, and where estimation starts."""

    X: FloatArray
    support: BoolArray
    Z: FloatArray
    Phi: FloatArray


def _run(
    start: _Start, rng: np.random.Generator, schedule: Schedule, progress: Progress
) -> NetworkEstimate | None:
    """Run all iterations; None if the sampler freezes."""
    fit = _Fit(start, rng, schedule)
    fit.pretrain()
    frozen = 0
    for t in track(range(schedule.iterations), progress, "network"):
        fit.e_step(t)
        frozen = frozen + 1 if mala.is_frozen(fit.state, fit.acceptance) else 0
        if frozen == _PATIENCE:
            return None
        fit.m_step(t)
    model = fit.finish()
    return NetworkEstimate(model, fit.state.z, fit.acceptance, fit.state.step_size)


class _Fit:
    """The network in training, the chains, and the averages."""

    def __init__(self, start: _Start, rng: np.random.Generator, schedule: Schedule) -> None:
        self.start, self.rng, self.schedule = start, rng, schedule
        self.network = MaskedNetwork(start.support, generator_from(rng))
        self.adam = Adam([self.network.theta])
        self.seen = tensor(~np.isnan(start.X))
        self.answers = tensor(np.nan_to_num(start.X))
        self.noise = np.full(start.X.shape[1], _START_NOISE)
        self.Phi = start.Phi.copy()
        self.model = self.network.snapshot(self.noise, self.Phi)
        self.state = mala.init(self.target, start.Z, 1.0)
        self.acceptance = 0.0
        self.averages = 0
        self.mean_theta = torch.zeros_like(self.network.theta)
        self.mean_Phi = np.zeros_like(self.Phi)

    def target(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.model.log_joint(Z, self.start.X)

    def pretrain(self) -> None:
        """Train on the values that the chains start from."""
        Z = tensor(self.state.z)
        for _ in range(self.schedule.pretraining):
            self._train(Z, self.schedule.first_rate, 0.1)
        self.model = self.network.snapshot(self.noise, self.Phi)

    def e_step(self, t: int) -> None:
        """Draw the factors once given all else."""
        C = self._covariance() if self.schedule.preconditioned else None
        self.state = mala.init(self.target, self.state.z, self.state.step_size, C)
        if self.schedule.tuning:
            self.state = mala.tune(self.rng, self.target, self.state, self.schedule.tuning)
        accepted = []
        for _ in range(self.schedule.moves):
            self.state, info = mala.step(self.rng, self.target, self.state)
            accepted.append(info.acceptance)
            if not self.schedule.tuning:
                self.state = mala.adapt(self.state, info, 1.0 / (1 + t) ** 0.5)
        self.acceptance = float(np.mean(accepted))

    def _covariance(self) -> FloatArray:
        every = max(len(self.state.z) // _PILOT, 1)
        return posterior_covariance(self.model, self.state.z[::every], self.start.X[::every])

    def m_step(self, t: int) -> None:
        """Move all parameters towards the draw."""
        Z, schedule = tensor(self.state.z), self.schedule
        damping = 1.0 if schedule.batch is None else 1.0 / schedule.adam_steps
        for _ in range(schedule.adam_steps):
            self._train(Z, schedule.rate(t), damping)
        if t >= schedule.phi_from:
            drawn = self.state.z.T @ self.state.z / len(self.state.z)
            part = schedule.phi_damping
            self.Phi = correlations((1 - part) * self.Phi + part * correlations(drawn))
        self.model = self.network.snapshot(self.noise, self.Phi)
        if t >= (1 - schedule.averaged) * schedule.iterations:
            self.averages += 1
            self.mean_theta += (self.network.theta.detach() - self.mean_theta) / self.averages
            self.mean_Phi += (self.Phi - self.mean_Phi) / self.averages

    def _train(self, Z: torch.Tensor, rate: float, damping: float) -> None:
        """One Adam step; Ω moves by ``damping`` to the residuals' mean squares."""
        x, seen = self.answers, self.seen
        if self.schedule.batch is not None and self.schedule.batch < len(Z):
            rows = torch.from_numpy(self.rng.integers(len(Z), size=self.schedule.batch))
            Z, x, seen = Z[rows], x[rows], seen[rows]
        read = self.network.interpolate if self.schedule.interpolated else self.network
        squares = ((x - read(Z)) * seen).square().sum(dim=0)
        loss = (squares / tensor(self.noise)).sum() / len(Z)
        if self.schedule.decay:
            theta = self.network.theta
            loss = loss + self.schedule.decay / len(self.answers) * theta.square().sum()
        self.adam.step(loss / 2, rate)
        found = (squares.detach() / seen.sum(dim=0).clamp(min=1)).numpy()
        self.noise = np.maximum(self.noise + damping * (found - self.noise), LEAST_NOISE)

    def finish(self) -> NetworkModel:
        """Put the averages in place of the last values; Ω at these, over some more draws."""
        if not self.averages:
            return self.network.export(self.noise, self.Phi)
        self.network.theta.data.copy_(self.mean_theta)
        self.Phi = correlations(self.mean_Phi)
        self.model = self.network.snapshot(self.noise, self.Phi)
        self.state = mala.init(self.target, self.state.z, self.state.step_size, self._covariance())
        noise = []
        for k in range(_LAST_MOVES):
            self.state, info = mala.step(self.rng, self.target, self.state)
            if k % _BETWEEN == 0:
                noise.append(residual_variances(self.model, self.start.X, self.state.z))
        self.acceptance = info.acceptance
        return self.network.export(np.mean(noise, axis=0), self.Phi)
