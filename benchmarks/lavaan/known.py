"""Differences that were looked into: the model's name, and the evidence of who is right."""

from __future__ import annotations

_CLUSTERS = (
    "the same estimates and standard errors; another scaling of the test. Without an estimator "
    "lavaan 0.6-14 takes h1 for the observed information of the test and warns that it does; with"
    " estimator='mlr' ('designs: clusters, mlr') both agree, and dtstat takes that in both cases."
)
_ROTATED = (
    "the same estimates; standard errors of obliquely rotated parameters differ by some percent, "
    "those of loadings near 0 by more. tests/unit/sem/test_exploratory.py rotates estimates that "
    "were moved by small steps: the delta method through the rotation itself gives dtstat's. "
    "lavaan's rotation.se='delta' does so up to its numerical error (first oblimin loadings: "
    ".0881, dtstat .0883, bordered .0884; x5: .0370, .0371, .0406). For varimax all agree."
)
_ULS = (
    "lavaan's standard errors take the identity for the covariance of the moments, so they depend"
    " on the units of the items, and it gives no p value. tests/unit/sem/test_designs.py draws 80"
    " samples: they are below half of the spread of the estimates, dtstat's (those of ulsmv) are "
    "within 20 %. se='standard', test='standard' gives lavaan's numbers."
)
_GIVEN = (
    "log-likelihood, AIC and BIC: given predictors with gaps, dtstat subtracts the log-likelihood"
    " of the predictors that were observed, lavaan that of as many complete rows. Chi-square, "
    "estimates and standard errors are the same."
)
_BOUND = (
    "a bound that is active: lavaan gives standard errors as if there were none. dtstat gives "
    "those of the estimates that the bound leaves, as lavaan does for the same bound written as "
    "'a > 0.8' ('inequality, active', equal)."
)
_FIRST_ORDER = (
    "robust CFI, TLI and RMSEA. They estimate the fit without gaps, whatever the standard errors: "
    "for the same model and chi-square by ml ('gaps: three factors') lavaan has dtstat's values."
)
# With lavaan's Γ (products of normal scores) dtstat equals lavaan in each of these.
_GAMMA = (
    "Standard errors and tests: lavaan's covariance of the statistics holds for normal continuous "
    "items only. If they are skewed its standard errors are between .58 and 1.25 of the spread of "
    "the estimates and it rejects 10 % of true models; dtstat's are between .95 and 1.04 of it, "
    "and it rejects 4 % (lavaan_mixed.md)."
)
_MIXED = (
    "path with an ordered outcome",
    "path with an ordered mediator",
    "mediation with a binary outcome",
    "mediation with an ordered outcome, theta",
    "factor predicts a continuous outcome",
    "mixed factors",
    "mixed within a factor",
    "mixed, theta",
    "mixed, predictors",
    "mixed, wls",
    "mixed, ulsmv",
    "mixed, means written",
    "groups, mixed",
)

KNOWN: dict[str, str] = {f"ordered: {name}": _GAMMA for name in _MIXED} | {
    "ordered: thresholds fixed": (
        "Robust CFI and RMSEA measure the misfit of correlations only. lavaan says 1 and 0 "
        "although the fixed threshold is wrong (chi-square 53.6 on 20 df, 9.2 on 19 without it); "
        "dtstat gives none where a model constrains thresholds."
    ),
    "ordered: thresholds free two means": (
        "The model is the default one in other units (chi-square 10.194 in both), so that robust "
        "indices must be the same: dtstat's are (upper limit of RMSEA .0510 in both), lavaan's "
        "are not (.0510 and .0533)."
    ),
    "gaps: three factors, mlf": _FIRST_ORDER,
    "gaps: path model": (
        "robust TLI and RMSEA rest on the mean c of the corrected chi-square if the model is "
        "right, of 1 degree of freedom here. dtstat estimates 1.143, lavaan (from its RMSEA) "
        "1.191. In 18,060 rows drawn from the model with the same gaps both say 1.129 (1.1293 and "
        "1.1297), in 301 such rows 1.135 and 1.176: two estimates of the same number, which "
        "differ in small samples."
    ),
    "lower()": _BOUND,
    "upper()": _BOUND,
    "estimators: uls, three factors": _ULS,
    "estimators: uls, heavy tails": _ULS,
    "gaps: predictors with gaps, fiml.x": _GIVEN,
    "gaps: predictors with gaps, fiml.x, mlr": _GIVEN,
    **{
        f"designs: clusters{name}": _CLUSTERS
        for name in (
            "", ", predictor", ", path model", ", equal loadings", ", indirect effect", ", groups",
            ", groups, metric", ", fiml", " of the two-level data",
        )
    },
    **{
        f"special: ESEM, {name}": _ROTATED
        for name in (
            "geomin", "oblimin", "quartimin", "two factors", "a factor besides", "outcome",
            "predictor", "mlr",
        )
    },
}  # fmt: skip
