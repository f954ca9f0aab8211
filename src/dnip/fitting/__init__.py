"""Learn coefficients from labelled rows."""

from dnip.fitting.path import Path, Point, trace_path
from dnip.fitting.result import Alternative, Blend

__all__ = ["Alternative", "Blend", "Path", "Point", "trace_path"]
