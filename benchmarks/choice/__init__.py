"""Ways of choosing a structure, compared where the truth is known."""
