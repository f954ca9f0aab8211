"""Confidence intervals of metrics, from counts.

Metrics need only the confusion matrix of a table. A comparison of two sets of weights on the same
rows needs the numbers of rows of each class that both, one, or neither of them got right.
"""

from dnip.metrics.intervals.f1 import macro_f1_interval
from dnip.metrics.intervals.gaps import Bounds, GapTest, difference_of, gap_correlation
from dnip.metrics.intervals.hierarchy import draw_accuracies
from dnip.metrics.intervals.metrics import (
    PAIRED,
    accuracy_interval,
    balanced_accuracy_interval,
    class_accuracy_intervals,
    cobias_interval,
    cobias_single_interval,
    cobias_test,
    difference_intervals,
    worst_class_interval,
)
from dnip.metrics.intervals.proportions import mean_bounds, paired_bounds, wilson

__all__ = [
    "PAIRED",
    "Bounds",
    "GapTest",
    "accuracy_interval",
    "balanced_accuracy_interval",
    "class_accuracy_intervals",
    "cobias_interval",
    "cobias_single_interval",
    "cobias_test",
    "difference_intervals",
    "difference_of",
    "draw_accuracies",
    "gap_correlation",
    "macro_f1_interval",
    "mean_bounds",
    "paired_bounds",
    "wilson",
    "worst_class_interval",
]
