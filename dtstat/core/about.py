"""The version, in one place.

How to cite what was done.
"""

from __future__ import annotations

__version__ = "0.1.0"


CITATION = f"""Kim, D. S., & Zhou, Q. Identification of Nonlinear and Dependent Latent Factor \
Structure through Clique Search.
The dtstat developers. dtstat: factors by dependence thresholding, version {__version__}."""
