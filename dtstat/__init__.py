"""dtstat: the latent structure behind survey items, by dependence thresholding."""

__version__ = "0.1.0"
