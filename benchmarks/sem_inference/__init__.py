"""Error rates of tests and intervals of structural equation models."""
