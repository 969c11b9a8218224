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
    people
        File in ``data/people`` that says who the rows are; "" if nothing is known of them.
    """

    title: str
    source: str
    rights: str
    people: str = ""


_HOLZINGER = (
    "Holzinger, K. J., & Swineford, F. (1939). A study in factor analysis: The stability of a "
    "bi-factor solution. Supplementary Educational Monographs 48. University of Chicago."
)
_BOLLEN = "Bollen, K. A. (1989). Structural Equations with Latent Variables. Wiley."
_FACTS = "Measured facts, not subject to copyright; values as in the R package"
_SIMULATED = "Simulated by dtstat; free of rights."

DATASETS: dict[str, DatasetInfo] = {
    "holzinger_swineford_9": DatasetInfo(
        "Mental ability of 301 school children, nine tests",
        _HOLZINGER,
        f"{_FACTS} lavaan.",
        people="holzinger_swineford",
    ),
    "holzinger_swineford_26": DatasetInfo(
        "Mental ability of 301 school children, all 26 tests",
        _HOLZINGER,
        f"{_FACTS} psychTools.",
        people="holzinger_swineford",
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


def item_texts(name: str) -> dict[str, str]:
    """Return what the items of a data set ask or test, from its codebook."""
    codebook = pd.read_csv(data_folder() / "codebooks" / f"{name}.csv")
    return dict(zip(codebook["item"], codebook["text"], strict=True))


def load_dataset(name: str, people: bool = False) -> pd.DataFrame:
    """Load a data set that comes with dtstat.

    Parameters
    ----------
    name
        One of the names that :func:`datasets` lists.
    people
        Whether to add what is known of the people, for comparing groups: school and age of the
        children in the sets of Holzinger and Swineford.

    Returns
    -------
    DataFrame
        One row per person or country, one column per item; NaN where an answer is missing. Texts
        of the items are in ``attrs["item_texts"]``, and tables and pictures show them; what is
        known of the people is kept aside (:func:`dtstat.read_survey`).

    Raises
    ------
    InputError
        When there is no data set of that name, or nothing is known of its people.

    Examples
    --------
    >>> load_dataset("holzinger_swineford_9").shape
    (301, 9)
    >>> load_dataset("holzinger_swineford_9", people=True)["school"].value_counts().to_dict()
    {'Pasteur': 156, 'Grant-White': 145}
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise checks.unknown("name", "a data set of dtstat", name, DATASETS)
    items = pd.read_csv(data_folder() / f"{name}.csv")
    items.attrs["item_texts"] = item_texts(name)
    if not checks.flag("people", people, "True adds what is known of the people."):
        return items
    if not DATASETS[name].people:
        known = ", ".join(one for one, info in DATASETS.items() if info.people)
        advice = f"Something is known of those in {known}."
        raise checks.refusal(
            "people", f"False: nothing is known of those in '{name}'", True, advice
        )
    about = pd.read_csv(data_folder() / "people" / f"{DATASETS[name].people}.csv")
    both = pd.concat([items, about], axis=1)
    both.attrs = {**items.attrs, "aside": list(about.columns)}
    return both


def example_file(name: str = "big_five_qualtrics.csv") -> Path:
    """Return the path of a file as a survey program exports it, to try reading one.

    Parameters
    ----------
    name
        The only one is "big_five_qualtrics.csv": 560 people who answered 25 items of the
        International Personality Item Pool, as Qualtrics would have exported them.

    Returns
    -------
    Path
        The file, which :func:`dtstat.read_survey` reads.

    Raises
    ------
    InputError
        When there is no file of that name.

    Examples
    --------
    >>> example_file().name
    'big_five_qualtrics.csv'
    """
    known = {file.name: file for file in sorted((data_folder() / "exports").iterdir())}
    if not isinstance(name, str) or name not in known:
        raise checks.unknown("name", "an example file of dtstat", name, known)
    return known[name]


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
