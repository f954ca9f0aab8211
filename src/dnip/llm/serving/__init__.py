"""Correct the answers of language models on their way to those who asked."""
