"""What a fit keeps of its curves: values and bands, slopes, tables and pictures.

For edge (i, j), with the factors as the model says, Z ~ N(0, Φ), and g_i on the scale on which the
item (for a rating: the response behind it; for an item known by its normal scores: these) has
variance 1:

    slope      E|∂g_i/∂z_j|
    loading    E[∂g_i/∂z_j], which is the slope of the straight line nearest to g_i (Stein 1981)
    R² map     Var g_i(Z)
    R² line    the share of it that the best straight line in the item's factors has

References
----------
Stein, C. M. (1981). Estimation of the mean of a multivariate normal distribution. Annals of
Statistics 9, 1135–1151.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.core import canvas
from dtstat.core.arrays import FloatArray
from dtstat.core.saved import register
from dtstat.core.tables import Table, with_texts
from dtstat.curves import ratings
from dtstat.curves.estimate import (
    CurveModel,
    NonlinearEstimate,
    answers_log_likelihood,
    draw_answers,
)
from dtstat.curves.likelihood import LogLikelihood, posterior_moments
from dtstat.curves.posterior import posterior_draws
from dtstat.curves.response_model import Edges, ResponseModel
from dtstat.curves.scales import AnswerScale
from dtstat.curves.uncertainty import phi_uncertainty, spline_uncertainty
from dtstat.curves.way_back import Shape, WayBack
from dtstat.data.frame import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

GRID = np.linspace(-3.0, 3.0, 61)
CURVE_COLUMNS = ["item", "factor", "z", "value", "lower", "upper"]
LOADING_COLUMNS = ["item", "factor", "loading", "slope", "r2_map", "r2_line", "nonlinearity"]
_DRAWS, _THIN, _BURN_IN = 80, 2, 40  # of the factors, for standard errors
_SCORE_DRAWS, _SHAPE_DRAWS = 400, 20_000
_OTHERS = 200  # draws of the other factors that a curve is averaged over
_BAND = 1.959963984540054  # 95 %
_ROW = 1.35  # inches
_LETTERS = {4: 18, 3: 25, 2: 42}  # columns → letters that a title above a panel has room for
_STYLES = ("-", "--", "-.", ":")  # of the item's first, second, ... factor


@register(
    shapes={
        "model.support": "pd",
        "scale.mean": "p",
        "factor_correlation_errors": "dd",
        "grid": "g",
        "values": "eg",
        "lower": "eg",
        "upper": "eg",
        "items.order": "p",
        "factors.order": "d",
    },
    rules={"every edge has a curve": lambda fit: len(fit.values) == int(fit.model.support.sum())},
)
@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """Curves of the chosen structure.

    Attributes
    ----------
    model, scale
        Parameters, and how answers are coded for them; of the items and factors in their frames,
        in which they were fitted, so that their order and signs do not change what is drawn.
    log_likelihood, monte_carlo_se
        Of the rows, with the error of its estimation: from the draws and, of splines, from two
        independent runs.
    n_parameters
        Effective number; NaN for a network.
    factor_correlation_errors
        (d, d) standard errors of Φ.
    grid, values, lower, upper
        (G,) values of a factor, (E, G) the mean answers there, and a 95 % band; NaN for a network.
    acceptance, restarts
        Of the sampler.
    seed
        Of the random numbers.
    items, factors
        The frames (:class:`dtstat.data.frame.Frame`); None for items and factors as given.
    """

    model: CurveModel
    scale: AnswerScale
    log_likelihood: float
    monte_carlo_se: float
    n_parameters: float
    factor_correlation_errors: FloatArray
    grid: FloatArray
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    acceptance: float
    restarts: int
    seed: int
    items: Frame | None = None
    factors: Frame | None = None

    @cached_property
    def _way(self) -> WayBack:
        return WayBack.of(self.model, self.items, self.factors)

    @cached_property
    def shape(self) -> Shape:
        """How steep and how straight the curves are."""
        return self._way.shape(shape(self.model))

    @property
    def edges(self) -> Edges:
        """The item–factor pairs, sorted by item."""
        return self._way.edges

    @property
    def loadings(self) -> FloatArray:
        """(p, d) slopes of the straight lines nearest to the curves, items having variance 1."""
        loadings = np.zeros(self.model.support.shape)
        loadings[self.edges.item, self.edges.factor] = self.shape.loading
        return loadings

    @property
    def uniquenesses(self) -> FloatArray:
        """(p,) share of each item's variance that the curves leave unexplained."""
        return 1 - self.shape.r2_map

    @property
    def loading_errors(self) -> FloatArray:
        """(p, d) NaN: the errors of curves are bands."""
        return np.full(self.model.support.shape, np.nan)

    @property
    def factor_correlations(self) -> FloatArray:
        """(d, d) Φ."""
        factors = self._way.factors
        return factors.rows_as_given(factors.columns_as_given(self.model.factor_correlations))

    def curve_frame(self, items: tuple[str, ...], factors: tuple[str, ...]) -> pd.DataFrame:
        """One row per edge and value of its factor: item, factor, z, value, lower, upper."""
        frames = [
            pd.DataFrame(
                {
                    "item": items[i],
                    "factor": factors[k],
                    "z": self.grid,
                    "value": self.values[e],
                    "lower": self.lower[e],
                    "upper": self.upper[e],
                }
            )
            for e, (i, k) in enumerate(zip(self.edges.item, self.edges.factor, strict=True))
        ]
        return pd.concat(frames, ignore_index=True)

    def loading_frame(self, items: tuple[str, ...], factors: tuple[str, ...]) -> pd.DataFrame:
        """One row per edge: item, factor, loading, slope, r2_map, r2_line, nonlinearity."""
        item, about = self.edges.item, self.shape
        r2, line = about.r2_map[item], about.r2_line[item]
        return pd.DataFrame(
            {
                "item": [items[i] for i in item],
                "factor": [factors[k] for k in self.edges.factor],
                "loading": about.loading,
                "slope": about.slope,
                "r2_map": r2,
                "r2_line": line,
                "nonlinearity": 1 - line / np.maximum(r2, 1e-12),
            }
        )

    def scores(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, d) posterior means and standard deviations of the factors; NaN without answers."""
        rng = np.random.default_rng(self.seed)
        coded = self.scale.encode(self._way.items.answers(X))
        mean, sd = posterior_moments(self.model, coded, rng, _SCORE_DRAWS)
        nothing = np.isnan(X).all(axis=1)
        mean[nothing], sd[nothing] = np.nan, np.nan
        factors = self._way.factors
        return factors.columns_as_given(mean), sd[:, factors.place]

    def log_likelihoods(self, X: FloatArray) -> LogLikelihood:
        """Log-likelihoods of rows of answers, by importance sampling."""
        rng = np.random.default_rng(self.seed)
        framed = self._way.items.answers(X)
        return answers_log_likelihood(self.model, self.scale, framed, rng)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """(n, p) coded answers of n people drawn from the model."""
        return self._way.items.columns_as_given(draw_answers(self.model, n, rng))


def summarize(
    estimate: NonlinearEstimate,
    X: FloatArray,
    log_likelihood: float,
    monte_carlo_se: float,
    seed: int,
    items: Frame | None = None,
    factors: Frame | None = None,
) -> NonlinearFit:
    """Work out curves and standard errors of a fitted model.

    Parameters
    ----------
    estimate
        The model.
    X
        (n, p) answers it was fitted to.
    log_likelihood, monte_carlo_se
        Of these rows.
    seed
        Of the random numbers.
    items, factors
        Frames that the model and the answers are in; None if they are as given.
    """
    model, coded = estimate.model, estimate.scale.encode(X)
    draws = posterior_draws(model, coded, np.random.default_rng(seed), _DRAWS, estimate.z, _BURN_IN)
    draws = draws[::_THIN]
    if isinstance(model, ResponseModel):
        unsure = spline_uncertainty(model, coded, draws, estimate.smoothing, GRID)
    else:
        unsure = phi_uncertainty(model, draws, len(GRID), int(model.support.sum()))
    read, half = answer_reader(model, estimate.scale), _BAND * unsure.curves
    way = WayBack.of(model, items, factors)
    ends = curves(model, read, -half), curves(model, read, half)
    values, lower, upper = map(way.curves, (curves(model, read), *ends))
    place = way.factors.place
    return NonlinearFit(
        model=model,
        scale=estimate.scale,
        log_likelihood=log_likelihood,
        monte_carlo_se=monte_carlo_se,
        n_parameters=estimate.n_parameters,
        factor_correlation_errors=unsure.factor_correlations[np.ix_(place, place)],
        grid=GRID,
        values=values,
        lower=np.minimum(lower, upper),
        upper=np.maximum(lower, upper),
        acceptance=estimate.acceptance,
        restarts=estimate.restarts,
        seed=seed,
        items=items,
        factors=factors,
    )


def answer_reader(model: CurveModel, scale: AnswerScale) -> Callable[[int, FloatArray], FloatArray]:
    """Return what turns an item's predictors into mean answers on its own scale."""

    def read(i: int, eta: FloatArray) -> FloatArray:
        if not len(scale.levels[i]) or not isinstance(model, ResponseModel):
            return scale.mean_answers(i, eta, float(model.noise[i]))
        tau = model.thresholds[i, : model.n_thresholds[i]]
        mean: FloatArray = ratings.probabilities(eta, tau) @ scale.levels[i]
        return mean

    return read


