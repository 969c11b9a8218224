"""How far to trust a structure: bounds, margins, diagnosis, stability, and planning a survey."""
