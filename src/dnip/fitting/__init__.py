"""Learn coefficients from labelled rows."""

from dnip.fitting.estimate import Blend
from dnip.fitting.fit import Alternative
from dnip.fitting.path import Path, Point, trace_path

__all__ = ["Alternative", "Blend", "Path", "Point", "trace_path"]
