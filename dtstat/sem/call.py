"""How a model was asked for, so that a result can say it and be made again."""

from __future__ import annotations

from dataclasses import dataclass

from dtstat.core.saved import register


@register()
@dataclass(frozen=True)
class SEMCall:
    """What was asked for: everything needed to fit the same model to the same data again.

    Attributes
    ----------
    version
        Version of dtstat.
    model
        Model text.
    estimator, missing
        How the model was fitted, and what was done about missing answers.
    ordered
        Items taken as ordinal.
    std_lv, orthogonal, mean_structure, group, group_equal, group_partial, effect_coding, \
    information, se, test, sampling_weights, sampling_weights_normalization, cluster, fixed_x, \
    group_label, rotation, auxiliary, parameterization, \
    method, bounds
        As in :func:`dtstat.cfa`.
    growth
        Whether it was :func:`dtstat.growth` that was asked.
    """

    version: str
    model: str
    estimator: str
    missing: str
    ordered: tuple[str, ...]
    std_lv: bool
    orthogonal: bool
    mean_structure: bool
    group: str | None = None
    group_equal: tuple[str, ...] = ()
    group_partial: tuple[str, ...] = ()
    effect_coding: tuple[str, ...] = ()
    information: str | None = None
    se: str | None = None
    test: str | None = None
    sampling_weights: str | None = None
    sampling_weights_normalization: str = "total"
    cluster: str | None = None
    fixed_x: bool = True
    group_label: tuple[str, ...] = ()
    rotation: str = "geomin"
    auxiliary: tuple[str, ...] = ()
    parameterization: str = "delta"
    method: str = "joint"
    growth: bool = False
    bounds: str = "none"
