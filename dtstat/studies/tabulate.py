"""What the tables of studies share: means with their spread, and how numbers are written."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable

import pandas as pd

SPREAD = ("mean", "sd", "se")
_WIDTH = 100


def spread(group: pd.DataFrame, name: str) -> dict[str, float]:
    """Return mean, standard deviation and standard error of a column, as in f1_mean."""
    mean, sd = float(group[name].mean()), float(group[name].std(ddof=1))
    return {f"{name}_mean": mean, f"{name}_sd": sd, f"{name}_se": sd / math.sqrt(len(group))}


def number(value: float) -> str:
    """Three decimals; a dash for what one data set cannot tell."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def duration(seconds: float) -> str:
    """Seconds; of ten and more one decimal is enough."""
    return f"{seconds:.1f}" if seconds >= 10 else number(seconds)


def doubts(warned: int) -> tuple[str, ...]:
    """Say how many choices came with warnings; nothing if none did."""
    choices = "1 choice" if warned == 1 else f"{warned} choices"
    return (f"{choices} came with warnings; see the records.",) if warned else ()


def wrapped(lines: Iterable[str]) -> tuple[str, ...]:
    """Cut lines that are too long; what follows is set below what came after the label."""
    cut = (
        textwrap.wrap(line, _WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False)
        for line in lines
    )
    return tuple(part for parts in cut for part in parts)
