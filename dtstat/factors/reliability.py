"""How reliable sums of items are: alpha, omega, and what each item does for its scale.

Of k items with covariances S (items that load negatively turned round):

    alpha          k/(k−1) (1 − tr S / 1'S1); at most the reliability if errors are uncorrelated
    omega          (Σλ)² / [(Σλ)² + Σψ] of the one-factor model of these items (McDonald 1999)
    omega_h        of all items: (Σg)² / 1'S1 with g = Λγ, where the correlations of the factors
                   themselves have one factor, Φ ≈ γγ' off the diagonal (Zinbarg et al. 2005)
    omega_total    of all items: 1 − Σψ / 1'S1

Intervals need no distribution. A row moves alpha and omega by a known amount, its influence, whose
variance gives the standard error s (Maydeu-Olivares, Coffman & Hartmann 2007, for alpha); the
interval is that of log(1 − α), whose sampling distribution is nearer to normal:

    1 − (1 − α) exp(± z s / (1 − α)).

Alpha and omega "of ratings" are those of the variables behind the answers, from polychoric
correlations (Zumbo, Gadermann & Zeisser 2007). They are not the reliability of a sum of answers.

References
----------
Maydeu-Olivares, A., Coffman, D. L. & Hartmann, W. M. (2007). Asymptotically distribution-free (ADF)
interval estimation of coefficient alpha. Psychological Methods 12, 157-176.
McDonald, R. P. (1999). Test theory: A unified treatment. Erlbaum.
Zinbarg, R. E., Revelle, W., Yovel, I. & Li, W. (2005). Cronbach's α, Revelle's β, and McDonald's
ω_H. Psychometrika 70, 123-133.
Zumbo, B. D., Gadermann, A. M. & Zeisser, C. (2007). Ordinal versions of coefficients alpha and
theta for Likert rating scales. Journal of Modern Applied Statistical Methods 6, 21-29.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.core.parallel import one_thread
from dtstat.core.reliability import congeneric_omega, cronbach_alpha, sum_varies
from dtstat.core.tables import Printed, Summary, Table
from dtstat.data.items import ItemData, as_items, item_names, rows_to_score
from dtstat.dependence.influence import pair_influences
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import LATENT
from dtstat.dependence.pearson import mean_and_sd
from dtstat.dependence.polychoric import latent_correlation_matrix
from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.derivatives import Information, Score
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import as_structure

_NORMAL_975 = 1.959963984540054
_FEWEST_FOR_OMEGA = 3  # two items do not tell two loadings
_LEAST = 1e-12  # variance of an item in proportion to the largest
_TINY = 1e-150  # variance whose square is not a number any more
_MOST_INFLUENCES = 1.25e8  # of rows on pairs of items, a gigabyte
_FEWEST_FACTORS = 3  # with a general factor above them
_FEW_FACTORS = "No omega_h: it needs at least three factors."
_NO_GENERAL = "No omega_h: the correlations of the factors are not those of one factor above them."
SCALE_COLUMNS = (
    "factor", "n_items", "alpha", "alpha_lower", "alpha_upper", "omega", "omega_lower",
    "omega_upper", "std_alpha", "mean_r", "ordinal_alpha", "ordinal_omega",
)  # fmt: skip
ITEM_COLUMNS = ("factor", "item", "reversed", "n", "mean", "sd", "r_total", "r_drop", "alpha_drop")


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Printed):
    """Reliability of the sum of each factor's items.

    Attributes
    ----------
    factors
        One row per factor: n_items; alpha and omega with 95 % intervals (``_lower``, ``_upper``);
        std_alpha, of standardized items; mean_r, the mean correlation of two items; ordinal_alpha
        and ordinal_omega, of the variables behind ratings, where all items are ratings. NaN: omega
        of fewer than three items, intervals of a matrix, and of omega where rows times pairs of
        items exceed 125 million.
    items
        One row per item of a factor: whether it is reversed, n, mean and sd of its answers as they
        are; r_total, its correlation with the sum of all items; r_drop, with the sum of the others;
        alpha_drop, alpha without it.
    general
        One row, or none where ``notes`` say why: alpha, omega_total and omega_h of the sum of all
        items, the last being the share of its variance that a general factor above the factors
        explains. It takes three factors or more.
    n_obs
        Rows.
    notes
        Why there is no general factor.
    """

    factors: pd.DataFrame
    items: pd.DataFrame
    general: pd.DataFrame
    n_obs: int
    notes: tuple[str, ...] = ()

    def summary(self) -> Summary:
        """Return the tables as they are printed."""
        bounded = "; intervals of 95 %" if self.factors["alpha_lower"].notna().any() else ""
        notes = [f"omega: one factor behind the items of each{bounded}."]
        if self.factors["ordinal_alpha"].notna().any():
            notes.append("ordinal_: of the variables behind the ratings, not of sums of answers.")
        known = self.factors.dropna(axis=1, how="all")
        tables = [Table.from_frame(known, "Reliability of sums of items", notes, 2)]
        if len(self.general):
            note = ("omega_h: what a general factor above the factors explains of the sum.",)
            tables.append(Table.from_frame(self.general, "All items", note, 2))
        note = ("r_drop: with the sum of the other items; alpha_drop: alpha without the item.",)
        tables.append(Table.from_frame(self.items, "Items", note, 2))
        return Summary((f"{self.n_obs} rows", *self.notes), tuple(tables))

    def __repr__(self) -> str:
        return self.summary().to_text()


def reliability(data: Any, keys: Any) -> Reliability:
    """Reliability of scales: alpha and omega with intervals, and what each item does for it.

    Parameters
    ----------
    data
        Rows with the items among their columns: DataFrame, array, or file. Or a matrix of
        correlations, see :class:`dtstat.DependenceMatrix`, for which there are no intervals.
    keys
        Which items make up which scale: a dict such as ``{"A": ["-A1", "A2", "A3"]}``, in which a
        minus marks items to reverse (an item that is called "-1" is written so, and "-1" is refused
        if there is a "1" besides); or a :class:`dtstat.Structure`, a fit, lavaan syntax.

    Returns
    -------
    Reliability
        With the tables ``factors``, ``items`` and ``general``.

    Raises
    ------
    InputError
        If items are not in the data or do not vary.

    Notes
    -----
    Answers are taken as numbers, as sums take them. With gaps, covariances come from the rows that
    each pair of items has. Cost: p² n.

    Examples
    --------
    >>> import dtstat as dt
    >>> scales = {"textual": ["x4", "x5", "x6"], "speed": ["x7", "x8", "x9"]}
    >>> found = dt.reliability(dt.load_dataset("holzinger_swineford_9"), scales)
    >>> found.factors[["factor", "alpha", "alpha_lower", "alpha_upper"]].round(2).values.tolist()
    [['textual', 0.88, 0.86, 0.9], ['speed', 0.69, 0.62, 0.74]]
    """
    structure = as_structure(keys, "keys", lambda: item_names(data))
    _check_scales(structure)
    if isinstance(data, DependenceMatrix):
        return reliability_of_matrix(data, structure)
    _, X = rows_to_score(data, structure.item_names)
    frame = pd.DataFrame(X, columns=list(structure.item_names))
    return reliability_of_rows(as_items(frame, screened=False), structure)


def reliability_of_rows(items: ItemData, structure: Structure) -> Reliability:
    """Reliability of the scales of a structure, whose items these are in the same order."""
    _check_scales(structure)
    with one_thread():
        scales = [_Rows(items, *_members(structure, k)) for k in range(structure.n_factors)]
        general = _general(items.values, structure)
    counts = (~np.isnan(items.values)).sum(axis=0)
    mean, sd = mean_and_sd(items.values, ddof=1)
    about = {"n": counts, "mean": mean, "sd": sd}
    return _result(structure, scales, about, general, items.n_rows)


def reliability_of_matrix(matrix: DependenceMatrix, structure: Structure) -> Reliability:
    """Reliability of sums of standardized items, from their correlations.

    Polychoric correlations say it of the variables behind ratings only: "ordinal".
    """
    _check_scales(structure)
    known = {name: i for i, name in enumerate(matrix.names)}
    absent = [name for name in structure.item_names if name not in known]
    if absent:
        raise InputError(f"The matrix lacks the item '{absent[0]}'.", "data")
    places = [known[name] for name in structure.item_names]
    R = matrix.values[np.ix_(places, places)]
    kind = _Behind if matrix.measure in LATENT else _Scale
    scales = [kind(*_signed(R, *_members(structure, k))) for k in range(structure.n_factors)]
    nothing = np.full(len(R), nan)
    n = matrix.n_obs or 0
    about = {"n": np.full(len(R), n), "mean": nothing, "sd": nothing}
    return _result(structure, scales, about, _general_of(R, np.ones(len(R)), structure), n)


class _Scale:
    """Items of one factor by their covariances, those with a minus turned round."""

    def __init__(self, S: FloatArray) -> None:
        self.S, self.sd = S, np.sqrt(S.diagonal())
        self.R = S / np.outer(self.sd, self.sd)

    def row(self) -> dict[str, float]:
        """Return what is known of the sum."""
        k = len(self.S)
        alpha = cronbach_alpha(self.S)
        mean_r = (self.R.sum() - k) / (k * (k - 1)) if k > 1 else nan
        lower, upper = self.interval(alpha, self.alpha_error())
        omega, error = self.omega()
        found = {"n_items": k, "alpha": alpha, "alpha_lower": lower, "alpha_upper": upper}
        lower, upper = self.interval(omega, error)
        found |= {"omega": omega, "omega_lower": lower, "omega_upper": upper}
        found |= {"std_alpha": cronbach_alpha(self.R), "mean_r": float(mean_r)}
        return found | self.ordinal()

    def items(self) -> dict[str, FloatArray]:
        """Return what each item does for the sum."""
        k, own, with_sum = len(self.S), self.S.diagonal(), self.S.sum(axis=1)
        total = float(self.S.sum())
        rest = np.maximum(total - 2 * with_sum + own, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            r_drop = (with_sum - own) / np.sqrt(own * rest)
        without = [np.delete(np.delete(self.S, i, 0), i, 1) for i in range(k)]
        return {
            "r_total": with_sum / np.sqrt(own * total) if sum_varies(self.S) else np.full(k, nan),
            "r_drop": r_drop,
            "alpha_drop": np.array([cronbach_alpha(part) for part in without]),
        }

    def one_factor(self) -> FactorEstimate | None:
        """Fit one factor to the items; None where their loadings cannot be told."""
        if len(self.R) < _FEWEST_FOR_OMEGA:
            return None
        estimate = fit_factors(self.R, self.n, np.ones((len(self.R), 1), dtype=bool))
        return estimate if estimate.converged else None

    n = 1000  # only scales the likelihood, which nobody looks at

    def omega(self) -> tuple[float, float]:
        """Return omega and its standard error."""
        estimate = self.one_factor()
        if estimate is None:
            return nan, nan
        residual = float((self.sd**2) @ estimate.uniquenesses)
        omega = congeneric_omega(self.sd * estimate.loadings[:, 0], residual)
        return omega, self.omega_error(estimate)

    def alpha_error(self) -> float:
        """Return the standard error of alpha; NaN without rows."""
        return nan

    def omega_error(self, estimate: FactorEstimate) -> float:
        """Return the standard error of omega; NaN without rows."""
        return nan

    def ordinal(self) -> dict[str, float]:
        """Return alpha and omega of the variables behind ratings; NaN without rows."""
        return {"ordinal_alpha": nan, "ordinal_omega": nan}

    @staticmethod
    def interval(value: float, error: float) -> tuple[float, float]:
        """Interval of 95 %, on the scale of log(1 − value)."""
        if not (value < 1 and np.isfinite(error)):
            return nan, nan
        reach = _NORMAL_975 * error / (1 - value)
        return 1 - (1 - value) * exp(reach), 1 - (1 - value) * exp(-reach)


class _Behind(_Scale):
    """Variables behind the ratings of one factor, by their correlations."""

    def row(self) -> dict[str, float]:
        """Return what is known of the sum of the variables; nothing is of the sum of answers."""
        found = dict.fromkeys(SCALE_COLUMNS[1:], nan) | {"n_items": len(self.S)}
        return found | {"ordinal_alpha": cronbach_alpha(self.S), "ordinal_omega": self.omega()[0]}


class _Rows(_Scale):
    """Items of one factor with their answers."""

    def __init__(self, items: ItemData, members: list[int], sign: FloatArray) -> None:
        self.X = items.values[:, members] * sign
        self.kinds = [items.kinds[i] for i in members]
        self.n = len(self.X)
        super().__init__(pairwise_covariances(self.X))

    def alpha_error(self) -> float:
        """Return the standard error of alpha.

        With t and q the sums of the centered answers of a row and of their squares, V = 1'S1 and
        T = tr S, a row moves alpha by k/(k−1) (T t² / V² − q / V). Where answers are missing, the
        products of a pair count n / n_ij times, n_ij the rows that have both.
        """
        k = len(self.S)
        if k < 2 or not sum_varies(self.S):
            return nan
        here = ~np.isnan(self.X)
        Z = np.where(here, self.X - np.nanmean(self.X, axis=0), 0.0)
        weight = self.n / (here.T.astype(float) @ here)
        V, T = float(self.S.sum()), float(np.trace(self.S))
        total = ((Z @ weight) * Z).sum(axis=1) - V  # less what a row without the pair does not say
        own = Z**2 @ weight.diagonal() - T
        moved = k / (k - 1) * (T * total / V**2 - own / V)
        return float(np.std(moved, ddof=1)) / sqrt(self.n)

    def omega_error(self, estimate: FactorEstimate) -> float:
        """Return the standard error of omega, by its derivatives in λ, ψ and the variances.

        With a = Σ s_i λ_i and e = Σ s_i² ψ_i, s the standard deviations: ω = a² / (a² + e). NaN if
        the influences of all rows on all pairs would take more than a gigabyte.
        """
        if self.X.size * len(self.R) / 2 > _MOST_INFLUENCES:
            return nan
        pairs = pair_influences(self.X, self.kinds, "pearson", self.R)
        score = Score(estimate)
        moved = Information(score.curvature(self.R)).solve(score.of_pairs(pairs))
        loadings, _, uniquenesses = score.unpack(moved.T)
        here = ~np.isnan(self.X)
        Z = np.where(here, (self.X - np.nanmean(self.X, axis=0)) / self.sd, 0.0)
        of_sd = self.sd * 0.5 * (Z**2 - here) * (self.n / here.sum(axis=0))
        L, psi, s = estimate.loadings[:, 0], estimate.uniquenesses, self.sd
        a, e = float(s @ L), float(s**2 @ psi)
        moved_a = loadings[:, :, 0] @ s + of_sd @ L
        moved_e = uniquenesses @ s**2 + of_sd @ (2 * s * psi)
        change = (2 * a * e * moved_a - a**2 * moved_e) / (a**2 + e) ** 2
        return float(np.std(change, ddof=1)) / sqrt(self.n)

    def ordinal(self) -> dict[str, float]:
        """Return alpha and omega from polychoric correlations; NaN unless all are ratings."""
        if "continuous" in self.kinds or len(self.kinds) < 2:
            return super().ordinal()
        R = latent_correlation_matrix(self.X, self.kinds)
        if not np.isfinite(R).all():
            return super().ordinal()
        return {"ordinal_alpha": cronbach_alpha(R), "ordinal_omega": _Scale(R).omega()[0]}


def pairwise_covariances(X: FloatArray) -> FloatArray:
    """Covariances (divisor n − 1), each from the rows that have both items."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        S: FloatArray = pd.DataFrame(X).cov().to_numpy()
    own = S.diagonal()
    if not (_TINY < own.max() < 1 / _TINY and own.min() > _LEAST * own.max()):
        raise InputError(
            "Sums need answers of similar sizes; those of an item vary by far less or more than "
            "those of the others. Bring the items to one scale.",
            "data",
        )
    if not np.isfinite(S).all():
        raise InputError("Two items of a scale were never answered by the same person.", "data")
    return S


