"""Response maps: the functions that turn a factor into an item's signal (Appendix B)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import FloatArray
from dtstat.core.checks import is_scalar, refusal, unknown
from dtstat.core.errors import InputError

MapFunction = Callable[[FloatArray], FloatArray]
MapsArgument = str | MapFunction | Iterable[str | MapFunction]


@dataclass(frozen=True)
class ResponseMap:
    """A function of one factor.

    Attributes
    ----------
    name
        Key in ``MAPS``, or the name of the user's function.
    formula
        The function as text.
    function
        Vectorized: (n,) factor values to (n,) signal values.
    monotone
        Whether it only rises or only falls; None when unknown.
    """

    name: str
    formula: str
    function: MapFunction
    monotone: bool | None = True

    def __call__(self, z: FloatArray) -> FloatArray:
        """Apply the map to (n,) factor values and check what a user's function gives back."""
        try:
            signal = np.asarray(self.function(z), dtype=float)
        except Exception as error:  # whatever the user's function does
            raise InputError(
                f"The map '{self.name}' in `maps` ended with {type(error).__name__}: {error}. It "
                "gets an array of n factor values and must return n numbers.",
                "maps",
            ) from error
        if signal.shape != z.shape or not np.isfinite(signal).all():
            raise InputError(
                f"The map '{self.name}' in `maps` must turn an array of n factor values into n "
                f"finite numbers; from {len(z)} values it made shape {signal.shape}"
                + (" with infinite or missing entries." if signal.shape == z.shape else ".")
                + " Write it with numpy functions, such as `lambda z: np.tanh(z)`.",
                "maps",
            )
        return signal


def _erf(z: FloatArray) -> FloatArray:
    from scipy.special import erf

    values: FloatArray = erf(z)
    return values


_ALL = (
    ResponseMap("g1", "1.5 z + sin(0.5 z)", lambda z: 1.5 * z + np.sin(0.5 * z)),
    ResponseMap("g2", "erf(z)", _erf),
    ResponseMap("g3", "z / (1 + |z|)", lambda z: z / (1 + np.abs(z))),
    ResponseMap("g4", "log(exp(z) + 1)", lambda z: np.logaddexp(z, 0)),
    ResponseMap(
        "g5", "sign(z) sqrt(|z| + 0.001)", lambda z: np.sign(z) * np.sqrt(np.abs(z) + 1e-3)
    ),
    ResponseMap("g6", "asinh(z)", np.arcsinh),
    ResponseMap("g7", "atan(z)", np.arctan),
    ResponseMap("g8", "exp(0.5 z)", lambda z: np.exp(0.5 * z)),
    ResponseMap("g9", "tanh(0.8 z)", lambda z: np.tanh(0.8 * z)),
    ResponseMap("g10", "1 / (1 + exp(z))", lambda z: 1 / (1 + np.exp(z))),
    ResponseMap("linear", "z", lambda z: z),
    ResponseMap("square", "z^2", np.square, monotone=False),
    ResponseMap("absolute", "|z|", np.abs, monotone=False),
    ResponseMap("cosine", "cos(1.5 z)", lambda z: np.cos(1.5 * z), monotone=False),
    ResponseMap("bump", "exp(-z^2)", lambda z: np.exp(-np.square(z)), monotone=False),
)
MAPS = {m.name: m for m in _ALL}


@dataclass(frozen=True)
class MapSet:
    """Maps to cycle through, and those that replace them at every fifth item of a factor."""

    cycle: tuple[ResponseMap, ...]
    every_fifth: tuple[ResponseMap, ...] = ()


_PAPER = tuple(MAPS[f"g{k}"] for k in range(1, 11))
MAP_SETS = {
    "paper": MapSet(_PAPER),
    "linear": MapSet((MAPS["linear"],)),
    "non_monotone": MapSet(tuple(m for m in _ALL if not m.monotone)),
    "one_in_five": MapSet(_PAPER, every_fifth=(MAPS["square"], MAPS["absolute"])),
}


class Edge(NamedTuple):
    """One use of a map: item ``item`` depends on factor ``factor`` through ``map``."""

    item: int
    factor: int
    map: ResponseMap


def find_map_set(maps: MapsArgument) -> MapSet:
    """Turn the argument ``maps`` into a set: the name of one, or one map, or a list of maps."""
    if isinstance(maps, str):
        if maps in MAP_SETS:
            return MAP_SETS[maps]
        maps = [maps]
    several = isinstance(maps, Iterable) and not is_scalar(maps)
    listed: list[Any] = list(maps) if several else [maps]  # type: ignore[arg-type]
    if not listed:
        raise refusal("maps", "the name of a set of maps or a list of maps", listed, "Name one.")
    return MapSet(tuple(_find_map(m) for m in listed))


def _find_map(wanted: str | MapFunction) -> ResponseMap:
    if callable(wanted):
        name = getattr(wanted, "__name__", type(wanted).__name__)
        return ResponseMap(name, "", wanted, monotone=None)
    if not isinstance(wanted, str) or wanted not in MAPS:
        raise unknown("maps", "known names or functions", wanted, {*MAP_SETS, *MAPS})
    return MAPS[wanted]


def assign_maps(support: npt.NDArray[np.bool_], maps: MapSet) -> list[Edge]:
    """Give each item–parent pair its map: "k cycles per use" (Appendix B).

    One counter runs over the pairs, item by item. At every fifth child of a factor, a map of
    ``maps.every_fifth``, if there are any, takes the place of the one whose turn it was.
    """
    child_number = support.cumsum(axis=0)
    exceptions = cycle(maps.every_fifth)
    edges = []
    for (i, j), turn in zip(np.argwhere(support).tolist(), cycle(maps.cycle), strict=False):
        excepted = maps.every_fifth and child_number[i, j] % 5 == 0
        edges.append(Edge(i, j, next(exceptions) if excepted else turn))
    return edges


def additive_signal(Z: FloatArray, edges: Iterable[Edge], p: int) -> FloatArray:
    """Return the (n, p) signals Σ_{j ∈ pa(X_i)} g_k(Z_j) of Appendix B."""
    signal = np.zeros((len(Z), p))
    for item, factor, response in edges:
        signal[:, item] += response(Z[:, factor])
    return signal
