"""The masked network that is trained, the optimizer that trains it, and what training returns.

Three hidden layers of width 100 with tanh, p outputs; output i is read from the pass whose input
is z ∘ a_i, a_i row i of the support (the paper, appendix C.1). Equal masks share a pass. All
parameters are one vector θ, so that Adam (Kingma & Ba 2015) is a few operations and their average
over iterations one more. No other module imports torch from its package.

References
----------
Kingma, D. P. & Ba, J. (2015). Adam: A method for stochastic optimization. ICLR.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import MissingExtraError
from dtstat.curves.network_model import NetworkModel, Pass

try:
    import torch
except ImportError as error:
    raise MissingExtraError(
        "The estimator 'neural'",
        "torch",
        "neural",
        "Or use the estimator 'spline', which needs nothing more.",
    ) from error

__all__ = ["torch"]  # imported from here by the estimators

LEAST_NOISE = 1e-3  # of an item's variance, which is 1
WIDTH, DEPTH = 100, 3  # of the hidden layers
_SPAN, _NODES = 6.0, 193  # of the curves that ``interpolate`` reads
Parameters = list[tuple[torch.Tensor, torch.Tensor]]


class Layers:
    """A network with tanh between its layers.

    Attributes
    ----------
    theta
        All weights and biases; they start uniform on ±1/√(inputs of the layer).
    """

    def __init__(self, sizes: Sequence[int], generator: torch.Generator) -> None:
        self.shapes: list[tuple[int, ...]] = []
        parts = []
        for a, b in pairwise(sizes):
            for shape in ((a, b), (b,)):
                self.shapes.append(shape)
                uniform = torch.rand(math.prod(shape), generator=generator)
                parts.append((2 * uniform - 1) / math.sqrt(max(a, 1)))
        self.theta = torch.cat(parts).requires_grad_()

    def parameters(self) -> Parameters:
        """Weights and biases of the layers, as views of θ."""
        pieces = torch.split(self.theta, [math.prod(shape) for shape in self.shapes])
        shaped = [v.reshape(shape) for v, shape in zip(pieces, self.shapes, strict=True)]
        return list(zip(shaped[::2], shaped[1::2], strict=True))

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs at the rows of ``inputs``."""
        *hidden, (W, b) = self.parameters()
        return torch.addmm(b, _through(hidden, inputs), W)


class MaskedNetwork(Layers):
    """Outputs of p items from d factors, each a function of its parents only."""

    def __init__(self, support: BoolArray, generator: torch.Generator, width: int = WIDTH) -> None:
        p, d = support.shape
        super().__init__([d, *[width] * DEPTH, p], generator)
        self.support = support
        self.passes = Pass.all_of(support)
        self.place = torch.from_numpy(np.argsort(np.concatenate([q.items for q in self.passes])))

    def __call__(self, Z: torch.Tensor) -> torch.Tensor:
        """(n, p) outputs: a pass for each distinct mask."""
        parameters = self.parameters()
        found = [_direct(parameters, Z, one) for one in self.passes]
        return torch.cat(found, dim=1)[:, self.place]

    def interpolate(self, Z: torch.Tensor) -> torch.Tensor:
        """(n, p) outputs, those with one parent by straight lines between 193 nodes on [−6, 6].

        They cost 193 rows of a pass instead of n. The error is below .0005 of the second
        derivative.
        """
        parameters = self.parameters()
        found = [
            (_between if len(one.parents) == 1 else _direct)(parameters, Z, one)
            for one in self.passes
        ]
        return torch.cat(found, dim=1)[:, self.place]

    def export(self, noise: FloatArray, Phi: FloatArray) -> NetworkModel:
        """Return the model as arrays, with noise and Φ."""
        return self._as_model(self.theta.detach().numpy().astype(np.float64), noise, Phi)

    def snapshot(self, noise: FloatArray, Phi: FloatArray) -> NetworkModel:
        """Return the model as it is, in single precision: several times as fast to sample from."""
        return self._as_model(self.theta.detach().numpy().copy(), noise, Phi)

    def _as_model(self, flat: FloatArray, noise: FloatArray, Phi: FloatArray) -> NetworkModel:
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = [v.reshape(s) for v, s in zip(np.split(flat, ends), self.shapes, strict=True)]
        return NetworkModel(self.support, tuple(parts[::2]), tuple(parts[1::2]), noise, Phi)