def shape(model: CurveModel) -> Shape:
    """Describe the curves of a model, by averages over draws of its factors."""
    Z = _factors(model, _SHAPE_DRAWS)
    edges = Edges.of(model.support)
    eta, slopes = model.predictors(Z), model.slopes(Z)
    signal = eta.var(axis=0)
    total = signal + model.noise
    sd = np.sqrt(total)[edges.item]
    line = np.zeros(len(total))
    for i in np.flatnonzero(np.diff(edges.start)):
        own = Z[:, edges.factor[edges.of_item(int(i))]]
        design = np.column_stack([np.ones(len(Z)), own])
        straight = design @ np.linalg.lstsq(design, eta[:, i], rcond=None)[0]
        line[i] = straight.var()
    return Shape(
        np.abs(slopes).mean(axis=0) / sd, slopes.mean(axis=0) / sd, signal / total, line / total
    )


def curves(
    model: CurveModel,
    read: Callable[[int, FloatArray], FloatArray] = lambda _, eta: eta,
    shift: FloatArray | None = None,
    grid: FloatArray = GRID,
) -> FloatArray:
    """(E, G) mean answers of the items as one factor moves over a grid.

    Other factors of the item are averaged over their distribution (partial dependence).

    Parameters
    ----------
    model
        The model.
    read
        Turns an item's number and its predictors η into mean answers; η itself if omitted.
    shift
        (E, G) what is added to η first.
    grid
        (G,) values of the factor.
    """
    edges = Edges.of(model.support)
    alone = (model.support.sum(axis=1) <= 1).all()
    others = np.zeros((1, model.support.shape[1])) if alone else _factors(model, _OTHERS)
    values = np.empty((len(edges.item), len(grid)))
    for k in range(model.support.shape[1]):
        Z = np.repeat(others[None], len(grid), axis=0)
        Z[:, :, k] = grid[:, None]
        eta = model.predictors(Z.reshape(-1, Z.shape[2])).reshape(len(grid), len(others), -1)
        for e in np.flatnonzero(edges.factor == k):
            i = int(edges.item[e])
            own = eta[:, :, i] if shift is None else eta[:, :, i] + shift[e][:, None]
            values[e] = read(i, own.ravel()).reshape(own.shape).mean(axis=1)
    return values


