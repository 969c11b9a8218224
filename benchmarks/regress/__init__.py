"""Whether factors in regressions have the right coefficients, and scores the right errors."""
