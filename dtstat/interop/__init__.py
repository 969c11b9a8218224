"""Ways to other packages; each module needs its own extra and is imported by name."""
