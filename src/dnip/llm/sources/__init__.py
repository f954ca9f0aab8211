"""Answers that a user already holds, read into probability tables."""

from dnip.llm.sources.reading import Import, ImportSummary, read_answers, write_import

__all__ = ["Import", "ImportSummary", "read_answers", "write_import"]
