"""Factor models of a given structure on rank correlations."""
