"""How long work is run: side by side, and not lost when a day goes badly."""
