"""Measurements: each module prints one Markdown table; ``python -m benchmarks`` runs them all."""
