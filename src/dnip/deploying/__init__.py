"""Use coefficients: apply them to tables, and evaluate what they change."""
