"""How many factors a fit finds where their number is known."""
