"""What is certified on real surveys, what it costs, and how the cost grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.certify.designs import Population, clusters
from benchmarks.harness import Report, best_of
from benchmarks.surveys.keyed import surveys as keyed_surveys
from dtstat.core.errors import silenced

NAMES = ("bfi", "spi", "holzinger_swineford_24", "thurstone")
_SHOWN = 12


def run(report: Report) -> None:
    """Print the certificates of four surveys, and seconds."""
    report.heading("Four surveys")
    surveys = {one.name: one for one in keyed_surveys() if one.name in NAMES}
    rows = []
    for name in NAMES:
        survey = surveys[name]
        data: Any = survey.data
        if survey.is_matrix:
            data = dt.DependenceMatrix.from_matrix(data, n_obs=survey.n_obs, measure="pearson")
        for measure in ("pearson",) if survey.is_matrix else ("spearman", "polychoric"):
            if measure == "polychoric" and name.startswith("holzinger"):
                measure = "pearson"
            with silenced():
                seconds, found = best_of(
                    lambda d=data, m=measure: dt.certify(d, measure=m, n_splits=0, seed=1), 2
                )
                whole, found = best_of(
                    lambda d=data, m=measure: dt.certify(d, measure=m, seed=1), 1
                )
            keyed = {frozenset(items) for items in survey.key.values()}
            within = sum(
                any(set(items) <= scale for scale in keyed)
                for items in found.to_frame().query("certified")["items"]
            )
            about = found.glance().iloc[0]
            rows.append(
                {
                    "survey": name,
                    "measure": measure,
                    "rows": int(about["n_obs"]),
                    "items": int(about["n_items"]),
                    "scales": len(keyed),
                    "certified": int(about["n_certified"]),
                    "within a scale": within,
                    "separated": int(about["n_separated"]),
                    "at least": about["at_least"],
                    "seconds": seconds,
                    "with number": whole,
                }
            )
            if measure in ("spearman", "pearson"):
                report.line("```\n" + found.summary(_SHOWN).to_text() + "\n```")
    report.table(
        pd.DataFrame(rows),
        "1000 draws; seconds without and with the lower bound on the number of factors",
    )
    report.heading("Growth of cost")
    rows = []
    for p in (12, 24, 48, 96):
        for n in (500, 2000):
            X = Population("", clusters(p // 4, 4), p // 4, n).draw(np.random.default_rng(1))
            seconds, _ = best_of(lambda d=X: dt.certify(d, n_splits=0, seed=1), 2)
            whole, _ = best_of(lambda d=X: dt.certify(d, seed=1), 1)
            rows.append({"items": p, "rows": n, "seconds": seconds, "with number": whole})
    report.table(pd.DataFrame(rows), "Spearman, 1000 draws")
