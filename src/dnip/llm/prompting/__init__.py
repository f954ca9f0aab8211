"""Prompting: from texts to class probabilities of a language model."""
