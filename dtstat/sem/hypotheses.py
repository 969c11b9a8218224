"""Tests of parameters of one fitted model: ``wald_test`` and ``score_test``.

Wald: h(θ) = 0 is tested by hᵀ (J C Jᵀ)⁻¹ h at the estimates, with J = ∂h/∂θ and C their covariance
matrix; no other model is fitted.

Score: a restricted model is tested against one with more freedom, which is not fitted either. Let
the columns of B be the directions in which the restricted model can move, those of D the ones it
would gain, g the gradient and I the information of −log L per row. With what D knows beyond B,
V = DᵀID − DᵀIB (BᵀIB)⁻¹ BᵀID, the statistic is n gᵀD V⁻¹ Dᵀg, with the rank of V as
degrees of freedom; the expected changes along them are −V⁻¹ Dᵀg (Sörbom 1989).

References
----------
Sörbom, D. (1989). Model modification. Psychometrika 54, 371-384.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import InputError
from dtstat.core.fit_indices import p_value
from dtstat.core.parallel import one_thread
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary, Table
from dtstat.sem.comparison import check_fit
from dtstat.sem.constraints import Constraints, Undefined, read_equalities
from dtstat.sem.discrepancy import inverse
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.least_squares import least_squares_slope
from dtstat.sem.parameters import Model, Parameter
from dtstat.sem.result import CFAFit
from dtstat.sem.solution import extend_model, rescale, scales, slope_and_information
from dtstat.structure.syntax import Term, parse

_FLAT = 1e-8  # share of a direction's information that must be its own
_SINGULAR = 1e-10
_HOW = "Such as 'x1 ~~ x2; visual =~ x9'."


@register()
@dataclass(frozen=True, repr=False)
class WaldTest(Saved, Printed):
    """A Wald test: the equations, the statistic, its degrees of freedom and its p value."""

    constraints: str
    chisq: float
    df: int
    pvalue: float

    def __repr__(self) -> str:
        return (
            f"WaldTest: {self.constraints}; chisq({self.df}) = {self.chisq:.3f}, "
            f"p = {self.pvalue:.4f}"
        )


@register()
@dataclass(frozen=True)
class Release:
    """What one score test is about: a parameter, and what would change.

    Attributes
    ----------
    lhs, op, rhs, group
        The parameter; of a constraint that was written, its sides. group is "" for none.
    chisq, df, pvalue
        The test.
    epc
        Expected change: of an added parameter its value, of a released one its difference from
        those it was equal to, of a written equation left − right.
    sepc
        The same with all variables standardized; NaN for equations.
    """

    lhs: str
    op: str
    rhs: str
    group: str
    chisq: float
    df: int
    pvalue: float
    epc: float
    sepc: float


@register()
@dataclass(frozen=True, eq=False, repr=False)
class ScoreTest(Saved, Printed):
    """Score tests: all restrictions together, and each by itself.

    Attributes
    ----------
    releases
        One test for each restriction.
    chisq, df, pvalue
        The test of all of them.
    kind
        "released" or "added".
    """

    releases: tuple[Release, ...]
    chisq: float
    df: int
    pvalue: float
    kind: str

    @property
    def table(self) -> pd.DataFrame:
        """One row per restriction: lhs, op, rhs, group, chisq, df, pvalue, epc, sepc.all.

        epc is the expected change: the value that an added parameter would get, how far a
        parameter that was held equal would be from the others, or left − right of an equation.
        """
        rows = [
            (r.lhs, r.op, r.rhs, r.group, r.chisq, r.df, r.pvalue, r.epc, r.sepc)
            for r in self.releases
        ]
        names = ["lhs", "op", "rhs", "group", "chisq", "df", "pvalue", "epc", "sepc.all"]
        frame = pd.DataFrame(rows, columns=names)
        return frame if frame["group"].any() else frame.drop(columns="group")

    def summary(self) -> Summary:
        """Lay out the tests to print, the largest first."""
        what = "1 restriction" if self.df == 1 else f"{self.df} restrictions"
        head = f"Score test of {what}: chisq({self.df}) = {self.chisq:.3f}"
        p = f", p = {self.pvalue:.4f}"
        frame = self.table.sort_values("chisq", ascending=False, kind="stable")
        title = f"Parameters, one by one {self.kind}"
        return Summary((head + p,), (Table.from_frame(frame, title),))

    def __repr__(self) -> str:
        return self.summary().to_text()


def wald_test(fit: CFAFit, constraints: str) -> WaldTest:
    """Test equations of parameters at the estimates, without fitting another model.

    Parameters
    ----------
    fit
        Result of :func:`dtstat.cfa` or :func:`dtstat.sem`.
    constraints
        Equations of labels and defined parameters, as in "a == b; c == 0". A parameter without a
        label is written in quotes and without blanks, with its group from the second one on:
        ``'"f=~x2" == "f=~x2.g2"'``.

    Returns
    -------
    WaldTest

    Raises
    ------
    InputError
        If a label is not known, or an equation follows from the others.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> fit = dt.cfa(data, "visual =~ x1 + a*x2 + b*x3")
    >>> dt.wald_test(fit, "a == b")
    WaldTest: a == b; chisq(1) = 2.893, p = 0.0890
    """
    estimate = check_fit("fit", fit).estimate
    if not isinstance(constraints, str):
        raise checks.refusal("constraints", "a text", constraints, "Such as 'a == b; c == 0'.")
    conditions = read_equalities(estimate.model, constraints)
    try:
        values = [one.function(estimate.theta) for one in conditions]
    except Undefined:
        raise InputError(
            f"`constraints` have no value at the estimates: {constraints!r}.", "constraints"
        ) from None
    h = np.array([one.value for one in values])
    J = np.array([one.gradient for one in values])
    V = J @ estimate.covariance @ J.T
    scale = np.sqrt(np.maximum(np.diag(V), 0.0))
    known = bool((scale > 0).all() and np.isfinite(V).all())
    if not known or np.linalg.eigvalsh(V / np.outer(scale, scale))[0] < _SINGULAR:
        raise InputError(
            "`constraints` cannot be tested: one of them is about fixed parameters, follows from "
            "the others, or holds in the model already. Leave it out.",
            "constraints",
        )
    chisq = float(h @ np.linalg.solve(V, h))
    text = "; ".join(one.text for one in conditions)
    return WaldTest(text, chisq, len(h), p_value(chisq, len(h)))


def score_test(
    fit: CFAFit,
    release: Iterable[str] | str | None = None,
    add: Iterable[str] | str | None = None,
) -> ScoreTest:
    """Test restrictions of a fitted model without fitting the freer one.

    Parameters
    ----------
    fit
        Result of :func:`dtstat.cfa` or :func:`dtstat.sem`. The statistic
        assumes normal answers for all of them.
    release
        Parameters, such as "visual =~ x2", that are held equal to others and would be free; or
        equations as they were written, such as "a == b". If neither is given, all equality
        restrictions.
    add
        Parameters that are fixed or not in the model, such as "x1 ~~ x2; visual =~ x9"; with groups
        in each of them.

    Returns
    -------
    ScoreTest

    Raises
    ------
    InputError
        If there is nothing to release, or a parameter to add is free already.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> fit = dt.cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9")
    >>> test = dt.score_test(fit, add="x7 ~~ x8; visual =~ x9")
    >>> test.table.round(2)[["lhs", "op", "rhs", "chisq", "epc"]]
          lhs  op rhs  chisq   epc
    0      x7  ~~  x8  35.52  0.62
    1  visual  =~  x9  35.52  0.66
    """
    estimate = check_fit("fit", fit).estimate
    if estimate.logl is None and not estimate.model.ordered:
        raise InputError(
            "`fit` must come from a likelihood (ml, mlr, fiml), all at once, or from ordered "
            "items, for a score test. Fit both models and use compare_models().",
            "fit",
        )
    if release is not None and add is not None:
        raise InputError("`release` and `add` cannot be given together. Call twice.", "add")
    with one_thread():
        if add is not None:
            return _test_added(estimate, add)
        return _test_released(estimate, release)


def _texts(name: str, given: Iterable[str] | str) -> list[str]:
    texts = checks.texts(name, given, _HOW)
    return [part.strip() for text in texts for part in text.split(";") if part.strip()]


def _test_added(estimate: SEMEstimate, add: Iterable[str] | str) -> ScoreTest:
    rows = [row for text in _texts("add", add) for row in _added_rows(estimate.model, text)]
    if not rows:
        raise checks.refusal("add", "parameters", add, _HOW)
    given = [row for row in estimate.model.parameters if row.exogenous]
    model = extend_model(estimate.model, [*given, *rows])
    start = [row.value or 0.0 for row in (*given, *rows)]
    theta = np.concatenate([estimate.theta, start])
    q, r = len(estimate.theta), len(given)
    space = Constraints(estimate.model).space(estimate.theta)
    base = np.zeros((len(theta), space.shape[1] + r))
    base[:q, : space.shape[1]] = space
    base[q : q + r, space.shape[1] :] = np.eye(r)
    D = np.eye(len(theta))[:, q + r :]
    system = _System(estimate, model, theta, base)
    keys = [(row.lhs, row.op, row.rhs, row.group) for row in rows]
    return _score_tests(estimate, system, D, keys, "added", D)


def _added_rows(model: Model, text: str) -> list[Parameter]:
    """Candidates that a text such as "x1 ~~ x2" names, in every group."""
    found: list[Parameter] = []
    for term in parse(text):
        if not isinstance(term, Term) or term.op not in ("=~", "~~", "~", "~1"):
            raise checks.refusal("add", "parameters", text, _HOW)
        for name in (term.lhs, term.rhs):
            if name and name not in (*model.observed, *model.latent):
                known = (*model.observed, *model.latent)
                raise checks.unknown("add", "variables of the model", name, known)
        keys = {(term.lhs, term.op, term.rhs)}
        keys |= {(term.rhs, term.op, term.lhs)} if term.op == "~~" else set()
        for group in range(1, model.n_groups + 1):
            own = [row for row in model.parameters if row.group == group and row.key in keys]
            if own and (own[0].free or own[0].exogenous):
                raise InputError(f"`add` names '{text}', which the model has already.", "add")
            new = Parameter(term.lhs, term.op, term.rhs, 0, 0.0, user=False, group=group)
            found.append(own[0] if own else new)
    return found


def _test_released(estimate: SEMEstimate, release: Iterable[str] | str | None) -> ScoreTest:
    model = estimate.model
    wanted = None if release is None else {"".join(t.split()) for t in _texts("release", release)}
    apart, theta, owner = _separated(estimate)
    select = np.zeros((len(theta), len(estimate.theta)))
    select[np.arange(len(theta)), owner] = 1.0
    found = [*_shared(apart, owner)]
    for text, left, right in _equations(model):
        direction = select @ _freed(model, estimate.theta, text)
        found.append(_Candidate((left, "==", right, 0), {"".join(text.split())}, direction))
    chosen = [one for one in found if wanted is None or one.names & wanted]
    unknown = (wanted or set()) - {name for one in found for name in one.names}
    if unknown:
        raise InputError(
            f"`release` names '{min(unknown)}', which is not held equal to anything. Name a "
            "parameter that shares its value, or an equation as it was written.",
            "release",
        )
    if not chosen:
        raise InputError(
            "`fit` has no parameters that are held equal, so there is nothing to release. Name "
            "parameters in `add`.",
            "release",
        )
    base = select @ Constraints(model).space(estimate.theta)
    system = _System(estimate, apart, theta, base)
    listed = [one for one in chosen if one.listed]
    D = np.array([one.direction for one in listed]).T
    whole = np.array([one.direction for one in chosen if one.counted]).T
    return _score_tests(estimate, system, D, [one.key for one in listed], "released", whole)


@dataclass(frozen=True)
class _Candidate:
    """A restriction: the parameter, names it may be called by, and the direction it blocks.

    ``listed`` says whether it has a row of its own, ``counted`` whether it is among the independent
    ones: of k equal parameters any may be released, and k − 1 restrictions hold them together.
    """

    key: tuple[str, str, str, int]
    names: set[str]
    direction: FloatArray
    listed: bool = True
    counted: bool = True


def _shared(model: Model, owner: IntArray) -> list[_Candidate]:
    """List the parameters that had the same number, ``owner``, as others."""
    found = []
    for number in dict.fromkeys(owner.tolist()):
        members = np.flatnonzero(owner == number)
        for place, k in enumerate(members if len(members) > 1 else ()):
            row = next(row for row in model.parameters if row.free == k + 1)
            names = {row.lhs + row.op + row.rhs, row.label, row.plain_label} - {""}
            key = (row.lhs, row.op, row.rhs, row.group)
            # of two that are equal, releasing either is the same
            listed = place > 0 or len(members) > 2
            unit = np.eye(len(owner))[k]
            found.append(_Candidate(key, names, unit, listed, place > 0))
    return found


def _separated(estimate: SEMEstimate) -> tuple[Model, FloatArray, IntArray]:
    """Give every free row a number of its own; return also values, and the numbers they had."""
    rows, owner = [], []
    for row in estimate.model.parameters:
        if row.free:
            owner.append(row.free - 1)
            row = replace(row, free=len(owner))
        rows.append(row)
    numbers = np.array(owner, dtype=np.int64)
    model = replace(estimate.model, parameters=tuple(rows), relations=())
    return model, estimate.theta[numbers], numbers


def _equations(model: Model) -> list[tuple[str, str, str]]:
    """Text, left and right side of the equations that are kept as such."""
    found = [one for one in model.relations if one.op == "=="]
    return [(one.text, " ".join(one.left.split()), " ".join(one.right.split())) for one in found]


def _freed(model: Model, theta: FloatArray, text: str) -> FloatArray:
    """(q,) direction that opens without one equation, along which left − right rises by 1."""
    kept = tuple(one for one in model.relations if one.op != "==" or one.text != text)
    slope = next(c for c in read_equalities(model, text)).function(theta).gradient
    wider = Constraints(replace(model, relations=kept)).space(theta)
    inside = wider @ (wider.T @ slope)
    return np.asarray(inside / max(float(slope @ inside), 1e-300), dtype=np.float64)


class _System:
    """Gradient and information of a freer model at the estimates of the restricted one."""

    def __init__(
        self, estimate: SEMEstimate, model: Model, theta: FloatArray, base: FloatArray
    ) -> None:
        likelihood = estimate.procedure.likelihood
        # chi-square counts rows less one per group if there is no likelihood
        self.n = estimate.n_obs - (0 if likelihood else estimate.model.n_groups)
        slope = least_squares_slope if estimate.model.ordered else slope_and_information
        self.g, self.I = slope(estimate, model, theta)
        self._base = base
        self._known = inverse(base.T @ self.I @ base)

    def test(self, D: FloatArray) -> tuple[float, int, FloatArray]:
        """Statistic, degrees of freedom and expected changes along the columns of D.

        Directions that the data say nothing about do not count: of all intercepts that could be
        freed together, some cannot be told from the means of factors.
        """
        cross = self._base.T @ self.I @ D
        own = D.T @ self.I @ D
        V = own - cross.T @ self._known @ cross
        scale = np.sqrt(np.maximum(np.diag(own), 1e-300))
        values, vectors = np.linalg.eigh(V / np.outer(scale, scale))
        seen = values > _FLAT
        if not seen.any():
            return float("nan"), 0, np.full(D.shape[1], np.nan)
        slope = vectors[:, seen].T @ (D.T @ self.g / scale)
        change = -(vectors[:, seen] @ (slope / values[seen])) / scale
        return float(self.n * np.sum(slope**2 / values[seen])), int(seen.sum()), change


def _score_tests(
    estimate: SEMEstimate,
    system: _System,
    D: FloatArray,
    keys: Sequence[tuple[str, str, str, int]],
    kind: str,
    whole: FloatArray,
) -> ScoreTest:
    by = [scales(view.layout, estimate.theta) for view in estimate.views]
    groups = estimate.model.groups
    releases = []
    for k, (lhs, op, rhs, group) in enumerate(keys):
        chisq, df, change = system.test(D[:, k : k + 1])
        epc, sepc = float(change[0]), float("nan")
        if group:
            row = Parameter(lhs, op, rhs, 1, group=group)
            sepc = float(rescale([row], np.array([epc]), by[group - 1], True)[0])
        name = groups[group - 1] if groups and group else ""
        releases.append(Release(lhs, op, rhs, name, chisq, df, p_value(chisq, df), epc, sepc))
    chisq, df, _ = system.test(whole)
    if not df:
        given = "release" if kind == "released" else "add"
        raise InputError(
            f"The data say nothing about {releases[0].lhs} {releases[0].op} {releases[0].rhs}, so "
            f"that there is nothing to test. Name other parameters in `{given}`.",
            given,
        )
    return ScoreTest(tuple(releases), chisq, df, p_value(chisq, df), kind)
