"""One self-contained HTML page about an analysis."""

from dtstat.report.page.document import Page, Section, check_writable, numbers_of, write_page

__all__ = ["Page", "Section", "check_writable", "numbers_of", "write_page"]
