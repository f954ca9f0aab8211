"""Confidence intervals of metrics, from the counts that the metrics are made of.

Nothing is read twice: a table of any size comes down to its confusion matrix, and a comparison on
the same rows to how many of each class both got right, one of them, or neither.
"""

from dnip.metrics.intervals.gaps import Bounds, GapTest, difference_of, gap_correlation
from dnip.metrics.intervals.hierarchy import draw_accuracies
from dnip.metrics.intervals.metrics import cobias_test, difference_intervals, metric_intervals
from dnip.metrics.intervals.proportions import mean_bounds, paired_bounds, wilson

__all__ = [
    "Bounds",
    "GapTest",
    "cobias_test",
    "difference_intervals",
    "difference_of",
    "draw_accuracies",
    "gap_correlation",
    "mean_bounds",
    "metric_intervals",
    "paired_bounds",
    "wilson",
]
