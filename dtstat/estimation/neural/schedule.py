"""How stochastic EM goes about it: as in the paper, or faster.

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
from dataclasses import dataclass


def falling(done: float, first: float, last: float) -> float:
    """Learning rate when a share of the work is done: constant for half of it, then a cosine."""
    late = max(2 * done - 1, 0.0)
    return last + (1 + math.cos(math.pi * late)) / 2 * (first - last)


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
        Precision of a normal prior of the weights, which keeps few answers from being learnt by
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
