"""How a model was asked for, so that a result can say it and be made again.

:func:`choose_procedure` says which estimates, standard errors and tests the arguments ask for, in
lavaan's words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dtstat.core import checks
from dtstat.core.errors import InputError
from dtstat.core.saved import register
from dtstat.sem.discrepancy import PROCEDURES, Procedure


@register()
@dataclass(frozen=True)
class SEMCall:
    """What was asked for: everything needed to fit the same model to the same data again.

    Attributes
    ----------
    version
        Version of dtstat.
    model
        Model text.
    estimator, missing
        How the model was fitted, and what was done about missing answers.
    ordered
        Items taken as ordinal.
    std_lv, orthogonal, mean_structure, group, group_equal, group_partial, effect_coding, \
    information, se, test, sampling_weights, sampling_weights_normalization, cluster, fixed_x, \
    group_label, rotation, auxiliary, parameterization, \
    method, bounds
        As in :func:`dtstat.cfa`.
    growth
        Whether it was :func:`dtstat.growth` that was asked.
    """

    version: str
    model: str
    estimator: str
    missing: str
    ordered: tuple[str, ...]
    std_lv: bool
    orthogonal: bool
    mean_structure: bool
    group: str | None = None
    group_equal: tuple[str, ...] = ()
    group_partial: tuple[str, ...] = ()
    effect_coding: tuple[str, ...] = ()
    information: str | None = None
    se: str | None = None
    test: str | None = None
    sampling_weights: str | None = None
    sampling_weights_normalization: str = "total"
    cluster: str | None = None
    fixed_x: bool = True
    group_label: tuple[str, ...] = ()
    rotation: str = "geomin"
    auxiliary: tuple[str, ...] = ()
    parameterization: str = "delta"
    method: str = "joint"
    growth: bool = False
    bounds: str = "none"


LIKELIHOOD = ("ml", "mlr", "mlm", "mlmv", "mlmvs", "mlf", "fiml")
LEAST_SQUARES = ("gls", "uls", "ulsm", "ulsmv", "ulsmvs", "wls")
_TESTS = {
    "standard": "standard",
    "satorra.bentler": "satorra.bentler",
    "yuan.bentler": "satorra.bentler",  # the same for complete rows and expected information
    "yuan.bentler.mplus": "yuan.bentler.mplus",
    "mean.var.adjusted": "mean.var.adjusted",
    "scaled.shifted": "scaled.shifted",
}
_ERRORS = {
    "standard": "standard",
    "robust.sem": "robust.sem",
    "robust.huber.white": "sandwich",
    "robust.cluster": "sandwich",
    "none": "none",
}
_ROBUST = {"robust": None, "robust.mlr": "sandwich", "robust.mlm": "robust.sem"}
_ENDINGS = {"m": "satorra.bentler", "mv": "scaled.shifted", "mvs": "mean.var.adjusted"}


def named_procedure(estimator: str) -> Procedure:
    """Return what an estimator of continuous answers stands for."""
    if estimator in PROCEDURES:
        return PROCEDURES[estimator]
    base = next(name for name in ("ulsmvs", "ulsmv", "ulsm") if name == estimator)
    test: Any = _ENDINGS[base[3:]]
    return replace(PROCEDURES["uls"], estimator=estimator, test=test)  # type: ignore[arg-type]


def choose_procedure(
    estimator: str,
    gaps: bool,
    survey: bool,
    information: str | None,
    se: str | None,
    test: str | None,
) -> Procedure:
    """Combine the estimator with what else was asked for.

    ``gaps`` keeps rows with gaps, ``survey`` says that rows have weights or clusters, for which
    ml becomes mlr.

    Raises
    ------
    InputError
        If they do not go together.
    """
    if survey and estimator in ("ml", "fiml"):
        estimator = "mlr"
    chosen = named_procedure("fiml" if gaps and estimator == "ml" else estimator)
    if survey and (chosen.estimator != "mlr"):
        raise checks.refusal(
            "estimator", "'ml' or 'mlr' with weights or clusters", estimator, "Leave it out."
        )
    if gaps and chosen.uses_gamma:
        raise checks.refusal(
            "estimator",
            "'ml', 'mlr' or 'mlf' with missing='fiml'",
            estimator,
            "The others need rows without gaps.",
        )
    changes: dict[str, Any] = {}
    if information is not None:
        kinds = ("expected", "observed", "first.order")
        changes["information"] = _choice("information", information, kinds)
    if test is not None:
        changes["test"] = _TESTS[_choice("test", test, tuple(_TESTS))]
    if se is not None:
        named = _choice("se", se, (*_ERRORS, *_ROBUST))
        changes["errors"] = _ERRORS.get(named) or _ROBUST[named] or chosen.errors
        if named == "robust" and changes["errors"] == "standard":
            changes["errors"] = "sandwich" if gaps else "robust.sem"
        if changes["errors"] == "sandwich" and information is None:
            changes["information"] = "observed"
    made = replace(chosen, **changes)
    _check(made, gaps)
    return made


def _choice(name: str, value: object, known: tuple[str, ...]) -> str:
    """Read a name in any case, with dots or underscores."""
    plain = value.lower().replace("_", ".") if isinstance(value, str) else value
    return checks.choice(name, plain, known)


def _check(made: Procedure, gaps: bool) -> None:
    if not made.likelihood and (made.information != "expected" or made.uses_scores):
        raise InputError(
            f"`information`, `se` and `test` of '{made.estimator}' rest on expected moments: only "
            "information='expected', se='standard' or 'robust.sem', and tests of Satorra & Bentler "
            "are known. Leave them out, or use an ml estimator.",
            "information",
        )
    if gaps and made.uses_gamma:
        raise InputError(
            "`se='robust.sem'` and the tests of Satorra & Bentler need rows without gaps. Use the "
            "estimator 'mlr', or missing='listwise'.",
            "test" if made.errors != "robust.sem" else "se",
        )
    if made.errors == "robust.sem" and made.information != "expected":
        raise InputError(
            f"`information` must be 'expected' with robust.sem standard errors; got "
            f"'{made.information}'. Leave it out, or use the estimator 'mlr'.",
            "information",
        )
