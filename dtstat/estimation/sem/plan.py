"""From what was asked for to the estimator that does it."""

from __future__ import annotations

from dtstat import checks
from dtstat.data import ItemData, as_items
from dtstat.data.items import check_usable
from dtstat.data.kinds import ItemKind
from dtstat.dependence import DependenceMatrix
from dtstat.errors import EstimationWarning, InputError, warn
from dtstat.estimation.sem.estimate import (
    Estimator,
    SEMEstimate,
    fit_moments,
    fit_normal,
)
from dtstat.estimation.sem.model import Model
from dtstat.estimation.sem.moments import Moments, check_model, rows_of_pairs
from dtstat.estimation.sem.ordered import fit_ordered
from dtstat.estimation.sem.rows import usable_rows


def wanted_ordered(ordered: object) -> bool | tuple[str, ...]:
    """Names of ordered items, True for all, False for none."""
    if ordered is None or isinstance(ordered, bool):
        return bool(ordered)
    return tuple(checks.texts("ordered", ordered, "Give names of items, or True for all."))


def chosen_estimator(estimator: str, missing: str, ordered: bool) -> tuple[Estimator, bool]:
    """Find the estimator that fits the other wishes, and whether rows with gaps are kept."""
    chosen = checks.choice("estimator", estimator, ("ml", "mlr", "fiml", "dwls"))
    gaps = checks.choice("missing", missing, ("listwise", "fiml")) == "fiml"
    if ordered:
        if chosen not in ("ml", "dwls"):
            wish = "'dwls' when items are ordered"
            raise checks.refusal("estimator", wish, chosen, "Leave it out.")
        chosen = "dwls"
    if gaps and chosen == "dwls":
        raise checks.refusal(
            "missing",
            "'listwise' with the estimator 'dwls'",
            missing,
            "Use the estimator 'fiml' or 'mlr' to keep rows with gaps.",
        )
    if gaps and chosen == "ml":
        chosen = "fiml"
    return chosen, gaps or chosen == "fiml"  # type: ignore[return-value]


def ordered_items(
    estimator: Estimator, wanted: bool | tuple[str, ...], observed: tuple[str, ...]
) -> tuple[str, ...]:
    """Items to take as ordinal, in the order of the model."""
    if estimator != "dwls":
        return ()
    if isinstance(wanted, bool) or not wanted:
        return observed
    for name in wanted:
        if name not in observed:
            raise checks.unknown("ordered", "items of the model", name, observed)
    return tuple(name for name in observed if name in wanted)


def fit_items(
    model: Model, items: ItemData, estimator: Estimator, gaps: bool, ordinal: tuple[str, ...]
) -> SEMEstimate:
    """Fit a model to items, whose columns are the observed variables of the model, in order."""
    if estimator == "dwls":
        return fit_ordered(model, _ordinal_rows(items, ordinal), items.n_rows)
    rows = usable_rows(items, gaps=gaps)
    return fit_normal(model, rows, estimator, items.n_rows)


def fit_given(
    model: Model, given: Moments, matrix: DependenceMatrix | None, estimator: Estimator
) -> SEMEstimate:
    """Fit a model to covariances or correlations; ``matrix`` is where the latter come from."""
    if estimator != "ml":
        raise checks.refusal("estimator", "'ml' for a matrix", estimator, "The others need rows.")
    check_model(model, given.source)
    counted = None if matrix is None else rows_of_pairs(matrix, model.observed)
    S = given.of(model.observed)
    return fit_moments(model, S, counted or given.n_obs, given.source)


def rows_behind(matrix: DependenceMatrix) -> int:
    """Return the number of rows a matrix rests on; refuse one that does not know it."""
    if matrix.n_obs is None:
        raise InputError(
            "`data` must say how many rows the matrix rests on. "
            "Give n_obs to DependenceMatrix.from_matrix.",
            "data",
        )
    return matrix.n_obs


def _ordinal_rows(items: ItemData, ordinal: tuple[str, ...]) -> ItemData:
    """Complete rows; the items named in ``ordinal`` are binary or ordinal, the others not."""
    kinds: dict[str, ItemKind] = {}
    for name, kind in zip(items.names, items.kinds, strict=True):
        if name not in ordinal:
            kinds[name] = "continuous"
        elif kind == "continuous":
            kinds[name] = "ordinal"
    complete = as_items(items, kinds).complete_rows()
    check_usable(complete)
    return complete


def warn_of_single_items(model: Model) -> tuple[str, ...]:
    """Warn of factors with one item, whose residual variance was fixed at 0."""
    fixed = {
        row.lhs
        for row in model.parameters
        if row.op == "~~" and row.lhs == row.rhs and not (row.user or row.free or row.value)
    }
    notes = []
    for factor in model.latent:
        items = [row.rhs for row in model.parameters if (row.lhs, row.op) == (factor, "=~")]
        if len(items) == 1 and items[0] in fixed:
            notes.append(
                f"Factor '{factor}' has one item, '{items[0]}', whose residual variance is fixed "
                f"at 0: factor and item are the same. Fix '{items[0]} ~~ {items[0]}' at a known "
                "error variance, or add items."
            )
    for note in notes:
        warn(note, EstimationWarning, stacklevel=3)
    return tuple(notes)
