"""Whether coefficients still fit new rows: what a fit keeps for that, and the test."""
