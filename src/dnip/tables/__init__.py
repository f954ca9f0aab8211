"""Probability tables: read, write, stream, split."""

from dnip.tables.chunk import Chunk, Rows
from dnip.tables.streaming import Scan, ahead
from dnip.tables.table import ProbabilityTable
from dnip.tables.writing import TableWriter, open_writer

__all__ = [
    "Chunk",
    "ProbabilityTable",
    "Rows",
    "Scan",
    "TableWriter",
    "ahead",
    "open_writer",
]