def _members(structure: Structure, k: int) -> tuple[list[int], FloatArray]:
    """Positions of the items of a factor, and −1 for those that are turned round."""
    members = np.flatnonzero(structure.support[:, k])
    return members.tolist(), np.where(structure.reversed[members, k], -1.0, 1.0)


def _signed(R: FloatArray, members: list[int], sign: FloatArray) -> tuple[FloatArray]:
    return (R[np.ix_(members, members)] * np.outer(sign, sign),)


def _check_scales(structure: Structure) -> None:
    if not structure.n_factors:
        raise InputError("`keys` has no scale. Name at least one with its items.", "keys")


def _general(X: FloatArray, structure: Structure) -> dict[str, float] | str:
    if structure.n_factors < _FEWEST_FACTORS:
        return _FEW_FACTORS
    S = pairwise_covariances(X)
    sd = np.sqrt(S.diagonal())
    return _general_of(S / np.outer(sd, sd), sd, structure)


def _general_of(R: FloatArray, sd: FloatArray, structure: Structure) -> dict[str, float] | str:
    """Alpha, omega_total and omega_h of the sum of all items, or why they are not known."""
    if structure.n_factors < _FEWEST_FACTORS:
        return _FEW_FACTORS
    if not (structure.support.sum(axis=1) == 1).all():
        return "No omega_h: it needs items of one factor each."
    sign = np.where(structure.reversed.any(axis=1), -1.0, 1.0)
    R = R * np.outer(sign, sign)
    estimate = fit_factors(R, _Scale.n, structure.support)
    if not estimate.converged:
        return _NO_GENERAL
    Phi = estimate.factor_correlations
    above = fit_factors(Phi, _Scale.n, np.ones((len(Phi), 1), dtype=bool))
    general = sd * (estimate.loadings @ above.loadings[:, 0])
    implied = estimate.loadings @ (above.loadings @ above.loadings.T) @ estimate.loadings.T
    within = estimate.loadings * np.sqrt(above.uniquenesses)
    total = float(sd @ (implied + within @ within.T + np.diag(estimate.uniquenesses)) @ sd)
    if not above.converged or (above.loadings < 0).any():
        return _NO_GENERAL
    return {
        "n_items": len(R),
        "alpha": cronbach_alpha(R * np.outer(sd, sd)),
        "omega_total": 1 - float(sd**2 @ estimate.uniquenesses) / total,
        "omega_h": float(general.sum()) ** 2 / total,
    }


def _result(
    structure: Structure,
    scales: list[Any],
    about: dict[str, FloatArray],
    general: dict[str, float] | str,
    n: int,
) -> Reliability:
    factors, rows = [], []
    for k, (name, scale) in enumerate(zip(structure.factor_names, scales, strict=True)):
        factors.append({"factor": name, **scale.row()})
        members, sign = _members(structure, k)
        told = scale.items()
        for j, i in enumerate(members):
            row = {"factor": name, "item": structure.item_names[i], "reversed": sign[j] < 0}
            row |= {column: values[i] for column, values in about.items()}
            rows.append(row | {column: values[j] for column, values in told.items()})
    columns = ["n_items", "alpha", "omega_total", "omega_h"]
    return Reliability(
        pd.DataFrame(factors, columns=list(SCALE_COLUMNS)),
        pd.DataFrame(rows, columns=list(ITEM_COLUMNS)),
        pd.DataFrame([] if isinstance(general, str) else [general], columns=columns),
        n,
        (general,) if isinstance(general, str) else (),
    )
