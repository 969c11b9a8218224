"""The levels: factors, loadings and correlations of each, and the tree they are picked from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dtstat.core.arrays import BoolArray
from dtstat.core.errors import silenced
from dtstat.core.parallel import Progress, track
from dtstat.fit import frames
from dtstat.fit.dendrogram import Dendrogram, dendrogram, has_tree
from dtstat.fit.pipeline import at_level
from dtstat.fit.summary import level_tables
from dtstat.page.document import numbers_of, rounded
from dtstat.page.items import reliability
from dtstat.page.verdicts import factor_verdict

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit
    from dtstat.trust.diagnosis import Diagnosis


_MOST_ITEMS = 130  # named one by one in the tree; of more, factors are the leaves
_SPARE = 1  # levels finer than the rows support, to see what they would give


def level_numbers(
    fit: DTFit, diagnosis: Diagnosis | None = None, progress: Progress = None
) -> dict[str, Any]:
    """Return the levels that can be picked, the chosen one at least, and the tree."""
    if not fit.n_factors:
        return {"levels": [], "chosenLevel": 0}
    grounds = None if diagnosis is None else diagnosis.factors["verdict"].tolist()
    own = level_numbers_of(fit, fit, grounds)
    if not has_tree(fit):
        return {"levels": [own], "chosenLevel": fit.n_factors}
    tree, frame = dendrogram(fit), fit.levels
    finest = max(fit.supported, tree.n_leaves) + _SPARE
    shown = frame[frame["n_factors"] <= finest]
    levels = []
    for one in track(shown.to_dict(orient="records"), progress, "levels"):
        k = int(one["n_factors"])
        with silenced():  # of levels that nobody asked for
            about = own if k == fit.n_factors else level_numbers_of(fit, _level(fit, k), None)
        costs = [one["one_fewer_costs"], one["correlation"], one["agreement"], one["step"]]
        marks = ("chosen" if one["chosen"] else "", one["level"])
        joined = {
            "mark": ", ".join(word for word in marks if word),
            "values": numbers_of(costs),
            "joins": _joined(fit, k),
        }
        levels.append(about | joined)
    return {
        "levels": levels,
        "chosenLevel": fit.n_factors,
        "levelNotes": _notes(fit, len(frame) - len(shown)),
        "tree": _tree(fit, tree),
    }


def level_numbers_of(fit: DTFit, level: DTFit, grounds: list[str] | None) -> dict[str, Any]:
    """Describe a level of a fit by its own fit.

    Parameters
    ----------
    fit
        The fit of the page, which has the colors and the cliques.
    level
        The fit of the level.
    grounds
        Verdicts on its factors; without them what can be said without the answers.
    """
    Phi = level.factor_correlations.to_numpy()
    reasons = dict(zip(level.uncovered["item"], level.uncovered["reason"], strict=True))
    return {
        "n": level.n_factors,
        "mark": "chosen" if level is fit else "",
        "factors": _factors(fit, level, grounds),
        "correlations": [rounded(row[:k]) for k, row in enumerate(Phi)],
        "h2": rounded(1 - level.uniquenesses),
        "attached": np.flatnonzero(level.attached).tolist(),
        "reasons": {str(fit.item_names.index(item)): text for item, text in reasons.items()},
    }


def _factors(fit: DTFit, level: DTFit, grounds: list[str] | None) -> list[dict[str, Any]]:
    bars, alone = fit.path.barcode(), level.support.sum(axis=1) == 1
    cores = frames.factor_cores(fit) if level is fit else frames.core_bars(bars, level.support)
    loadings = level.loadings.to_numpy()
    colors = [*range(fit.n_factors)]
    if level is not fit:
        colors = level_colors(level.support, fit.support)
    found = []
    for k, (core, trusted) in enumerate(zip(cores, reliability(level), strict=True)):
        items, name = np.flatnonzero(level.support[:, k]), level.factor_names[k]
        bar = None if core is None else bars[core]
        ground = "no core" if bar is None else "seen"
        found.append(
            {
                "name": name,
                "color": colors[k],
                "items": items.tolist(),
                "unique": items[alone[items]].tolist(),
                "loadings": rounded(loadings[items, k]),
                "core": -1 if core is None else core,
                "from": None if bar is None else float(bar.birth),
                "to": None if bar is None else float(bar.death),
                "verdict": factor_verdict(name, bar, ground if grounds is None else grounds[k]),
                **trusted,
            }
        )
    return found


def level_colors(level: BoolArray, own: BoolArray) -> list[int]:
    """Give each factor of a level the color of the chosen one it shares most items with.

    Of several that share most with the same one, the largest has its color, and the others have
    those that are left, then new ones.
    """
    common = level.T.astype(np.int64) @ own
    colors = dict.fromkeys(range(len(common)), -1)
    free = list(range(own.shape[1] + len(common)))
    for i in np.argsort(-common.max(axis=1), kind="stable"):
        first = int(common[i].argmax())
        if first in free:
            colors[int(i)] = first
            free.remove(first)
    for i, color in colors.items():
        if color < 0:
            colors[i] = free.pop(0)
    return list(colors.values())


def _level(fit: DTFit, k: int) -> DTFit:
    """Return what ``fit.level(k)`` does, but for tests and standard errors, which take longest."""
    names, signs = frames.level_names(fit, k), frames.level_signs(fit, k)
    return type(fit).of(at_level(fit, k, names, signs, tested=False))


def _joined(fit: DTFit, k: int) -> list[str]:
    """Names of the two factors whose join is the cheapest."""
    names = frames.level_names(fit, k)
    return [names[j] for j in fit.tree[k - 1].pair] if k > 1 else []


def _notes(fit: DTFit, finer: int) -> list[str]:
    (table,) = level_tables(fit)
    notes = list(table.notes[:3])  # not that there are more, which is another number here
    if finer:
        notes.append(f"fit.levels has {finer} finer ones.")
    notes.append(
        "Items are sorted anew at every level. The tree joins whole factors, so that at other "
        "levels than the chosen one some items stand elsewhere."
    )
    return notes


def _tree(fit: DTFit, tree: Dendrogram) -> dict[str, Any]:
    return {
        "leaves": [
            {"items": list(leaf.items), "color": leaf.factor, "name": leaf.name}
            for leaf in tree.leaves
        ],
        "joins": [[join.first, join.second, join.price] for join in tree.joins],
        "outside": list(tree.outside),
        "floor": tree.floor,
        "top": tree.top,
        "chosen": fit.n_factors,
        "second": fit.second,
        "byItem": len(fit.item_names) <= _MOST_ITEMS,
    }
