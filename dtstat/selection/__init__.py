"""Which structure to believe: candidates are proposed, fitted, scored, and one is chosen."""

from dtstat.selection.criteria import CRITERIA
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal

__all__ = ["CRITERIA", "Evaluator", "Fitted", "Proposal"]
