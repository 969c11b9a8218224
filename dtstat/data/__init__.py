"""Survey answers: reading them, checking them, and the data sets that come with dtstat."""

from dtstat.data.datasets import datasets, load_dataset
from dtstat.data.frames import as_frame, has_names
from dtstat.data.items import ItemData, as_items, check_usable
from dtstat.data.kinds import ItemKind
from dtstat.data.readers import read_survey

__all__ = [
    "ItemData",
    "ItemKind",
    "as_frame",
    "as_items",
    "check_usable",
    "datasets",
    "has_names",
    "load_dataset",
    "read_survey",
]
