"""Criteria that structures are compared by, and the prices of their parts.

Criteria weigh fit against the number of parameters; smaller is better. With ℓ the log-likelihood
per row, k parameters of which e are loadings, p items and n rows (see
:mod:`dtstat.factors.robust` for how many rows count):

    aic  = −2nℓ + 2k                         (Akaike 1974)
    bic  = −2nℓ + k log n                    (Schwarz 1978)
    ebic = −2nℓ + k log n + 2 log N          (Chen & Chen 2008, γ = 1)

The last term of ebic pays for having searched. Chen & Chen give every *size* of model the same
prior weight and share it out among the N models of that size, so that a structure costs 2 log N.
N is counted in :mod:`dtstat.search.counting`. Criteria that hold out rows are in
:mod:`dtstat.search.held_out`.

References
----------
Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on
Automatic Control 19, 716–723. Chen, J. & Chen, Z. (2008). Extended Bayesian information criteria
for model selection with large model spaces. Biometrika 95, 759–771. Schwarz, G. (1978). Estimating
the dimension of a model. Annals of Statistics 6, 461–464.
"""

from __future__ import annotations

import math

from dtstat.core.arrays import BoolArray
from dtstat.search.counting import log_structures

STEP = "step"  # the largest step of the tree
INFORMATION = ("ebic", "bic", "aic")
HELD_OUT = ("validation", "validation_2se", "cv")
CRITERIA = (STEP, *INFORMATION, *HELD_OUT)
SALIENT = 0.2  # least size of a second loading that is worth a place in the structure


def searching(criterion: str) -> str:
    """Return the information criterion that proposes structures; others only choose."""
    return criterion if criterion in INFORMATION else "ebic"


def price_of_parameter(criterion: str, n: float) -> float:
    """Return what a parameter costs that was not searched for, such as a correlation."""
    return 2.0 if criterion == "aic" else math.log(max(n, 1.0))  # misfit may leave less than a row


def price_of_structure(criterion: str, support: BoolArray, k: float, n: float) -> float:
    """Return what a structure with k parameters costs, whatever its fit."""
    searched = 2 * log_structures(support) if criterion == "ebic" else 0.0
    return price_of_parameter(criterion, n) * k + searched


def price_of_cross_loading(criterion: str, support: BoolArray, n: float) -> float:
    """Return what one more loading of an item that has a factor costs."""
    p, d = support.shape
    room = p * (d - 1)
    crossed = min(max(int(support.sum()) - p, 0), max(room - 1, 0))
    searched = 2 * math.log(max(room - crossed, 1) / (crossed + 1)) if criterion == "ebic" else 0.0
    return price_of_parameter(criterion, n) + max(searched, 0.0)


def least_loading(criterion: str, d: int, n: float) -> float:
    """Smallest loading that pays for taking an item into one of d factors.

    An item of loading λ on a factor that is known gains −n log(1 − λ²), which must exceed the
    price of a parameter and of having looked at d factors.
    """
    price = price_of_parameter(criterion, n)
    price += 2 * math.log(max(d, 1)) if criterion == "ebic" else 0.0
    return math.sqrt(-math.expm1(-price / n))
