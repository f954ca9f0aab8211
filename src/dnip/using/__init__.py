"""What coefficients are for: evaluate, apply, check and export them."""
