"""A fitted model in tables that have the column names of R's broom."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from dtstat.sem.call import SEMCall
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.solution import parameter_frame
from dtstat.sem.summary import headline, test_name


def tidy_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """One row per parameter."""
    table, model = parameter_frame(estimate), estimate.model
    terms = [row.name for row in model.parameters]
    table.insert(0, "term", [*terms, *(one.text for one in model.definitions)])
    renamed = {"est": "estimate", "se": "std.error", "z": "statistic", "pvalue": "p.value"}
    group = ["group"] if model.groups else []
    columns = ["term", "op", *group, *renamed.values(), "std.lv", "std.all"]
    return table.rename(columns=renamed)[columns]


def glance_frame(
    estimate: SEMEstimate, call: SEMCall, measures: Mapping[str, float]
) -> pd.DataFrame:
    """One row about the whole fit."""
    nan, shown = float("nan"), headline(measures)
    return pd.DataFrame(
        {
            "agfi": measures.get("agfi", nan),
            "AIC": measures.get("aic", nan),
            "BIC": measures.get("bic", nan),
            "cfi": shown["cfi"],
            "chisq": shown["chisq"],
            "npar": int(measures["npar"]),
            "rmsea": shown["rmsea"],
            "rmsea.conf.high": shown["rmsea.ci.upper"],
            "srmr": measures["srmr"],
            "tli": shown["tli"],
            "test": test_name(estimate),
            "converged": estimate.converged,
            "estimator": call.estimator.upper(),
            "ngroups": estimate.model.n_groups,
            "missing_method": call.missing,
            "nobs": estimate.n_obs,
            "norig": estimate.n_given,
            "nexcluded": estimate.n_given - estimate.n_obs,
        },
        index=[0],
    )
