"""Data with a known structure: the paper's two simulation designs and variations on them."""

from dtstat.simulation.generate import Simulation, simulate

__all__ = ["Simulation", "simulate"]
