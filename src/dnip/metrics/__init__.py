"""Metrics of a classifier, all functions of its confusion matrix (rows true, columns predicted).

A class without examples has no accuracy: it is ``nan`` in :func:`class_accuracies` and left out of
every mean.
"""

from dnip.metrics.catalogue import (
    CLASS_METRICS,
    HEADLINE,
    METRICS,
    Metric,
    metric_intervals,
    scores,
)
from dnip.metrics.confusion import (
    accuracy,
    balanced_accuracy,
    class_accuracies,
    class_f1,
    class_precisions,
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
    "CLASS_METRICS",
    "HEADLINE",
    "METRICS",
    "Metric",
    "accuracy",
    "balanced_accuracy",
    "class_accuracies",
    "class_f1",
    "class_precisions",
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
