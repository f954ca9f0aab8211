"""Confidence intervals of metrics, from counts.

Metrics need only the confusion matrix of a table. A comparison of two sets of weights on the same
rows needs the numbers of rows of each class that both, one, or neither of them got right.
"""
