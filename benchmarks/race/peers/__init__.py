"""The searches, one way per file; each proposes weights to an arena until it is stopped."""
