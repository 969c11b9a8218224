"""A nonlinear factor model whose curves are one masked network, as plain arrays.

    X_i = g_i(z ∘ a_i) + ε_i,   ε_i ~ N(0, ω_i),   Z ~ N(0, Φ), variances 1

with a_i row i of the support and g the network tanh, tanh, tanh, linear: a pass for each distinct
mask, output i read from the pass with mask a_i (Moran et al. 2022; the paper, appendix C.1).

An output with one parent is a curve of one number. Samplers ask for it millions of times, so
``log_joint`` reads it off a table: the network at 193 nodes on [−6, 6], cubic Hermite between them
(error h⁴ max|g⁗|/384, below 1e-6), straight lines beyond. All else is exact passes.

References
----------
Moran, G. E., Sridhar, D., Wang, Y. & Blei, D. M. (2022). Identifiable deep generative models via
sparse decoding. Transactions on Machine Learning Research.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.core.saved import register
from dtstat.curves.response_model import Edges

_SPAN, _SPACING = 6.0, 1 / 16
_BLOCK = 512  # rows whose layers stay in the cache
_REPEATS = 8  # of a row of z on average that make it worth while to compute it once
_NODES = np.arange(-_SPAN, _SPAN + _SPACING, _SPACING)


@dataclass(frozen=True, eq=False)
class Pass:
    """Items whose masks are equal.

    Attributes
    ----------
    parents
        (q,) their factors.
    items
        (k,) which they are.
    """

    parents: IntArray
    items: IntArray

    @classmethod
    def all_of(cls, support: BoolArray) -> list[Pass]:
        """List the distinct masks of a support."""
        masks, group = np.unique(support, axis=0, return_inverse=True)
        found = group.reshape(-1)
        return [cls(np.flatnonzero(m), np.flatnonzero(found == g)) for g, m in enumerate(masks)]


def _layers_fit(model: NetworkModel) -> bool:
    """Whether every layer of a network takes what the one before gives."""
    p, d = model.support.shape
    widths = [d, *(len(bias) for bias in model.biases)]
    shapes = [weight.shape for weight in model.weights]
    return shapes == list(pairwise(widths)) and widths[-1] == p


@register(
    shapes={
        "support": "pd",
        "noise": "p",
        "factor_correlations": "dd",
        "weights": "l",
        "weights[]": "**",
        "biases": "l",
        "biases[]": "*",
    },
    rules={"layers fit together": _layers_fit},
)
@dataclass(frozen=True, eq=False)
class NetworkModel:
    """Parameters of the model.

    Attributes
    ----------
    support
        (p, d) which item is a child of which factor.
    weights, biases
        Of the layers, first to last: (d, h), (h, h), ..., (h, p) and (h,), ..., (p,). Passes are
        in their precision; training uses a model in single precision.
    noise
        (p,) ω.
    factor_correlations
        (d, d) Φ.
    """

    support: BoolArray
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    noise: FloatArray
    factor_correlations: FloatArray

    @cached_property
    def edges(self) -> Edges:
        """The item–factor pairs."""
        return Edges.of(self.support)

    @cached_property
    def passes(self) -> list[Pass]:
        """The distinct masks and their items."""
        return Pass.all_of(self.support)

    def log_joint(self, Z: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log f(x | z) − ½ zᵀΦ⁻¹z and its gradient by z.

        Parameters
        ----------
        Z, X
            (m, d) factors and (n, p) answers, NaN if missing; m is n, or a multiple of it if
            every row of answers is met by several values of z.
        """
        if len(Z) != len(X):
            X = np.tile(X, (len(Z) // len(X), 1))
        precision = np.asarray(np.linalg.inv(self.factor_correlations), dtype=np.float64)
        gradient = -np.ascontiguousarray(Z) @ precision
        value: FloatArray = 0.5 * (Z * gradient).sum(axis=1)
        alone, parents, table = self._table
        Y = np.ascontiguousarray(X if len(alone) == X.shape[1] else X[:, alone])
        omega = self.noise[alone]
        _add_curves(np.ascontiguousarray(Z), Y, parents, table, omega, value, gradient)
        for one in self.passes:
            if len(one.parents) != 1:
                self._add(one, Z, X[:, one.items], value, gradient)
        return value, gradient

    def predictors(self, Z: FloatArray) -> FloatArray:
        """(n, p) values g(z) at the rows of Z."""
        eta = np.empty((len(Z), len(self.support)))
        for one in self.passes:
            heads, run = _runs(Z[:, one.parents])
            eta[:, one.items] = self._output(self._hidden(Z[heads], one)[-1], one)[run]
        return eta

    def slopes(self, Z: FloatArray) -> FloatArray:
        """(n, E) slopes ∂g_i/∂z_j along the edges, sorted by item."""
        J = np.empty((len(Z), len(self.edges.item)))
        for one in self.passes:
            where = self.edges.start[one.items][:, None] + np.arange(len(one.parents))
            J[:, where] = self._slopes(self._hidden(Z, one), one)
        return J

    def information(self, Z: FloatArray, X: FloatArray) -> FloatArray:
        """(n, d, d) Φ⁻¹ + JᵀΩ⁻¹J of every row, J the slopes of the items it has."""
        d = self.support.shape[1]
        precision = np.empty((len(Z), d, d))
        precision[:] = np.linalg.inv(self.factor_correlations)
        for one in self.passes:
            J = self._slopes(self._hidden(Z, one), one)
            weight = np.where(np.isnan(X[:, one.items]), 0.0, 1 / self.noise[one.items])
            part = J.transpose(0, 2, 1) @ (weight[:, :, None] * J)
            precision[:, one.parents[:, None], one.parents] += part
        return precision

    @cached_property
    def _table(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Items with one parent, these parents, and (items, nodes, 2) values and slopes."""
        alone = np.flatnonzero(self.support.sum(axis=1) == 1)
        table = np.empty((len(self.support), len(_NODES), 2))
        for one in self.passes:
            if len(one.parents) == 1:
                Z = np.zeros((len(_NODES), self.support.shape[1]))
                Z[:, one.parents[0]] = _NODES
                layers = self._hidden(Z, one)
                table[one.items, :, 0] = self._output(layers[-1], one).T
                table[one.items, :, 1] = self._slopes(layers, one)[:, :, 0].T
        parents = self.support[alone].argmax(axis=1).astype(np.int64)
        return alone, parents, table[alone]

    def _add(
        self, one: Pass, Z: FloatArray, X: FloatArray, value: FloatArray, gradient: FloatArray
    ) -> None:
        """Add items with no parent or several. Rows of z that repeat in a run are one row."""
        heads, run = _runs(Z[:, one.parents])
        if _REPEATS * len(heads) <= len(Z):
            layers = self._hidden(Z[heads], one)
            by_eta = self._compare(X, self._output(layers[-1], one)[run], one, value)
            J = self._slopes(layers, one)[run]
            gradient[:, one.parents] += np.einsum("nk,nkj->nj", by_eta, J)
            return
        for first in range(0, len(Z), _BLOCK):
            rows = slice(first, first + _BLOCK)
            layers = self._hidden(Z[rows], one)
            by_eta = self._compare(X[rows], self._output(layers[-1], one), one, value[rows])
            gradient[rows, one.parents] += self._backward(by_eta, layers, one)

    def _compare(self, X: FloatArray, eta: FloatArray, one: Pass, value: FloatArray) -> FloatArray:
        """Add log f(x | η) to ``value`` and return its derivative by η; 0 where x is missing."""
        omega = self.noise[one.items]
        left = X - eta
        seen = ~np.isnan(left)
        left = np.where(seen, left, 0.0)
        value -= 0.5 * (left**2 / omega + seen * np.log(2 * math.pi * omega)).sum(axis=1)
        by_eta: FloatArray = left / omega
        return by_eta

    def _hidden(self, Z: FloatArray, one: Pass) -> list[FloatArray]:
        """Activations of the hidden layers in a pass."""
        inputs = Z[:, one.parents].astype(self.weights[0].dtype)
        layers = [np.tanh(inputs @ self.weights[0][one.parents] + self.biases[0])]
        for W, b in zip(self.weights[1:-1], self.biases[1:-1], strict=True):
            layers.append(np.tanh(layers[-1] @ W + b))
        return layers

    def _output(self, last: FloatArray, one: Pass) -> FloatArray:
        output: FloatArray = last @ self.weights[-1][:, one.items] + self.biases[-1][one.items]
        return output

    def _slopes(self, layers: list[FloatArray], one: Pass) -> FloatArray:
        """(n, k, q) derivatives of outputs by parents: tangents carried forwards."""
        n, h = layers[0].shape
        T = (1 - layers[0] ** 2)[:, None, :] * self.weights[0][one.parents]
        for A, W in zip(layers[1:], self.weights[1:-1], strict=True):
            T = (1 - A**2)[:, None, :] * (T.reshape(-1, h) @ W).reshape(n, -1, h)
        flat = T.reshape(-1, h) @ self.weights[-1][:, one.items]
        slopes: FloatArray = flat.reshape(n, len(one.parents), len(one.items)).transpose(0, 2, 1)
        return slopes

    def _backward(self, by_output: FloatArray, layers: list[FloatArray], one: Pass) -> FloatArray:
        """(n, q) derivatives by parents of a number whose derivatives by outputs are known."""
        V = self.weights[-1][:, one.items]
        by = (by_output.astype(V.dtype) @ V.T) * (1 - layers[-1] ** 2)
        for A, W in zip(layers[-2::-1], self.weights[-2:0:-1], strict=True):
            by = by @ W.T
            by *= 1 - A**2
        gradient: FloatArray = by @ self.weights[0][one.parents].T
        return gradient


def _runs(Z: FloatArray) -> tuple[IntArray, IntArray]:
    """Positions of rows that differ from the one before, and for each row which of them it is."""
    new = np.ones(len(Z), dtype=bool)
    new[1:] = (Z[1:] != Z[:-1]).any(axis=1)
    return np.flatnonzero(new), np.cumsum(new) - 1


@kernel
def _add_curves(
    Z: FloatArray,
    X: FloatArray,
    parent: IntArray,
    table: FloatArray,
    omega: FloatArray,
    value: FloatArray,
    gradient: FloatArray,
) -> None:
    """Add items with one parent each, whose curves are cubic between tabulated nodes.

    ``table`` has values and slopes at the nodes, (items, nodes, 2). Beyond them curves are
    straight. Missing answers are NaN and left out.
    """
    half_log = 0.5 * np.log(2 * math.pi * omega)
    last = table.shape[1] - 2
    for r in range(X.shape[0]):
        for i in range(X.shape[1]):
            if math.isnan(X[r, i]):
                continue
            z = Z[r, parent[i]]
            g = min(max(int((z + _SPAN) / _SPACING), 0), last)
            u = min(max((z + _SPAN) / _SPACING - g, 0.0), 1.0)
            rise = table[i, g + 1, 0] - table[i, g, 0]
            m0 = table[i, g, 1] * _SPACING - rise
            m1 = table[i, g + 1, 1] * _SPACING - rise
            slope = rise + (1 - u) * (1 - 3 * u) * m0 - u * (2 - 3 * u) * m1
            eta = table[i, g, 0] + u * rise + u * (1 - u) * ((1 - u) * m0 - u * m1)
            eta += slope * ((z + _SPAN) / _SPACING - g - u)
            by_eta = (X[r, i] - eta) / omega[i]
            value[r] -= half_log[i] + 0.5 * (X[r, i] - eta) * by_eta
            gradient[r, parent[i]] += by_eta * slope / _SPACING
