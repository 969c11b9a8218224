"""The numbers of a fit as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import InputError
from dtstat.data.frame import Frame
from dtstat.dependence.on_demand import CorrelationsOnDemand
from dtstat.search.counting import log_structures
from dtstat.search.criteria import HELD_OUT, INFORMATION, least_loading, searching
from dtstat.search.evaluate import Evaluator
from dtstat.search.joins import JoinedLevels
from dtstat.search.records import GIVEN, Proposal, Rules
from dtstat.search.threshold import complete, threshold_origin
from dtstat.structure.barcode import Barcode
from dtstat.structure.cliques import implied_loadings
from dtstat.structure.groups import overlaps
from dtstat.structure.margin import margin_value
from dtstat.structure.path import Candidate

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit


_NORMAL_975 = 1.959963984540054  # quantile for intervals of 95 %


def contender_frame(fit: DTFit) -> pd.DataFrame:
    """One row per structure with its scores.

    ``cost`` is the criterion with the rows counted as ``n_effective``; ebic where steps chose. The
    others are those of other programs, with all rows counted; they are not known where part of the
    rows was fitted.
    """
    contenders, criterion = fit.contenders, fit.call.criterion
    log_likelihood = np.array([one.log_likelihood for one in contenders])
    k = np.array([one.n_parameters for one in contenders])
    edges = np.array([int(one.support.sum()) for one in contenders])
    part = criterion.startswith("validation")
    deviance = np.full(len(k), np.nan) if part else -2 * log_likelihood
    bic = deviance + k * float(np.log(fit.n_typical))
    return pd.DataFrame(
        {
            "n_factors": [one.support.shape[1] for one in contenders],
            "n_loadings": edges,
            "n_uncovered": [int((~one.support.any(axis=1)).sum()) for one in contenders],
            "log_likelihood": log_likelihood,
            "n_parameters": k,
            "cost": [
                np.nan if criterion in HELD_OUT else getattr(one, searching(criterion))
                for one in contenders
            ],
            "aic": deviance + 2 * k,
            "bic": bic,
            "ebic": bic + [2 * log_structures(one.support) for one in contenders],
            "held_out": [one.held_out for one in contenders],
            "behind": [one.behind for one in contenders],
            "behind_se": [one.behind_se for one in contenders],
            "monte_carlo_se": [one.monte_carlo_se for one in contenders],
            "origin": [one.origin for one in contenders],
            "fitted": [one.fitted for one in contenders],
        }
    )


def factor_frame(fit: DTFit) -> pd.DataFrame:
    """One row per factor, with the clique it is read off."""
    rows: list[tuple[object, ...]] = []
    barcode, structure = fit.path.barcode(), fit.structure
    for k, core in enumerate(factor_cores(fit)):
        name = structure.factor_names[k]
        sizes = int(structure.support[:, k].sum()), len(structure.unique_children(k))
        if core is None:
            rows.append((name, np.nan, np.nan, np.nan, *sizes, ()))
        else:
            bar = barcode[core]
            rows.append((name, bar.birth, bar.death, bar.persistence, *sizes, bar.items))
    columns = ["factor", "from", "to", "persistence", "n_items", "n_unique", "core"]
    return pd.DataFrame(rows, columns=columns)


def factor_cores(fit: DTFit) -> list[int | None]:
    """Return for each factor the bar it is read off; with one threshold for all, one seen there."""
    barcode = fit.path.barcode()
    cores = core_bars(barcode, fit.support)
    chosen = chosen_candidate(fit)
    if chosen is None:
        return cores
    there = core_bars(barcode, fit.support, barcode.alive(chosen.tau_low))
    return [old if new is None else new for new, old in zip(there, cores, strict=True)]


def core_bars(
    barcode: Barcode, support: BoolArray, among: BoolArray | None = None
) -> list[int | None]:
    """Return for each factor the bar that it is, or the longest-lived within; None without one.

    Parameters
    ----------
    barcode, support
        All bars, and the (p, d) factors.
    among
        (m,) bars to choose from; all if omitted.
    """
    if not len(barcode):
        return [None] * support.shape[1]
    bars, factors = barcode.sets.inside(support)
    if among is not None:
        bars, factors = bars[among[bars]], factors[among[bars]]
    same = barcode.sizes[bars] == support.sum(axis=0)[factors]
    order = np.lexsort((bars, ~same, factors))  # a factor itself before its parts
    known, first = np.unique(factors[order], return_index=True)
    cores: list[int | None] = [None] * support.shape[1]
    for factor, core in zip(known.tolist(), bars[order][first].tolist(), strict=True):
        cores[factor] = core
    return cores


def chosen_candidate(fit: DTFit) -> Candidate | None:
    """Return what of the path the chosen structure was completed from; None if it was not.

    Only a search by one threshold for all factors completes structures of the path.
    """
    if fit.call.search != "threshold":
        return None
    origin = fit.contenders[0].origin
    for one in fit.path.candidates:
        if threshold_origin(one) == origin and _within(one.structure.support, fit.support):
            return one
    return None


def chosen_interval(fit: DTFit) -> tuple[float, float] | None:
    """Thresholds of the chosen structure, if it has one threshold for all factors."""
    chosen = chosen_candidate(fit)
    return None if chosen is None else (chosen.tau_low, chosen.tau_high)


def _within(cliques: BoolArray, support: BoolArray) -> bool:
    """Whether there are as many cliques as factors, and each is inside a factor."""
    outside = cliques.T.astype(int) @ ~support
    return cliques.shape[1] == support.shape[1] and bool((outside == 0).any(axis=1).all())


def uncovered_frame(fit: DTFit) -> pd.DataFrame:
    """Items of no factor, with the factor each depends on most."""
    out = np.flatnonzero(~fit.support.any(axis=1))
    columns = ["item", "nearest factor", "implied loading", "reason"]
    if not fit.n_factors:
        rows = [(fit.item_names[i], "", np.nan, "there are no factors") for i in out]
        return pd.DataFrame(rows, columns=columns)
    if isinstance(fit.latent, CorrelationsOnDemand):
        nearest, loadings = _nearest_factors(fit, out)
    else:
        implied = implied_loadings(np.abs(fit.latent.R), fit.support)[out]
        nearest, loadings = implied.argmax(axis=1), implied.max(axis=1)
    rows = [
        (fit.item_names[i], fit.factor_names[k], float(loading), _reason(fit, float(loading)))
        for i, k, loading in zip(out, nearest, loadings, strict=True)
    ]
    return pd.DataFrame(rows, columns=columns)


def _reason(fit: DTFit, loading: float) -> str:
    if fit.call.search == GIVEN:
        return "in no factor of the given structure"
    if fit.call.uncovered != "attach":
        return "in no clique of the structure"
    criterion = searching(fit.call.criterion)
    least = least_loading(criterion, fit.n_factors, fit.n_effective)
    if loading >= least:
        return f"{criterion} is smaller without it"
    return f"a loading below {least:.2f} does not pay by {criterion}"


def model_likelihood(fit: DTFit) -> tuple[float, float]:
    """Log-likelihood of all rows, also where part of them chose; and the number of parameters."""
    chosen = fit.candidates.iloc[0]
    if not np.isnan(chosen["bic"]) or np.isnan(chosen["n_parameters"]):
        return float(chosen["log_likelihood"]), float(chosen["n_parameters"])
    return fit.responses.log_likelihood, float(fit.responses.n_parameters)


def likelihood_measures(fit: DTFit) -> dict[str, float]:
    """Akaike's and Schwarz's criteria with all rows counted, as in ``candidates``."""
    log_likelihood, k = model_likelihood(fit)
    deviance = -2 * log_likelihood
    return {"aic": deviance + 2 * k, "bic": deviance + k * float(np.log(fit.n_typical))}


def glance_frame(fit: DTFit) -> pd.DataFrame:
    """One row about the whole fit."""
    about = {
        "n_obs": fit.n_obs,
        "n_effective": fit.n_effective,
        "n_items": len(fit.item_names),
        "n_factors": fit.n_factors,
        "n_attached": int(fit.attached.sum()),
        "n_uncovered": int((~fit.support.any(axis=1)).sum()),
        "search": fit.call.search,
        "criterion": fit.call.criterion,
        "converged": fit.estimate.converged,
    }
    return pd.DataFrame([about | likelihood_measures(fit) | fit.fit_measures])


def tidy_frame(fit: DTFit) -> pd.DataFrame:
    """List loadings, then factor correlations; with curves what they add."""
    loadings, Phi = fit.responses.loadings, fit.responses.factor_correlations
    errors, of_loadings = fit.factor_correlation_errors.to_numpy(), fit.loading_errors.to_numpy()
    unique = fit.support.sum(axis=1) == 1
    names, items = fit.factor_names, fit.item_names
    rows: list[tuple[object, ...]] = [
        (names[k], "=~", items[i], loadings[i, k], of_loadings[i, k], unique[i], fit.attached[i])
        for k in range(fit.n_factors)
        for i in np.flatnonzero(fit.support[:, k])
    ]
    rows += [
        (names[j], "~~", names[k], Phi[j, k], errors[j, k], False, False)
        for j in range(fit.n_factors)
        for k in range(j + 1, fit.n_factors)
    ]
    columns = ["lhs", "op", "rhs", "estimate", "std_error", "unique_child", "attached"]
    frame = pd.DataFrame(rows, columns=columns)
    half = _NORMAL_975 * frame["std_error"]
    frame.insert(5, "conf_low", frame["estimate"] - half)
    frame.insert(6, "conf_high", frame["estimate"] + half)
    frame.insert(0, "term", frame["lhs"] + " " + frame["op"] + " " + frame["rhs"])
    if not fit.has_curves:
        return frame
    about = fit.nonlinear_loadings.drop(columns="loading")
    about = about.rename(columns={"factor": "lhs", "item": "rhs"}).assign(op="=~")
    return frame.merge(about, how="left", on=["lhs", "op", "rhs"])


_FEWEST, _WORK = 10, 150_000  # structures that are fitted: so many, or work by the square of items


def path_scores(fit: DTFit) -> pd.DataFrame:
    """One row per interval of thresholds with one structure, by rising threshold.

    The structures that last longest are completed as in the search (items attached where that was
    asked for) and fitted by the copula; the rest, which hold over slivers of the threshold, have
    no criteria if there are very many.
    """
    frame = Frame.of(fit.latent.R, fit.dependence.values)
    evaluator = Evaluator(frame.matrix(fit.latent.R), fit.n_typical)
    rules = Rules(
        searching(fit.call.criterion),
        fit.call.min_children,
        fit.call.uncovered == "attach",
        False,
    )
    most = max(_FEWEST, _WORK // evaluator.n_items**2)
    widest = sorted(fit.path.candidates, key=lambda one: -one.persistence)[:most]
    scores = {}
    for one in widest:
        core = frame.support(one.structure.support)[0]
        fitted = evaluator.fit(complete(evaluator, core, rules, fit.n_effective, "path"))
        scores[id(one)] = {name: fitted.cost(name, fit.n_effective) for name in INFORMATION}
    strength = fit.dependence.strength
    rows = []
    for one in fit.path.candidates:
        about = {
            "n_factors": one.n_factors,
            "n_loadings": one.n_edges,
            "n_covered": one.n_covered,
            "margin": margin_value(strength, one.structure.support),
            **scores.get(id(one), dict.fromkeys(INFORMATION, np.nan)),
        }
        rows += [{"tau_low": low, "tau_high": high, **about} for low, high in one.intervals]
    columns = ["tau_low", "tau_high", "n_factors", "n_loadings", "n_covered", "margin"]
    table = pd.DataFrame(rows, columns=[*columns, *INFORMATION])
    return table.sort_values("tau_low", ignore_index=True)


LEVEL_NAMES = ("fine", "broad")


def marked_levels(fit: DTFit) -> dict[str, int]:
    """Numbers of factors of the levels that stand out, by name; empty if there are not two."""
    if not fit.tree or fit.second is None or not fit.n_factors:
        return {}
    two = (fit.n_factors, fit.second)
    return {"fine": max(two), "broad": min(two)}


def level_frame(fit: DTFit) -> pd.DataFrame:
    """One row per level; see ``DTFit.levels``."""
    if isinstance(fit.tree, JoinedLevels):
        return _joined_frame(fit, fit.tree)
    marks = {k: name for name, k in marked_levels(fit).items()}
    costs = {Proposal(one.support, "").key: one.ebic for one in fit.contenders if one.fitted}
    rows = []
    for level in fit.tree:
        k = level.n_factors
        names, signs = level_names(fit, k), level_signs(fit, k) or (1,) * k
        rows.append(
            {
                "n_factors": k,
                "chosen": k == fit.n_factors,
                "level": marks.get(k, ""),
                "supported": k <= fit.supported,
                "one_fewer_costs": level.price,
                "joins": " and ".join(names[j] for j in level.pair) if k > 1 else "",
                "correlation": level.correlation * signs[level.pair[0]] * signs[level.pair[1]],
                "agreement": level.agreement,
                "step": level.step,
                "cost": costs.get(Proposal(level.support, "").key, np.nan),
            }
        )
    return pd.DataFrame(rows, columns=_LEVEL_COLUMNS)


_LEVEL_COLUMNS = [
    *("n_factors", "chosen", "level", "supported", "one_fewer_costs", "joins"),
    *("correlation", "agreement", "step", "cost"),
]


def _joined_frame(fit: DTFit, tree: JoinedLevels) -> pd.DataFrame:
    """Do the same for very many items: two factors are named after those of an item of each."""
    k = np.arange(1, len(tree) + 1)
    names = np.array([*fit.factor_names, "an item of no factor"], dtype=object)
    factor = np.where(fit.support.any(axis=1), fit.support.argmax(axis=1), fit.n_factors)
    first, second = names[factor[tree.pairs]].T
    joins = [
        f"{a} and {b}" if a != b else f"parts of {a}" if a != names[-1] else "items of no factor"
        for a, b in zip(first, second, strict=True)
    ]
    marks = {number: name for name, number in marked_levels(fit).items()}
    columns = (
        *(k, k == fit.n_factors, [marks.get(int(one), "") for one in k], k <= fit.supported),
        *(tree.prices, ["", *joins], tree.correlations, np.nan, tree.steps, np.nan),
    )
    return pd.DataFrame(dict(zip(_LEVEL_COLUMNS, columns, strict=True)))


def find_level(fit: DTFit, which: object) -> int:
    """Return the number of factors that a level is asked for by."""
    if fit.has_curves:
        raise InputError(
            "A fit with curves has its curves for one level. Use fit(data, n_factors=..., "
            "estimator=...) for another."
        )
    if not fit.tree:
        raise InputError("There are no levels: no tree was searched. Fit with search='tree'.")
    if isinstance(which, str):
        if which not in LEVEL_NAMES:
            advice = f"Levels have 1 to {len(fit.tree)} factors."
            raise checks.refusal("which", "a whole number, 'fine' or 'broad'", which, advice)
        name = which
        marked = marked_levels(fit)
        if not marked:
            raise InputError(
                f"Only one level stands out, so there is no '{name}' level. See `levels`."
            )
        return marked[name]
    most = len(fit.tree)
    k = checks.integer("which", which, 1, f"Levels have 1 to {most} factors.")
    if k > most:
        raise checks.refusal("which", f"at most {most}", which, "See levels.")
    return k


def level_names(fit: DTFit, k: int) -> tuple[str, ...]:
    """Names of the factors of a level after those of the fit, which has most of their items.

    They are in the order of the level, which that of the fit need not be: items are left out.
    """
    own = fit.support
    if not fit.n_factors:
        return tuple(f"F{j + 1}" for j in range(k))
    common = overlaps(fit.tree[k - 1].labels, own)
    parts: list[list[int]] = [[] for _ in range(k)]
    for j in range(own.shape[1]):
        parts[int(common[:, j].argmax())].append(j)
    if k < fit.n_factors and all(parts):
        return tuple("+".join(fit.factor_names[j] for j in some) for some in parts)
    main = common.argmax(axis=1)
    count = np.bincount(main, minlength=own.shape[1])
    seen = dict.fromkeys(range(own.shape[1]), 0)
    names = []
    for i in range(k):
        j = int(main[i])
        letter = _letters(seen[j]) if count[j] > 1 else ""
        seen[j] += 1
        names.append(f"{fit.factor_names[j]}{letter}")
    return tuple(names)


def level_signs(fit: DTFit, k: int) -> tuple[int, ...]:
    """Signs of the factors of a level: turned round as the fit's factor with most of their items.

    They are in the order of the level; empty if the fit has none turned round.
    """
    if not fit.signs:
        return ()
    common = overlaps(fit.tree[k - 1].labels, fit.support)
    return tuple(fit.signs[int(j)] for j in common.argmax(axis=1))


def _letters(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + "abcdefghijklmnopqrstuvwxyz"[last]


def _nearest_factors(found: DTFit, items: IntArray) -> tuple[IntArray, FloatArray]:
    """Factor that each of some items loads on most, and the loading; NaN without answers."""
    latent = found.latent
    if not isinstance(latent, CorrelationsOnDemand) or latent.rows is None:
        return np.zeros(len(items), dtype=np.int64), np.full(len(items), np.nan)
    Z, L, psi = latent.rows, found.estimate.loadings, found.estimate.uniquenesses
    weights = csr_array(L / psi[:, None])
    F = weights.T @ Z / (weights.multiply(L)).sum(axis=0)[:, None]
    loadings = np.abs(Z[items] @ F.T) / Z.shape[1]
    return loadings.argmax(axis=1), loadings.max(axis=1)
