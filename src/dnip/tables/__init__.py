"""Probability tables: read, write, stream, split."""

from dnip.tables.streaming import stream
from dnip.tables.table import ProbabilityTable
from dnip.tables.writing import TableWriter, open_writer

__all__ = ["ProbabilityTable", "TableWriter", "open_writer", "stream"]
