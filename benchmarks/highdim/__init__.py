"""More items than rows: the paper's second simulation, and others on the same data."""
