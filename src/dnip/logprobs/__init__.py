"""Probabilities of labels, read from the log-probabilities of tokens that a server reports."""
