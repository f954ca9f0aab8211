"""Answers that a user already holds, read into probability tables."""

from dnip.llm.sources.reading import read_answers, write_import
from dnip.llm.sources.summary import Import, ImportSummary

__all__ = ["Import", "ImportSummary", "read_answers", "write_import"]
