"""The version of dtstat, and how to cite it."""

from __future__ import annotations

__version__ = "0.1.0"

CITATION = f"""Kim, D. S., & Zhou, Q. Identification of Nonlinear and Dependent Latent Factor \
Structure through Clique Search.
The dtstat developers. dtstat: factors by dependence thresholding, version {__version__}."""
