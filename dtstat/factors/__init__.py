"""The factor model of a given structure: latent correlations, likelihood, test, standard errors, scores."""
