"""One HTML page about a table: which classes starve, what weights change, and what that costs."""

from dnip.presenting.report.content import Report, report_on

__all__ = ["Report", "report_on"]
