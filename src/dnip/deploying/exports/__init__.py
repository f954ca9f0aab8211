"""Coefficients in the formats of other systems. Adding one: a file here, a line in `registry`."""
