"""What people read: tables."""

from dtstat.report.tables import Summary, Table

__all__ = ["Summary", "Table"]
