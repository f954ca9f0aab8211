"""Figures: every kind as a function that returns one, in one palette."""
