"""Accuracies against another library, and against loops."""

import numpy as np
import pytest

import oracles
from dnip.metrics import (
    accuracy,
    balanced_accuracy,
    class_accuracies,
    macro_f1,
    worst_class_accuracy,
)
from strategies import random_confusion


@pytest.mark.parametrize("seed", range(8))
def test_equals_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    confusion = random_confusion(rng, n_classes=rng.integers(2, 9), size=20)
    true, predicted = np.nonzero(confusion)
    times = confusion[true, predicted]
    y, guess = np.repeat(true, times), np.repeat(predicted, times)
    recall = metrics.recall_score(y, guess, average=None)
    np.testing.assert_allclose(class_accuracies(confusion), recall, rtol=1e-12)
    assert accuracy(confusion) == pytest.approx(metrics.accuracy_score(y, guess))
    assert balanced_accuracy(confusion) == pytest.approx(metrics.balanced_accuracy_score(y, guess))
    assert worst_class_accuracy(confusion) == pytest.approx(recall.min())
    assert macro_f1(confusion) == pytest.approx(metrics.f1_score(y, guess, average="macro"))


@pytest.mark.parametrize("seed", range(8))
def test_a_class_without_examples_has_no_accuracy(seed):
    confusion = random_confusion(np.random.default_rng(seed), n_classes=5, n_missing=2)
    plain = oracles.class_accuracies(confusion)
    present = [a for a in plain if a is not None]
    np.testing.assert_array_equal(
        class_accuracies(confusion), [np.nan if a is None else a for a in plain]
    )
    assert balanced_accuracy(confusion) == pytest.approx(sum(present) / 3)
    assert worst_class_accuracy(confusion) == min(present)


def test_macro_f1_leaves_out_a_class_neither_true_nor_predicted():
    assert macro_f1([[8, 2, 0], [2, 8, 0], [0, 0, 0]]) == pytest.approx(0.8)
    assert macro_f1([[8, 0, 2], [0, 10, 0], [0, 0, 0]]) == pytest.approx((16 / 18 + 1 + 0) / 3)
