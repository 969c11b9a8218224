"""Results about how far to trust a fit, and how many people a survey needs."""