def _factors(model: CurveModel, n: int) -> FloatArray:
    """(n, d) draws of the factors, the same for the same Φ, with mean 0 and correlations Φ."""
    d = len(model.factor_correlations)
    Z = np.random.default_rng(0).standard_normal((n, d))
    Z = Z - Z.mean(axis=0)
    Z = np.linalg.solve(np.linalg.cholesky(Z.T @ Z / n), Z.T).T
    drawn: FloatArray = Z @ np.linalg.cholesky(model.factor_correlations).T
    return drawn


def response_table(
    frame: pd.DataFrame,
    marks: pd.Series[str],
    notes: tuple[str, ...],
    texts: Mapping[str, str],
) -> Table:
    """One row per item and factor, steep items of a factor first.

    Parameters
    ----------
    frame
        item, factor, loading, slope, r2_map, r2_line, nonlinearity.
    marks
        By item, what to print behind its name.
    notes
        Lines below the table that explain the marks.
    texts
        Questions of the items, as far as known.
    """
    place = {factor: k for k, factor in enumerate(dict.fromkeys(frame["factor"]))}
    order = frame.assign(place=frame["factor"].map(place)).sort_values(
        ["place", "slope"], ascending=[True, False], kind="stable"
    )
    shown = pd.DataFrame(
        {
            "item": [name + marks[name] for name in order["item"]],
            "factor": order["factor"],
            "loading": order["loading"],
            "slope": order["slope"],
            "R2 map": order["r2_map"],
            "R2 line": order["r2_line"],
            "nonlinear": [f"{100 * share:.0f}%" for share in order["nonlinearity"]],
        }
    )
    legend = (
        "loading: slope of the straight line nearest to the curve; slope: mean absolute slope of "
        "the curve; both in standard units.",
        "R2: share of the item's variance that its curve, or its best straight line, explains; "
        "nonlinear: what of it the line misses.",
    )
    table = Table.from_frame(shown, "Item responses", (*notes, *legend), digits=2)
    return with_texts(table, order["item"], texts)


