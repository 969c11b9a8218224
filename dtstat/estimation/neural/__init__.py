"""The network of the paper: stochastic EM as printed, faster, and variationally. Needs torch."""

from dtstat.estimation.neural.estimate import NetworkEstimate
from dtstat.estimation.neural.schedule import FAST, PAPER, Schedule
from dtstat.estimation.neural.stochastic_em import fit_network
from dtstat.estimation.neural.variational import fit_variational

__all__ = ["FAST", "PAPER", "NetworkEstimate", "Schedule", "fit_network", "fit_variational"]
