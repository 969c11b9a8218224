"""Which structure to believe: candidates are proposed, fitted, scored, and one is chosen."""
