"""The models of the catalog, by feature.

They are those that lavaan's help pages and tutorial show, models of the kinds that chapters 3, 5
and 6 of the Mplus User's Guide treat, and random ones with fixed seeds.
"""

from benchmarks.lavaan.entry import Entry
from benchmarks.lavaan.models import (
    constraints,
    designs,
    estimators,
    gaps,
    groups,
    ordered,
    single,
    special,
)

FEATURES = [
    single.FEATURE,
    constraints.FEATURE,
    groups.FEATURE,
    ordered.FEATURE,
    estimators.FEATURE,
    gaps.FEATURE,
    designs.FEATURE,
    special.FEATURE,
]
ENTRIES: list[Entry] = [entry for feature in FEATURES for entry in feature.entries]

if len({entry.name for entry in ENTRIES}) != len(ENTRIES):
    raise ValueError("Two models of the catalog have the same name.")
