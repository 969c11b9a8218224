"""Certificates: are they right, how often are they given, what do they cost."""
