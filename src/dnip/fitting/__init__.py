"""Learn coefficients from labelled rows."""
