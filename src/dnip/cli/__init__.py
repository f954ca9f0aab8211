"""The command line: one small file per command; they parse, call and report, no maths."""

from dnip.cli.main import main

__all__ = ["main"]
