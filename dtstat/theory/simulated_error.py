"""How often some dependence strays by more than a margin: by simulation, for any measure."""

from __future__ import annotations

import numpy as np

from dtstat.data import as_items
from dtstat.dependence import dependence_matrix
from dtstat.simulation.seeds import seed_number, streams


def simulated_error(
    n: int,
    p: int,
    margin: float,
    measure: str,
    factor_size: int | None,
    n_draws: int,
    seed: int | None,
) -> float:
    """Share of samples of independent normal items in which a pair that matters is off.

    Independent items are the worst case of normal copulas, where rank measures vary most. Measures
    that are positive for independent items by chance (distance, hsic, maximal) stray by that, too.

    Parameters
    ----------
    n, p, margin, measure
        Rows, items, margin, and any measure of :func:`dtstat.measures`.
    factor_size
        None for all pairs; else the pairs within the first so many items, and those of the first
        item with the others.
    n_draws, seed
        Samples, and where they start.
    """
    matters = np.zeros((p, p), dtype=bool)
    if factor_size is None:
        matters[:] = True
    else:
        matters[:factor_size, :factor_size] = True
        matters[0] = True
    upper = np.triu(matters, 1)
    wrong = 0
    for rng in streams(seed_number(seed), n_draws):
        items = as_items(rng.standard_normal((n, p)), screened=False)
        strength = dependence_matrix(items, measure).strength
        wrong += bool((strength[upper] >= margin).any())
    return wrong / n_draws
