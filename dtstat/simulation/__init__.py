"""Data with a known structure: the paper's two simulation designs and variations on them."""
