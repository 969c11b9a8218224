"""The warning that factors follow how hard the items are."""

from __future__ import annotations

from dtstat.data import ItemData
from dtstat.dependence.registry import LATENT
from dtstat.errors import EstimationWarning, warn
from dtstat.estimation.factors.difficulty import difficulty_pairs
from dtstat.results.fit import DTFit
from dtstat.selection.choose import GIVEN


def warn_of_difficulty(items: ItemData, fit: DTFit) -> tuple[str, ...]:
    """Warn of factors found from other than latent correlations; return the warning."""
    if fit.call.measure in LATENT or fit.call.search == GIVEN:
        return ()
    pairs = difficulty_pairs(items.values, fit.support, fit.estimate)
    if not pairs:
        return ()
    names = fit.factor_names
    told = ", ".join(f"{names[one.easier]} easier than {names[one.harder]}" for one in pairs[:3])
    told += ", ..." if len(pairs) > 3 else ""
    near = min(one.correlation for one in pairs)
    latent = "mixed" if "continuous" in items.kinds else "polychoric"
    text = (
        f"The factors follow how hard the items are ({told}); with polychoric correlations, which "
        f"do not depend on that, they correlate by {near:.2f}{' or more' * (len(pairs) > 1)} and "
        "may be one. Correlations of items with two or three answers shrink when one is easy and "
        f"the other hard; use fit(data, measure='{latent}')."
    )
    warn(text, EstimationWarning, stacklevel=5)
    return (text,)
