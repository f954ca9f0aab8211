"""Answers that a user already holds, read into probability tables."""

from dnip.prompting.answers.reading import Import, read_answers, write_import
from dnip.prompting.answers.summary import ImportSummary

__all__ = ["Import", "ImportSummary", "read_answers", "write_import"]
