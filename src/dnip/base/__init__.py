"""What every room stands on: errors, checks of arrays and settings, files, types."""

#: Stated here, and nowhere else.
__version__ = "0.1.0"
