"""Probability tables: the one door for what users give, and the way back to files."""

from dnip.tables.columns import Asked
from dnip.tables.files import Scan, TableWriter, ahead, open_writer
from dnip.tables.rows import Rows
from dnip.tables.table import ProbabilityTable

__all__ = ["Asked", "ProbabilityTable", "Rows", "Scan", "TableWriter", "ahead", "open_writer"]
