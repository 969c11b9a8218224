"""Data sets that come with dtstat, for examples and for comparison with published results.

The source of each is given in ``data/README.md`` at the top of the repository and, briefly, in
:func:`datasets`; ``data/codebooks`` says what each item means.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from dtstat.core import checks


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What is known about one data set.

    Attributes
    ----------
    title
        What was measured, on whom.
    source
        The original publication.
    rights
        Where the values were read from and why they may be passed on.
    """

    title: str
    source: str
    rights: str


_HOLZINGER = (
    "Holzinger, K. J., & Swineford, F. (1939). A study in factor analysis: The stability of a "
    "bi-factor solution. Supplementary Educational Monographs 48. University of Chicago."
)
_BOLLEN = "Bollen, K. A. (1989). Structural Equations with Latent Variables. Wiley."
_FACTS = "Measured facts, not subject to copyright; values as in the R package"
_SIMULATED = "Simulated by dtstat; free of rights."

DATASETS: dict[str, DatasetInfo] = {
    "holzinger_swineford_9": DatasetInfo(
        "Mental ability of 301 school children, nine tests", _HOLZINGER, f"{_FACTS} lavaan."
    ),
    "holzinger_swineford_26": DatasetInfo(
        "Mental ability of 301 school children, all 26 tests", _HOLZINGER, f"{_FACTS} psychTools."
    ),
    "political_democracy": DatasetInfo(
        "Industrialization and democracy in 75 developing countries", _BOLLEN, f"{_FACTS} lavaan."
    ),
    "sim_v_structure": DatasetInfo(
        "Nonlinear items of latent variables in a v-structure", "dtstat simulation", _SIMULATED
    ),
    "sim_chain": DatasetInfo(
        "Nonlinear items of latent variables in a chain", "dtstat simulation", _SIMULATED
    ),
    "sim_double_mediation": DatasetInfo(
        "Nonlinear items of latent variables with double mediation", "dtstat simulation", _SIMULATED
    ),
    "likert_survey": DatasetInfo(
        "Work survey with five-point answers and missing ones", "dtstat simulation", _SIMULATED
    ),
}


def data_folder() -> Path:
    """Return the folder of the data sets: within an installed package, or of the checkout."""
    installed = Path(__file__).with_name("files")
    complete = (installed / "README.md").is_file()
    return installed if complete else Path(__file__).parents[2] / "data"


def load_dataset(name: str) -> pd.DataFrame:
    """Load a data set that comes with dtstat.

    Parameters
    ----------
    name
        One of the names that :func:`datasets` lists.

    Returns
    -------
    DataFrame
        One row per person or country, one column per item; NaN where an answer is missing.

    Raises
    ------
    InputError
        When there is no data set of that name.

    Examples
    --------
    >>> load_dataset("holzinger_swineford_9").shape
    (301, 9)
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise checks.unknown("name", "a data set of dtstat", name, DATASETS)
    return pd.read_csv(data_folder() / f"{name}.csv")


def datasets() -> pd.DataFrame:
    """List the data sets that come with dtstat.

    Returns
    -------
    DataFrame
        Columns ``name``, ``rows``, ``items``, ``title`` and ``source``.

    Examples
    --------
    >>> datasets()[["name", "rows", "items"]].head(3)
                         name  rows  items
    0   holzinger_swineford_9   301      9
    1  holzinger_swineford_26   301     26
    2     political_democracy    75     11
    """
    rows = [
        (name, *load_dataset(name).shape, info.title, info.source)
        for name, info in DATASETS.items()
    ]
    return pd.DataFrame(rows, columns=["name", "rows", "items", "title", "source"])
