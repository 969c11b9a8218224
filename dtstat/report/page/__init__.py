"""One self-contained HTML page about an analysis."""

from dtstat.report.page.document import Page, Section, numbers_of, write_page

__all__ = ["Page", "Section", "numbers_of", "write_page"]
