"""Answers that a user already holds, read into probability tables."""

from dnip.llm.sources.imported import Import, ImportSummary, write_import
from dnip.llm.sources.reading import read_answers

__all__ = ["Import", "ImportSummary", "read_answers", "write_import"]
