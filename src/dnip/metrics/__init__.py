"""Metrics of a classifier, all functions of its confusion matrix (rows true, columns predicted).

A class without examples has no accuracy: it is ``nan`` in :func:`class_accuracies` and left out of
every mean.
"""

from dnip.metrics.catalogue import HEADLINE, METRICS, Metric, metric_intervals, scores
from dnip.metrics.confusion import (
    accuracy,
    balanced_accuracy,
    class_accuracies,
    cobias,
    cobias_score,
    cobias_single,
    confusion_matrix,
    macro_f1,
    odd_classes,
    pmi,
    prediction_ratios,
    smoothing_over,
    worst_class_accuracy,
)

__all__ = [
    "HEADLINE",
    "METRICS",
    "Metric",
    "accuracy",
    "balanced_accuracy",
    "class_accuracies",
    "cobias",
    "cobias_score",
    "cobias_single",
    "confusion_matrix",
    "macro_f1",
    "metric_intervals",
    "odd_classes",
    "pmi",
    "prediction_ratios",
    "scores",
    "smoothing_over",
    "worst_class_accuracy",
]
