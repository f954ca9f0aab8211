"""The confusion matrix, and what is refused as one."""

import numpy as np
import pytest

from dnip import metrics
from dnip.base.errors import InvalidInputError
from dnip.metrics import confusion_matrix, prediction_ratios

OF_OTHER_THINGS = (
    "HEADLINE",
    "METRICS",
    "Metric",
    "confusion_matrix",
    "metric_intervals",
    "smoothing_over",
)
OF_A_CONFUSION_MATRIX = [
    getattr(metrics, name) for name in metrics.__all__ if name not in OF_OTHER_THINGS
]


def test_equals_scikit_learn():
    other = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    y, guess = rng.integers(5, size=(2, 200))
    np.testing.assert_array_equal(
        confusion_matrix(y, guess, n_classes=6), other.confusion_matrix(y, guess, labels=range(6))
    )


@pytest.mark.parametrize(
    ("labels", "predictions", "message"),
    [
        ([0, 1, 1], [0, 1], r"predictions has shape \(2,\), but 3 examples"),
        ([0, -1], [0, 1], r"labels\[1\]: label -1 is outside 0..2"),
        ([0, 1], [0, -1], r"predictions\[1\]: label -1 is outside 0..2"),
        ([0, 1], [0, 3], r"predictions\[1\]: label 3 is outside 0..2"),
        ([0, 1], [0.0, 0.5], "predictions holds values .* not class indices"),
    ],
)
def test_refuses_what_would_be_counted_elsewhere(labels, predictions, message):
    with pytest.raises(InvalidInputError, match=message):
        confusion_matrix(labels, predictions, n_classes=3)


def test_prediction_ratios_are_predicted_over_true():
    ratios = prediction_ratios([[8, 2, 2], [4, 6, 0], [0, 0, 0]])
    np.testing.assert_array_equal(ratios, [1.0, 0.8, np.nan])


@pytest.mark.parametrize("metric", OF_A_CONFUSION_MATRIX)
@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        ([[1, 2, 3], [4, 5, 6]], r"square .* got shape \(2, 3\)"),
        ([1, 2], r"square .* got shape \(2,\)"),
        ([[1, -1], [0, 1]], "counts of 0 or more"),
        ([[1, np.nan], [0, 1]], "counts of 0 or more"),
        ([[0, 0], [0, 0]], "some example"),
        (np.empty((0, 0)), "some example"),
    ],
)
def test_refuses_what_is_no_confusion_matrix(metric, confusion, message):
    with pytest.raises(InvalidInputError, match=message):
        metric(confusion)
