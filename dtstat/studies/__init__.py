"""The paper's simulation studies, end to end: repeatable, resumable, beside the paper's figures.

``paper`` holds what the paper reports, ``ledger`` keeps finished data sets in a file, ``runner``
does those that are missing; each study has a module of its own.
"""

from dtstat.studies.highdim import highdim
from dtstat.studies.highdim_result import HighDimResult
from dtstat.studies.table1 import table1
from dtstat.studies.table1_result import Table1Result

__all__ = ["HighDimResult", "Table1Result", "highdim", "table1"]