def correlation_table(correlations: pd.DataFrame, errors: pd.DataFrame) -> Table:
    """Lower triangle of the factor correlations, with standard errors in brackets."""
    names = [str(name) for name in correlations.index]
    values, spread = correlations.to_numpy(dtype=float), errors.to_numpy(dtype=float)
    rows = tuple(
        (name, *(_cell(values[j, k], spread[j, k], j, k) for k in range(len(names))))
        for j, name in enumerate(names)
    )
    title = "Factor correlations (standard errors)"
    return Table(title, ("", *names), rows, "l" + "r" * len(names))


def _cell(value: float, error: float, j: int, k: int) -> str:
    if k >= j:
        return "1" if j == k else ""
    return f"{value:.2f}" + ("" if math.isnan(error) else f" ({error:.2f})")


def curve_panels(
    curves: pd.DataFrame,
    panels: dict[str, list[str]],
    ax: Axes | None = None,
    texts: Mapping[str, str] | None = None,
) -> Figure | SubFigure:
    """Draw the mean answer to every item over its factors, with the band where one is known.

    Parameters
    ----------
    curves
        item, factor, z, value, lower, upper.
    panels
        Item → its factors, the first with a solid line; one panel each, in this order.
    texts
        Questions of items, written above their panels.
    """
    longest = max(len(_title(item, own, canvas.LONGEST_NAME)) for item, own in panels.items())
    columns = 2 if texts else 4 if longest <= _LETTERS[4] else 3
    figure, axes = canvas.tile_panels(ax, len(panels), columns, _ROW + (0.3 if texts else 0.0))
    factors = list(dict.fromkeys(factor for own in panels.values() for factor in own))
    by_edge = dict(list(curves.groupby(["item", "factor"], sort=False)))
    banded = bool(curves["lower"].notna().any())
    for panel, (item, own) in zip(axes, panels.items(), strict=True):
        for place, factor in enumerate(own):
            color = canvas.CYCLE[factors.index(factor) % len(canvas.CYCLE)]
            _curve(panel, by_edge[item, factor], color, _STYLES[place % len(_STYLES)])
        canvas.strip_frame(panel)
        title = _title(item, own, _LETTERS[columns])
        if texts and item in texts:
            title += "\n" + canvas.shorten_text(texts[item], _LETTERS[columns])
        panel.set_title(title, fontsize=canvas.SMALL, loc="left")
        panel.set_xticks([-2, 0, 2])
        panel.locator_params(axis="y", nbins=3)
    words = "mean answer over the factor in standard deviations"
    words += "; band: 95 %" if banded else ""
    words += "; dashed: the item's further factors" if max(map(len, panels.values())) > 1 else ""
    if ax is None:
        figure.supxlabel(words, fontsize=canvas.NORMAL)
    else:
        ax.set_title(words, fontsize=canvas.NORMAL)
    return figure


def _curve(ax: Axes, curve: pd.DataFrame, color: str, line: str) -> None:
    z = curve["z"].to_numpy(dtype=float)
    if curve["lower"].notna().any():
        low, high = (curve[end].to_numpy(dtype=float) for end in ("lower", "upper"))
        ax.fill_between(z, low, high, color=color, alpha=0.25, linewidth=0)
    ax.plot(z, curve["value"].to_numpy(dtype=float), color=color, linestyle=line, linewidth=1.6)


def _title(item: str, factors: list[str], most: int) -> str:
    """Name the item and its first factors, the item shortened to fit into so many letters."""
    named = ", ".join(canvas.shorten(factor, 8) for factor in factors[:2])
    named += ", …" if len(factors) > 2 else ""
    return f"{canvas.shorten(item, max(most - len(named) - 3, 5))} ({named})"
