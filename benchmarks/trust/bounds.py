"""Do the bounds hold: how often the graph, or a factor, is missed in simulated surveys."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.core.arrays import FloatArray
from dtstat.dependence.kendall import kendall
from dtstat.dependence.pearson import pearson
from dtstat.dependence.spearman import spearman
from dtstat.trust.bounds import Bound
from dtstat.trust.survey import global_pairs, local_error, local_pairs

DRAWS = 2000
ERRORS = (0.05, 0.5)  # n is chosen so that the guarantee is this; smaller n would say nothing
MEASURES = {"kendall": kendall, "spearman": spearman, "pearson": pearson}
SURVEYS = (  # factors, items, loading, factor correlation
    (3, 3, 0.8, 0.0),
    (3, 3, 0.8, 0.5),
    (3, 4, [0.9, 0.8, 0.7] * 4, 0.2),
    (5, 5, 0.7, 0.3),
)


def run(report: Report) -> None:
    """Print bound, approximation and rate for 24 designs."""
    report.heading("Bounds against the rate of errors")
    rows = [row for case in _cases() for row in [_row(*case)] if _say(row)]
    frame = pd.DataFrame(rows)
    report.table(frame, f"{DRAWS} surveys a row", 3)
    broken = (frame["graph wrong"] > frame["bound"]) | (frame["factor missed"] > frame["local"])
    report.line(
        f"{len(frame)} designs; rate above its bound in {int(broken.sum())} of them. n is such "
        "that the guarantee of the graph is .05 or .5. bound, normal: of the graph; local, local "
        "normal: that some factor is missed at its own threshold."
    )


def _cases() -> list[tuple[object, ...]]:
    return [(*survey, m, error) for survey in SURVEYS for m in MEASURES for error in ERRORS]


def _say(row: dict[str, object]) -> bool:
    print(row, flush=True)
    return True


def _row(
    d: int, size: int, loading: object, phi: float, measure: str, error: float
) -> dict[str, object]:
    design = dt.survey_design(d, size, loading, phi)  # type: ignore[arg-type]
    margin, p, bound = design.margin(measure), len(design.loadings), Bound.of(measure)
    n = dt.sample_size(p, margin.value, error, measure)
    wrong, missed = _rates(design, measure, n)
    ours, theirs = global_pairs(design, measure), local_pairs(design, measure)
    assert ours is not None
    assert theirs is not None
    return {
        "survey": f"{d} x {size}, phi {phi:g}"
        + ("" if isinstance(loading, float) else ", unequal"),
        "measure": measure,
        "margin": margin.value,
        "n": n,
        "bound": dt.error_bound(n, p, margin.value, measure),
        "normal": ours.error(n),
        "graph wrong": wrong,
        "local": local_error(n, margin, bound, p),
        "local normal": theirs.error(n),
        "factor missed": missed,
    }


def _rates(design: dt.SurveyDesign, measure: str, n: int) -> tuple[float, float]:
    """Share of surveys whose graph at τ₀ is wrong, and in which a factor is missed at its own."""
    population = design.dependence(measure).strength
    margin = design.margin(measure)
    E = design.structure.parent_sharing_graph()
    tau = margin.weakest_edge.value - margin.value
    upper = np.triu_indices(len(E), 1)
    wrong = missed = 0
    for k in range(DRAWS):
        rng = np.random.default_rng([n, k])
        r = np.abs(MEASURES[measure](design.draw(n, rng)))
        wrong += bool(((r > tau) != E)[upper].any())
        missed += _misses(r, population, design)
    return wrong / DRAWS, missed / DRAWS


def _misses(r: FloatArray, rho: FloatArray, design: dt.SurveyDesign) -> bool:
    """Whether some factor is no independent maximal clique at the middle of its interval."""
    for members in design.support.T:
        inside = np.ix_(members, members)
        off = ~np.eye(int(members.sum()), dtype=bool)
        w, o = rho[inside][off].min(), rho[np.ix_(members, ~members)].max(axis=1).min()
        tau = (w + o) / 2
        clique = (r[inside][off] > tau).all()
        alone = (r[np.ix_(members, ~members)].max(axis=1) <= tau).any()
        if not (clique and alone):
            return True
    return False
