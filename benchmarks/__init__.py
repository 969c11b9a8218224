"""Speed and correctness of dtstat beside its peers: ``make bench``.

All numbers of one table come from one run on one machine, one core each, and are read as ratios.
Compile time is not counted, except where a line says so.
"""
