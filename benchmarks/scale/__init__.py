"""Many cores, many machines, many items: what more workers gain, and how cost grows with p."""
