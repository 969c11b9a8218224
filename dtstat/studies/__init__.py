"""The paper's simulation studies, end to end: repeatable, resumable, beside the paper's figures."""

from dtstat.studies.highdim import HighDimResult, highdim
from dtstat.studies.table1 import Table1Result, table1

__all__ = ["HighDimResult", "Table1Result", "highdim", "table1"]
