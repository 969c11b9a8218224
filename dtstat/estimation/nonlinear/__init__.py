"""Factor models with curves: samplers, splines, likelihoods."""
