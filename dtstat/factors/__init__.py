"""The factor model of a given structure: correlations, likelihood, test, errors, scores."""
