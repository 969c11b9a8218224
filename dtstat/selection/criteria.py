"""Criteria that weigh fit against the number of parameters; smaller is better.

With ℓ the log-likelihood per row, k parameters of which e are loadings, p items and n rows (see
:mod:`dtstat.estimation.factors.misfit` for how many rows count):

    aic  = −2nℓ + 2k                         (Akaike 1974)
    bic  = −2nℓ + k log n                    (Schwarz 1978)
    ebic = −2nℓ + k log n + 2 e log p        (Chen & Chen 2008, γ = 1)

The last term of ebic pays for having searched: every loading was picked among p items.

References
----------
Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on
Automatic Control 19, 716–723. Chen, J. & Chen, Z. (2008). Extended Bayesian information criteria
for model selection with large model spaces. Biometrika 95, 759–771. Schwarz, G. (1978). Estimating
the dimension of a model. Annals of Statistics 6, 461–464.
"""

from __future__ import annotations

import math

INFORMATION = ("ebic", "bic", "aic")
HELD_OUT = ("validation", "validation_2se", "cv")
CRITERIA = INFORMATION + HELD_OUT

SALIENT = 0.2  # least size of a second loading that is worth a place in the structure


def information(
    criterion: str, row_log_likelihood: float, k: float, edges: int, p: int, n: float
) -> float:
    """Value of an information criterion.

    Parameters
    ----------
    criterion
        "ebic", "bic" or "aic".
    row_log_likelihood
        ℓ, the log-likelihood per row.
    k, edges, p, n
        Parameters, loadings among them, items, rows.
    """
    fit = -2 * n * row_log_likelihood
    return (
        fit
        + price_of_parameter(criterion, n) * (k - edges)
        + price_of_edge(criterion, p, n) * edges
    )


def searching(criterion: str) -> str:
    """Return the information criterion that proposes structures; held-out rows only choose."""
    return criterion if criterion in INFORMATION else "ebic"


def price_of_edge(criterion: str, p: int, n: float) -> float:
    """Return what one more loading costs."""
    searched = 2 * math.log(p) if criterion == "ebic" else 0.0
    return price_of_parameter(criterion, n) + searched


def least_loading(criterion: str, p: int, n: float) -> float:
    """Smallest loading that pays for its edge.

    An item of loading λ on a factor that is known gains −n log(1 − λ²), which must exceed the
    price of the edge.
    """
    return math.sqrt(-math.expm1(-price_of_edge(criterion, p, n) / n))


def price_of_parameter(criterion: str, n: float) -> float:
    """Return what a parameter costs that was not searched for, such as a correlation."""
    return 2.0 if criterion == "aic" else math.log(n)
