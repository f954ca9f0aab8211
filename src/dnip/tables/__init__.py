"""Probability tables: read, write, stream, split."""

from dnip.tables.reading import Scan, ahead
from dnip.tables.rows import Rows
from dnip.tables.table import AnyRows, ProbabilityTable
from dnip.tables.writing import TableWriter, open_writer

__all__ = ["AnyRows", "ProbabilityTable", "Rows", "Scan", "TableWriter", "ahead", "open_writer"]
