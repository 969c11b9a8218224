"""What the paper reports of its simulations, as data."""

from __future__ import annotations

from dataclasses import dataclass

CITATION = (
    "Kim, D. S. & Zhou, Q., Identification of Nonlinear and Dependent Latent Factor Structure "
    "through Clique Search"
)
TABLE1_DATA_SETS = 100
TABLE1_ROWS = 5000


@dataclass(frozen=True)
class Reported:
    """A mean and the number after its ±, as the paper prints them."""

    text: str

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.text.split(" ± ")[0])

    @property
    def plus_minus(self) -> float:
        """The number after ±."""
        return float(self.text.split(" ± ")[1])


@dataclass(frozen=True)
class Table1Row:
    """One line of Table 1: estimated number of factors, F₁ and Hamming distance."""

    n_factors: Reported
    f1: Reported
    hamming: Reported


# Design → the name of the model in the paper, and its number of factors d.
MODELS = {
    "v_structure": ("V-Structure", 3),
    "chain": ("Chained Mediation", 4),
    "double_mediation": ("Double Mediation", 4),
}

TABLE1 = {
    ("oracle", "v_structure"): Table1Row(
        Reported("3.03 ± 0.018"), Reported("0.993 ± 0.004"), Reported("0.233 ± 0.090")
    ),
    ("oracle", "chain"): Table1Row(
        Reported("4.07 ± 0.037"), Reported("0.994 ± 0.003"), Reported("0.267 ± 0.146")
    ),
    ("oracle", "double_mediation"): Table1Row(
        Reported("4.03 ± 0.018"), Reported("0.988 ± 0.005"), Reported("0.467 ± 0.185")
    ),
    ("likelihood", "v_structure"): Table1Row(
        Reported("3.13 ± 0.346"), Reported("0.958 ± 0.061"), Reported("1.400 ± 2.11")
    ),
    ("likelihood", "chain"): Table1Row(
        Reported("4.20 ± 0.484"), Reported("0.964 ± 0.061"), Reported("1.600 ± 2.81")
    ),
    ("likelihood", "double_mediation"): Table1Row(
        Reported("4.30 ± 0.651"), Reported("0.952 ± 0.066"), Reported("2.130 ± 3.05")
    ),
}

TABLE1_NOTES = (
    f"paper: as printed there ({TABLE1_DATA_SETS} data sets per model, n = {TABLE1_ROWS}; neural "
    "network, validation likelihood).",
    "It calls the number after ± one standard error. In its likelihood rows that is of the size",
    "of a standard deviation. Its means of d-hat and HD are multiples of 1/30, rounded.",
)

HIGHDIM_DATA_SETS = 100
HIGHDIM_SIZES = (250, 500, 1000)
HIGHDIM_CORRELATIONS = (0.0, 0.25, 0.75)
HIGHDIM_SHARES = (0.0, 0.2, 0.4)
HIGHDIM_MOST_SECONDS = 180.0  # "the worst case average was less than three minutes"


@dataclass(frozen=True)
class HighDimReported:
    """What the text says of a condition of the second simulation, by the oracle, over all n.

    Attributes
    ----------
    f1
        Average F₁, about.
    found
        Estimated over true number of factors, about.
    """

    f1: float
    found: float


# Share of factors without unique children → what the text says. It gives no numbers for the
# correlated factors, and its figure none at all.
HIGHDIM = {0.2: HighDimReported(0.9, 0.8), 0.4: HighDimReported(0.75, 0.6)}

HIGHDIM_NOTES = (
    f"paper: about, as its text says ({HIGHDIM_DATA_SETS} data sets per condition, oracle, over",
    "all n). Of phi it says 'near-perfect', with a minor degradation at phi = 0.75 and n = 250.",
    "Its slowest condition took less than three minutes on average.",
)
