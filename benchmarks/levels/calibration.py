"""How often the number of factors is right, and how to tell beforehand.

Designs are drawn from a prior: 1 to 6 factors of 3 to 8 items, loadings uniform on [.4, .8], one
correlation of all factors uniform on [0, .7], 150 to 1,500 rows (uniform in the logarithm),
continuous or five-point answers, and 50 minor factors with none or 5 % of the variance. A rule that
says "well supported" is found on the first data sets, and its error on as many fresh ones. Harder
designs, of which it knows nothing either: loadings on [.3, .7], correlations on [.3, .85], 100 to
600 rows, none or 10 % of the variance minor.

A rule asks for a least step, a least ratio of the two largest steps among supported levels, a least
agreement, or two of these. Nearly everything is right under this prior, so that "nine of ten
covered data sets are right" would ask for nothing. A rule has to hold at its edge: of the 40
covered data sets with the smallest value of each thing that it asks for, nine of ten are right. Of
such rules those of one thing are shown with their error; the one that covers most comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Report
from benchmarks.levels.counting import RESULTS, SEED, found, rate, resumed
from benchmarks.levels.draws import Design
from dtstat.search.choose import NEARLY_ONE

SETS = 400  # for the rule, as many for its error, as many harder ones
BATCH = 20  # data sets of a piece
EDGE = 40  # data sets at the edge of a rule
WANTED = 0.90
BANDS = 10
GROUPS = ("first", "fresh", "harder")
THINGS: dict[str, tuple[float, ...]] = {  # the first value asks for nothing
    "step": (0.0, *np.arange(0.5, 5.01, 0.25)),
    "ratio": (1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0),
    "agreement": (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99),
}
Rule = tuple[float, ...]  # least value of each thing


def draw(seed: int) -> tuple[Design, int, np.ndarray]:
    """Draw a design, its rows and its data."""
    if seed >= 2 * SETS:
        return _draw(seed, (0.3, 0.7), (0.3, 0.85), (100, 600), 0.10)
    return _draw(seed, (0.4, 0.8), (0.0, 0.7), (150, 1500), 0.05)


def _draw(
    seed: int,
    loading: tuple[float, float],
    correlation: tuple[float, float],
    rows: tuple[int, int],
    variance: float,
) -> tuple[Design, int, np.ndarray]:
    rng = np.random.default_rng([SEED, seed])
    d = int(rng.integers(1, 7))
    sizes = tuple(int(size) for size in rng.integers(3, 9, d))
    loadings = tuple(rng.uniform(*loading, sum(sizes)))
    phi = float(rng.uniform(*correlation))
    n = round(math.exp(rng.uniform(*np.log(rows))))
    answers = str(rng.choice(["continuous", "five-point"]))
    minor = float(rng.choice([0.0, variance]))
    design = Design(f"set {seed}", sizes, loadings, phi, answers, minor)
    return design, n, design.draw(n, rng)


def look(seed: int) -> dict[str, Any]:
    """Return what was found in one data set, and what the rules may look at."""
    design, n, data = draw(seed)
    outcome = found(data)
    support, levels = outcome.best.proposal.support, outcome.levels
    k = support.shape[1]
    steps = {
        level.n_factors: level.step
        for level in levels[1 : outcome.supported]
        if abs(level.correlation) <= NEARLY_ONE
    }
    order = sorted(steps.values(), reverse=True)
    chosen = levels[k - 1] if k else levels[0]
    return {
        "d": len(design.sizes), "n": n, "items": len(design.loadings), "phi": design.phi,
        "answers": design.answers, "minor": design.minor, "chosen": k,
        "second": outcome.second, "supported": outcome.supported,
        "largest": order[0] if order else None,
        "next": order[1] if len(order) > 1 else None,
        "agreement": chosen.agreement, "correlation": chosen.correlation,
    }  # fmt: skip


def data_sets() -> pd.DataFrame:
    """All data sets, in batches from the ledger."""
    every = range(0, len(GROUPS) * SETS, BATCH)

    def batch(first: int) -> Callable[[], dict[str, Any]]:
        return lambda: {"sets": [look(seed) for seed in range(first, first + BATCH)]}

    outcomes = resumed("calibration", ((f"from {first}", batch(first)) for first in every))
    frame = pd.DataFrame([one for first in every for one in outcomes[f"from {first}"]["sets"]])
    frame["right"] = frame["chosen"] == frame["d"]
    frame["step"] = frame["largest"].fillna(
        math.inf
    )  # one factor: there is no step to be unsure of
    # With one level of a positive step, nothing rivals it.
    rival = frame["next"].fillna(0.0).clip(lower=0.0)
    frame["ratio"] = np.where(rival > 0, frame["step"] / rival.where(rival > 0, 1.0), math.inf)
    frame["agreement"] = frame["agreement"].fillna(1.0)
    frame["group"] = np.repeat(GROUPS, SETS)
    return frame


def covered(frame: pd.DataFrame, rule: Rule) -> pd.Series:
    """Whether each data set is well supported by a rule."""
    inside = pd.Series(data=True, index=frame.index)
    for thing, least in zip(THINGS, rule, strict=True):
        inside &= frame[thing] >= least
    return inside


def at_edge(frame: pd.DataFrame, rule: Rule) -> float:
    """Least share right among the covered data sets with the smallest value of each thing asked."""
    inside = frame[covered(frame, rule)]
    shares = [
        inside.nsmallest(EDGE, thing)["right"].mean()
        for (thing, values), least in zip(THINGS.items(), rule, strict=True)
        if least > values[0]
    ]
    return float(min(shares, default=0.0)) if len(inside) >= EDGE else 0.0


def search_rule(frame: pd.DataFrame) -> pd.DataFrame:
    """All rules that hold at their edge, the one that covers most first."""
    rows = []
    for rule in product(*THINGS.values()):
        asked = sum(least > values[0] for least, values in zip(rule, THINGS.values(), strict=True))
        if asked in (1, 2) and at_edge(frame, rule) >= WANTED:
            inside = covered(frame, rule)
            right, elsewhere = (frame.loc[part, "right"].mean() for part in (inside, ~inside))
            rows.append([*rule, inside.mean(), right, at_edge(frame, rule), elsewhere, asked])
    table = pd.DataFrame(
        rows, columns=[*THINGS, "coverage", "right", "at the edge", "elsewhere", "asked"]
    )
    return table.sort_values(["coverage", "asked"], ascending=[False, True], kind="stable")


def run(report: Report) -> None:
    """Print how often the number is right, the rule, and its error on fresh data sets."""
    frame = data_sets()
    first, fresh, harder = (frame[frame["group"] == name] for name in GROUPS)
    report.line(f"```\n{__doc__}```")
    report.line(
        f"Number of factors right: {_rate(first)} of the first data sets, {_rate(fresh)} of the "
        f"fresh ones, {_rate(harder)} of the harder ones (share, count, Monte Carlo error)."
    )
    both = pd.concat([first, fresh])
    report.table(_by_number(both), "By the true number of factors, first and fresh data sets")
    report.table(_by_number(harder), "By the true number of factors, harder data sets")
    for name in THINGS:
        report.table(_bands(first, name), f"By {name}, the first data sets")
    rules = search_rule(first)
    shown = rules.drop(columns="asked")
    report.table(shown.head(15), "Rules that hold at their edge, first data sets", 3)
    single = shown[rules["asked"] == 1].groupby(
        [(rules["step"] > 0), (rules["ratio"] > 1), (rules["agreement"] > 0)], sort=False
    )
    report.table(single.head(1), "Of these, the best that ask for one thing", 3)
    for _, row in single.head(1).iterrows():
        _say(report, frame, tuple(row[list(THINGS)].astype(float)))
    _plot(frame)
    report.line("\n![Share right by step and ratio](calibration.png)")


def _rate(part: pd.DataFrame) -> str:
    return rate(int(part["right"].sum()), len(part)) if len(part) else "none"


def _by_number(frame: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for d, part in frame.groupby("d"):
        either = part["right"] | (part["second"] == d)
        rows.append(
            {
                "factors": d,
                "right": _rate(part),
                "too few": rate(int((part["chosen"] < d).sum()), len(part)),
                "too many": rate(int((part["chosen"] > d).sum()), len(part)),
                "one of the two printed": rate(int(either.sum()), len(part)),
            }
        )
    return pd.DataFrame(rows)


def _bands(part: pd.DataFrame, name: str) -> pd.DataFrame:
    """Show the share right in bands of about as many data sets, those without a rival last."""
    finite = part[np.isfinite(part[name])]
    rows = []
    for band, inside in finite.groupby(
        pd.qcut(finite[name], BANDS, duplicates="drop"), observed=True
    ):
        rows.append({name: f"{max(band.left, 0):.2f} to {band.right:.2f}", "right": _rate(inside)})
    rest = part[~np.isfinite(part[name])]
    if len(rest):
        rows.append({name: "no rival" if name == "ratio" else "one factor", "right": _rate(rest)})
    return pd.DataFrame(rows)


def _say(report: Report, frame: pd.DataFrame, rule: Rule) -> None:
    words = {
        "step": "the step is at least",
        "ratio": "the ratio to the next largest step is at least",
        "agreement": "the agreement of the level is at least",
    }
    parts = [
        f"{words[thing]} {least:g}"
        for (thing, values), least in zip(THINGS.items(), rule, strict=True)
        if least > values[0]
    ]
    report.line(
        f"\nRule: well supported if {' and '.join(parts)}. One factor has no step and is covered; "
        "a step without a positive rival has any ratio."
    )
    for name in GROUPS:
        part = frame[frame["group"] == name]
        inside = covered(part, rule)
        reached = "reached" if part.loc[inside, "right"].mean() >= WANTED else "NOT REACHED"
        several = inside & (part["chosen"] > 1)
        report.line(
            f"- {name}: covers {rate(int(inside.sum()), len(part))}; right where covered "
            f"{_rate(part[inside])} (wanted: {WANTED:g}; {reached}), elsewhere "
            f"{_rate(part[~inside])}; covered with two factors or more {_rate(part[several])}"
        )


def _plot(frame: pd.DataFrame) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", sharey=True)
    for axes, thing in zip(panels, ("step", "ratio"), strict=True):
        for name in GROUPS:
            part = frame[(frame["group"] == name) & np.isfinite(frame[thing])]
            bands = part.groupby(pd.qcut(part[thing], BANDS, duplicates="drop"), observed=True)
            right, middle = bands["right"].mean(), bands[thing].median()
            error = np.sqrt(right * (1 - right) / bands.size())
            axes.errorbar(middle, right, error, marker="o", capsize=2, label=name)
        axes.axhline(WANTED, color="gray", linewidth=0.5)
        axes.set(ylim=(0, 1.03))
    panels[0].set(xlabel="step of the chosen level", ylabel="share with the right number")
    panels[1].set(xlabel="largest step / next largest", xscale="log")
    panels[0].legend(frameon=False)
    figure.savefig(RESULTS / "calibration.png", dpi=150)
