"""How far to trust a structure: bounds, certificates, diagnosis, stability, planning a survey."""