class Adam:
    """Steps of size ``rate`` along the gradient's running mean over its running spread."""

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self.parameters = list(parameters)
        self.mean = [torch.zeros_like(v) for v in self.parameters]
        self.square = [torch.zeros_like(v) for v in self.parameters]
        self.count = 0

    def step(self, loss: torch.Tensor, rate: float) -> None:
        """Move the parameters down the gradient of ``loss``."""
        gradients = torch.autograd.grad(loss, self.parameters)
        self.count += 1
        a, b = 1 - 0.9**self.count, 1 - 0.999**self.count
        with torch.no_grad():
            for v, g, m, s in zip(self.parameters, gradients, self.mean, self.square, strict=True):
                m.lerp_(g, 0.1)
                s.lerp_(g * g, 0.001)
                v.addcdiv_(m, (s / b).sqrt_().add_(1e-8), value=-rate / a)


@dataclass(frozen=True, eq=False)
class NetworkEstimate:
    """A fitted network.

    Attributes
    ----------
    model
        Its parameters.
    z
        (n, d) the last draw of the factors.
    acceptance, step_size
        Of the sampler at the end.
    restarts
        How often estimation began anew because the sampler had frozen.
    """

    model: NetworkModel
    z: FloatArray
    acceptance: float
    step_size: float
    restarts: int = 0


def residual_variances(model: NetworkModel, X: FloatArray, Z: FloatArray) -> FloatArray:
    """(p,) mean squared residuals of the answers there are, .001 or more."""
    square = np.where(np.isnan(X), 0.0, X - model.predictors(Z)) ** 2
    seen = np.maximum((~np.isnan(X)).sum(axis=0), 1)
    variances: FloatArray = np.maximum(square.sum(axis=0) / seen, LEAST_NOISE)
    return variances


def tensor(values: FloatArray) -> torch.Tensor:
    """Single-precision copy of an array."""
    return torch.from_numpy(values.astype(np.float32))


def generator_from(rng: np.random.Generator) -> torch.Generator:
    """Return a generator of torch's own that depends on ``rng`` only."""
    generator = torch.Generator()
    generator.manual_seed(int(rng.integers(2**62)))
    return generator


def _through(hidden: Parameters, A: torch.Tensor) -> torch.Tensor:
    for W, b in hidden:
        A = torch.tanh(torch.addmm(b, A, W))
    return A


def _pass(parameters: Parameters, inputs: torch.Tensor, one: Pass) -> torch.Tensor:
    """Return a pass from its parents' columns; the others are 0, their weights play no part."""
    (W, b), *others, (V, c) = parameters
    A = _through(others, torch.tanh(torch.addmm(b, inputs, W[one.parents])))
    return torch.addmm(c[one.items], A, V[:, one.items])


def _direct(parameters: Parameters, Z: torch.Tensor, one: Pass) -> torch.Tensor:
    """(n, k) outputs of a pass; one without parents needs one row."""
    inputs = Z[:, one.parents] if len(one.parents) else Z[:1, :0]
    return _pass(parameters, inputs, one).expand(len(Z), -1)


def _between(parameters: Parameters, Z: torch.Tensor, one: Pass) -> torch.Tensor:
    """(n, k) outputs of a pass with one parent, by straight lines between nodes."""
    Y = _pass(parameters, torch.linspace(-_SPAN, _SPAN, _NODES)[:, None], one)
    place = (Z[:, int(one.parents[0])] + _SPAN) * ((_NODES - 1) / (2 * _SPAN))
    left = place.detach().floor().clamp(0, _NODES - 2)
    at = left.long()
    Y0, Y1 = Y.index_select(0, at), Y.index_select(0, at + 1)
    return torch.lerp(Y0, Y1, (place - left)[:, None])
