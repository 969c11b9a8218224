"""The report of a fit: one self-contained HTML page."""
