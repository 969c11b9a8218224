"""Factor models with nonlinear item responses: splines, networks, sampler, likelihoods."""
