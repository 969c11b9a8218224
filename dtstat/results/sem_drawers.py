"""The pictures of exploratory and confirmatory factor models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat import checks
from dtstat.errors import InputError
from dtstat.report.factor_table import table_order
from dtstat.report.plots.diagram import path_diagram
from dtstat.report.plots.heat_maps import loading_map, residual_map
from dtstat.results.drawing import CUTOFF, Drawer

if TYPE_CHECKING:
    from dtstat.results.cfa import CFAFit
    from dtstat.results.efa import EFAFit


def draw_diagram(model: CFAFit | EFAFit, ax: Any, cutoff: float = 0.0) -> Any:
    """Draw factors, items and loadings of at least ``cutoff`` in size."""
    loadings = _sorted_loadings(model)
    shown = loadings.where(loadings.abs() >= checks.unit_interval("cutoff", cutoff, CUTOFF), 0.0)
    shown = shown.iloc[table_order(shown)]  # items left without a loading go last
    factors = list(loadings.columns)
    Phi = model.factor_correlations.loc[factors, factors]
    return path_diagram(shown, Phi, np.zeros(len(shown), dtype=bool), ax)


def draw_loadings(model: CFAFit | EFAFit, ax: Any, cutoff: float = 0.0) -> Any:
    """Draw the loadings, with numbers for those of at least ``cutoff`` in size."""
    loadings = _sorted_loadings(model)
    least = checks.unit_interval("cutoff", cutoff, CUTOFF)
    return loading_map(loadings, [""] * len(loadings), least, ax=ax)


def draw_efa_diagram(model: EFAFit, ax: Any, cutoff: float = 0.3) -> Any:
    """Draw the diagram without small loadings: an exploratory model has them all."""
    return draw_diagram(model, ax, cutoff)


def draw_efa_loadings(model: EFAFit, ax: Any, cutoff: float = 0.3) -> Any:
    """Draw the loadings, without numbers of small ones."""
    return draw_loadings(model, ax, cutoff)


def draw_residuals(model: CFAFit, ax: Any) -> Any:
    """Draw residual correlations, items by factor."""
    residuals, loadings = model.residuals(), model.loadings
    rest = [name for name in residuals.index if name not in loadings.index]
    by_factor = [*(str(loadings.index[i]) for i in table_order(loadings)), *rest]
    support = (loadings != 0).reindex(by_factor, fill_value=False).to_numpy(dtype=bool)
    return residual_map(residuals.loc[by_factor, by_factor], support, ax)


EFA_KINDS: dict[str, Drawer] = {"loadings": draw_efa_loadings, "diagram": draw_efa_diagram}
CFA_KINDS: dict[str, Drawer] = {
    "diagram": draw_diagram,
    "loadings": draw_loadings,
    "residuals": draw_residuals,
}


def _sorted_loadings(model: CFAFit | EFAFit) -> pd.DataFrame:
    loadings = model.loadings
    if not loadings.shape[1]:
        raise InputError("The model has no factors, so there are no loadings to draw.", "kind")
    return loadings.iloc[table_order(loadings)]
