"""Metropolis-adjusted Langevin sampling of many chains at once.

One chain per person, each with a target π_n of its own. From z, with step size ε and a common
preconditioner C (the identity if isotropic),

    z' = z + (ε²/2) C ∇log π(z) + ε C^{1/2} ξ,    ξ ~ N(0, I),

accepted with probability min(1, a),

    log a = log π(z') − log π(z) + log q(z | z') − log q(z' | z),
    log q(z' | z) = −‖C^{-1/2} (z' − z − (ε²/2) C ∇log π(z))‖² / (2ε²) + constant.

(Roberts & Tweedie 1996; in the paper, appendix C, ε² is written as the step size.) The step is
best where .574 of the proposals are accepted (Roberts & Rosenthal 1998): ``adapt`` moves log ε
towards that by the mean acceptance over all chains, then it is frozen, so that what follows is an
exact chain.

References
----------
Roberts, G. O. & Rosenthal, J. S. (1998). Optimal scaling of discrete approximations to Langevin
diffusions. JRSS B 60, 255–268. Roberts, G. O. & Tweedie, R. L. (1996). Exponential convergence of
Langevin distributions and their discrete approximations. Bernoulli 2, 341–363.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.kernels import kernel

OPTIMAL, TOLERANCE = 0.574, 0.01
_LEAST_ACCEPTANCE = 0.05
_LEAST_STEP = 0.01  # in units of the preconditioner: chains that need less do not travel
Target = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class State:
    """Where n chains are.

    Attributes
    ----------
    z
        (n, d) positions.
    log_density, gradient
        (n,) log π and (n, d) its gradient there.
    step_size
        ε.
    root
        (d, d) lower Cholesky factor of the preconditioner C.
    """

    z: FloatArray
    log_density: FloatArray
    gradient: FloatArray
    step_size: float
    root: FloatArray


@dataclass(frozen=True)
class Info:
    """What a step did: the mean acceptance probability, and the share of chains that moved."""

    acceptance: float
    moved: float


def init(
    target: Target, z: FloatArray, step_size: float = 1.0, preconditioner: FloatArray | None = None
) -> State:
    """Start chains at z.

    Parameters
    ----------
    target
        Returns log π (n,) and its gradient (n, d) at (n, d) positions.
    z
        Where to start; a state's ``z`` for a warm start.
    step_size
        ε to begin with.
    preconditioner
        (d, d) matrix C, about the covariance of the targets; the identity if omitted.
    """
    d = z.shape[1]
    C = np.eye(d) if preconditioner is None else preconditioner
    root = np.asarray(np.linalg.cholesky(C), dtype=np.float64)
    return State(z, *target(z), step_size, root)


def step(rng: np.random.Generator, target: Target, state: State) -> tuple[State, Info]:
    """Move all chains once."""
    noise = rng.standard_normal(state.z.shape)
    eps, root = state.step_size, state.root
    z = np.empty_like(state.z)
    _propose(state.z, state.gradient, noise, root, eps, z)
    log_density, gradient = target(z)
    log_ratio = log_density - state.log_density
    _add_ratio(state.gradient, gradient, noise, root, eps, log_ratio)
    probability = np.exp(np.minimum(log_ratio, 0.0))
    probability[~np.isfinite(log_density)] = 0.0
    moves = rng.random(len(z)) < probability
    where = moves[:, None]
    moved = replace(
        state,
        z=np.where(where, z, state.z),
        log_density=np.where(moves, log_density, state.log_density),
        gradient=np.where(where, gradient, state.gradient),
    )
    return moved, Info(float(probability.mean()), float(moves.mean()))


@kernel
def _propose(
    z: FloatArray,
    gradient: FloatArray,
    noise: FloatArray,
    root: FloatArray,
    eps: float,
    proposed: FloatArray,
) -> None:
    """Fill in z + C^{1/2} (ε²/2 C^{T/2} ∇ + ε ξ)."""
    n, d = z.shape
    move = np.empty(d)
    for r in range(n):
        for j in range(d):
            drift = 0.0
            for k in range(j, d):  # the root is lower triangular
                drift += root[k, j] * gradient[r, k]
            move[j] = eps * (eps / 2 * drift + noise[r, j])
        for j in range(d):
            total = z[r, j]
            for k in range(j + 1):
                total += root[j, k] * move[k]
            proposed[r, j] = total


@kernel
def _add_ratio(
    here: FloatArray,
    there: FloatArray,
    noise: FloatArray,
    root: FloatArray,
    eps: float,
    log_ratio: FloatArray,
) -> None:
    """Add log q(z | z') − log q(z' | z).

    In units of C^{1/2} the way back misses by −ξ − ε/2 C^{T/2}(∇ + ∇').
    """
    n, d = noise.shape
    for r in range(n):
        for j in range(d):
            drift = 0.0
            for k in range(j, d):
                drift += root[k, j] * (here[r, k] + there[r, k])
            back = noise[r, j] + eps / 2 * drift
            log_ratio[r] += (noise[r, j] * noise[r, j] - back * back) / 2


def adapt(state: State, info: Info, rate: float) -> State:
    """Move log ε towards the best acceptance: by rate (acceptance − .574)."""
    change = np.exp(rate * (info.acceptance - OPTIMAL))
    return replace(state, step_size=float(np.clip(state.step_size * change, 1e-6, 1e3)))


def short_step(rng: np.random.Generator, target: Target, state: State) -> State:
    """Move all chains once by a fifth of the step.

    ε suits most chains, not those whose target is much narrower: now and then a short move lets
    them travel too. A fixed cycle of moves keeps the target.
    """
    moved, _ = step(rng, target, replace(state, step_size=state.step_size / 5))
    return replace(moved, step_size=state.step_size)


def tune(rng: np.random.Generator, target: Target, state: State, most: int) -> State:
    """Move and adapt until a move's mean acceptance is within .574 ± .01; then ε is frozen.

    With few chains the acceptance is a noisy number: after ``most`` moves ε stays as it is.
    """
    for _ in range(most):
        state, info = step(rng, target, state)
        if abs(info.acceptance - OPTIMAL) <= TOLERANCE:
            break
        state = adapt(state, info, 1.0)
    return state


def burn_in(
    rng: np.random.Generator, target: Target, state: State, steps: int
) -> tuple[State, float]:
    """Adapt the step size over so many steps with a falling rate; return it with its acceptance.

    The acceptance is the mean over the last third, during which ε hardly moves.
    """
    accepted = []
    for t in range(steps):
        state, info = step(rng, target, state)
        accepted.append(info.acceptance)
        state = adapt(state, info, 2.0 / (1 + t) ** 0.6)
    return state, float(np.mean(accepted[-max(steps // 3, 1) :]))


def is_frozen(state: State, acceptance: float) -> bool:
    """Whether chains have stopped traveling: hardly any step is accepted, or steps are tiny."""
    return acceptance < _LEAST_ACCEPTANCE or state.step_size < _LEAST_STEP
