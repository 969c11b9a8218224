"""Designs by name: how many factors, how they correlate, how many items each has (Section 6)."""

from __future__ import annotations

from dataclasses import dataclass

from dtstat import checks
from dtstat.arrays import FloatArray
from dtstat.errors import InputError
from dtstat.simulation.latent import GRAPHS, equicorrelated, graph_correlations

DESIGNS = (*GRAPHS, "clusters", "high_dimensional")


@dataclass(frozen=True)
class Design:
    """What a design fixes before anything is drawn.

    Attributes
    ----------
    factor_correlations
        (d, d) matrix Φ.
    items_per_factor
        Children of each factor before second parents are added.
    """

    factor_correlations: FloatArray
    items_per_factor: int

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return len(self.factor_correlations)


def find_design(
    design: str,
    n: int,
    n_factors: int | None,
    items_per_factor: int | None,
    factor_correlation: float,
    path_coefficient: float,
) -> Design:
    """Look up a design by name and complete it with the arguments that it takes."""
    checks.choice("design", design, DESIGNS)
    phi = checks.proportion(
        "factor_correlation", factor_correlation, "The paper uses 0, 0.25 and 0.75."
    )
    if n_factors is not None and design != "clusters":
        raise _not_taken("n_factors", design, "Leave it out, or use the design 'clusters'.")
    if phi and design in GRAPHS:
        raise _not_taken("factor_correlation", design, "Its graph and `path_coefficient` set them.")
    size = items_per_factor
    if size is None:
        size = 15 if design == "high_dimensional" else 5
    size = checks.integer("items_per_factor", size, 1, "Three or more make a factor recoverable.")
    if design in GRAPHS:
        checks.size("items_per_factor", size, (n, 4 * size))
        b = checks.finite("path_coefficient", path_coefficient, "The paper uses 0.5.")
        return Design(graph_correlations(design, b), size)
    d = _paper_n_factors(n) if design == "high_dimensional" else _checked_n_factors(n_factors)
    checks.size("n" if design == "high_dimensional" else "n_factors", d, (max(n, d), d * size))
    return Design(equicorrelated(d, phi), size)


def _paper_n_factors(n: int) -> int:
    """Return d = 0.1 n, rounded (halves up), but at least 2."""
    return max(2, int(n / 10 + 0.5))


def _checked_n_factors(n_factors: int | None) -> int:
    advice = "The design 'clusters' needs it, such as `n_factors=4`."
    return checks.integer("n_factors", n_factors, 1, advice)


def _not_taken(argument: str, design: str, advice: str) -> InputError:
    return InputError(
        f"`{argument}` cannot be set for the design '{design}', which fixes it. {advice}", argument
    )
