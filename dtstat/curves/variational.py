"""The masked network as a structured importance-weighted autoencoder.

The decoder is the network of :mod:`dtstat.curves.network`; an encoder, two layers of
width 100, gives mean μ(x) and Cholesky factor C(x) of a normal q(z | x). With K draws from it the
bound (Burda, Grosse & Salakhutdinov 2016)

    E log (1/K) Σ_k f(x | z_k) f(z_k) / q(z_k | x)  ≤  log f(x)

is raised by Adam on mini-batches, in network, noise, Φ and encoder at once. Φ is a correlation
matrix: L Lᵀ with L lower triangular and rows of length 1. A missing answer enters the encoder as
0 with a mark that it is missing, and leaves the likelihood. Both networks first learn the values
that estimation starts from; the decoder's weights have a weak normal prior; parameters are averaged
over the last half.

References
----------
Burda, Y., Grosse, R. & Salakhutdinov, R. (2016). Importance weighted autoencoders. ICLR.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.parallel import Progress, track
from dtstat.curves import mala
from dtstat.curves.network import (
    LEAST_NOISE,
    WIDTH,
    Adam,
    Layers,
    MaskedNetwork,
    NetworkEstimate,
    generator_from,
    tensor,
    torch,
)
from dtstat.curves.posterior import posterior_covariance
from dtstat.curves.response_model import correlations
from dtstat.curves.stochastic_em import falling

STEPS = 1000
_PRETRAINING = 300
_DRAWS = 10
_DECAY = 3.0  # precision of a normal prior of the decoder's weights
_BATCH = 256
_RATES = (3e-3, 1e-4)
_START_NOISE = 0.3
_LAST_MOVES = 30  # of MALA to a draw of the posterior
_LOG_2PI = math.log(2 * math.pi)


def fit_variational(
    X: FloatArray,
    support: BoolArray,
    Z: FloatArray,
    Phi: FloatArray,
    rng: np.random.Generator,
    steps: int = STEPS,
    progress: Progress = None,
) -> NetworkEstimate:
    """Estimate network, noise and Φ of a given structure by an importance-weighted bound.

    Parameters
    ----------
    X, support, Z, Phi, rng, progress
        As in :func:`dtstat.curves.stochastic_em.fit_network`.
    steps
        Adam steps, after as many, 300 at most, on the values of the start.
    """
    fit = _Autoencoder(np.ascontiguousarray(X), support, Phi, rng)
    fit.pretrain(Z, min(_PRETRAINING, steps))
    for t in track(range(steps), progress, "network"):
        fit.step(t, steps)
    return fit.finish()


class _Autoencoder:
    """Decoder, encoder, the other parameters, and their averages."""

    def __init__(
        self, X: FloatArray, support: BoolArray, Phi: FloatArray, rng: np.random.Generator
    ) -> None:
        self.X, self.rng = X, rng
        self.generator = generator_from(rng)
        self.p, self.d = support.shape
        missing = np.isnan(X)
        self.answers, self.seen = tensor(np.nan_to_num(X)), tensor(~missing)
        marked = missing[:, missing.any(axis=0)]
        self.inputs = torch.cat([self.answers, tensor(marked)], dim=1)
        self.decoder = MaskedNetwork(support, self.generator)
        outputs = self.d + self.d * (self.d + 1) // 2
        sizes = [self.inputs.shape[1], WIDTH, WIDTH, outputs]
        self.encoder = Layers(sizes, self.generator)
        self.below = torch.tril_indices(self.d, self.d)
        self.rows = tensor(np.asarray(np.linalg.cholesky(Phi), dtype=np.float64)).requires_grad_()
        self.log_noise = torch.full((self.p,), math.log(_START_NOISE)).requires_grad_()
        self.moving = [self.decoder.theta, self.encoder.theta, self.rows, self.log_noise]
        self.means = [torch.zeros_like(v) for v in self.moving]
        self.averages = 0
        self.adam = Adam(self.moving)

    def pretrain(self, Z: FloatArray, steps: int) -> None:
        """Train decoder and encoder on given factors."""
        given, adam = tensor(Z), Adam([self.decoder.theta, self.encoder.theta, self.log_noise])
        for _ in range(steps):
            rows = self._some()
            z = given[rows]
            mean, root = self._encode(rows)
            u = torch.linalg.solve_triangular(root, (z - mean)[:, :, None], upper=False)[:, :, 0]
            log_q = _log_normal(u, root)
            adam.step(-(self._log_answers(z, rows) + log_q).mean(), _RATES[0])

    def step(self, t: int, steps: int) -> None:
        """Raise the bound of some rows."""
        rows = self._some()
        prior = _DECAY / 2 / len(self.X) * self.decoder.theta.square().sum()
        self.adam.step(prior - self._bound(rows).mean(), falling(t / steps, *_RATES))
        if 2 * t >= steps:
            self.averages += 1
            for mean, value in zip(self.means, self.moving, strict=True):
                mean += (value.detach() - mean) / self.averages

    def _bound(self, rows: torch.Tensor) -> torch.Tensor:
        """(rows,) the importance-weighted bound."""
        mean, root = self._encode(rows)
        u = torch.randn(_DRAWS, len(rows), self.d, generator=self.generator)
        z = mean + torch.einsum("njk,mnk->mnj", root, u)
        L = self.rows.tril() / self.rows.tril().norm(dim=1, keepdim=True)
        flat = z.reshape(-1, self.d)
        v = torch.linalg.solve_triangular(L, flat.T, upper=False).T
        log_prior = _log_normal(v, L).reshape(_DRAWS, -1)
        log_answers = self._log_answers(flat, rows.repeat(_DRAWS)).reshape(_DRAWS, -1)
        log_w = log_answers + log_prior - _log_normal(u, root)
        return torch.logsumexp(log_w, dim=0) - math.log(_DRAWS)

    def _some(self) -> torch.Tensor:
        return torch.from_numpy(self.rng.integers(len(self.X), size=min(_BATCH, len(self.X))))

    def _encode(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(rows, d) means and (rows, d, d) Cholesky factors."""
        found = self.encoder(self.inputs[rows])
        root = torch.zeros(len(rows), self.d, self.d)
        root[:, self.below[0], self.below[1]] = found[:, self.d :]
        diagonal = torch.diagonal(root, dim1=1, dim2=2)
        root = root.tril(-1) + torch.diag_embed(torch.nn.functional.softplus(diagonal) + 1e-3)
        return found[:, : self.d], root

    def _log_answers(self, z: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Log f(x | z) of the answers there are."""
        log_omega = self.log_noise.clamp(min=math.log(LEAST_NOISE))
        left = self.answers[rows] - self.decoder.interpolate(z)
        terms = left.square() * torch.exp(-log_omega) + log_omega + _LOG_2PI
        return -0.5 * (terms * self.seen[rows]).sum(dim=1)

    def finish(self) -> NetworkEstimate:
        """Put the averages in place, and draw the factors once by MALA from the encoder's means."""
        if self.averages:
            for mean, value in zip(self.means, self.moving, strict=True):
                value.data.copy_(mean)
        L = self.rows.detach().tril().numpy().astype(np.float64)
        noise = np.exp(self.log_noise.detach().numpy().astype(np.float64))
        model = self.decoder.export(np.maximum(noise, LEAST_NOISE), correlations(L @ L.T))
        with torch.no_grad():
            mean, _ = self._encode(torch.arange(len(self.X)))
        z = mean.numpy().astype(np.float64)

        def target(at: FloatArray) -> tuple[FloatArray, FloatArray]:
            return model.log_joint(at, self.X)

        state = mala.init(target, z, 1.0, posterior_covariance(model, z, self.X))
        state, acceptance = mala.burn_in(self.rng, target, state, _LAST_MOVES)
        return NetworkEstimate(model, state.z, acceptance, state.step_size)


def _log_normal(u: torch.Tensor, root: torch.Tensor) -> torch.Tensor:
    """Log density of m + C u, u standard normal, at u; C lower triangular."""
    log_det = torch.diagonal(root, dim1=-2, dim2=-1).abs().log().sum(dim=-1)
    return -0.5 * (u.square().sum(dim=-1) + u.shape[-1] * _LOG_2PI) - log_det
