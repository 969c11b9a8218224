"""How to cite what was done."""

from dtstat.version import __version__

CITATION = f"""Kim, D. S., & Zhou, Q. Identification of Nonlinear and Dependent Latent Factor \
Structure through Clique Search.
The dtstat developers. dtstat: factors by dependence thresholding, version {__version__}."""
