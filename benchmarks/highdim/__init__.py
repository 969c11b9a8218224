"""More items than rows, the paper's second simulation: ours beside others on the same data."""
