"""Probability tables: read, write, stream, split."""

from dnip.tables.files import Scan, TableWriter, ahead, open_writer
from dnip.tables.rows import Rows
from dnip.tables.table import AnyRows, ProbabilityTable

__all__ = ["AnyRows", "ProbabilityTable", "Rows", "Scan", "TableWriter", "ahead", "open_writer"]
