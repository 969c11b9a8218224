"""What crosses between R and Python, and what R may ask for."""
