"""Answers that a user already holds, read into probability tables."""
