"""The COBias to expect is that of accuracies as uncertain as few rows leave them."""

import numpy as np
import pytest

from dnip.fitting.pareto.rules import expected_cobias
from dnip.metrics import cobias


def counts_of(correct, size):
    """A confusion matrix of two or more classes, errors going to the next class."""
    confusion = np.diag(correct)
    confusion += np.roll(np.diag(np.asarray(size) - correct), 1, axis=1)
    return confusion


@pytest.mark.parametrize("correct", [[6, 6, 6], [3, 6, 9], [0, 5, 10]])
def test_is_the_mean_over_what_the_accuracies_may_be(correct):
    size = np.array([10, 12, 20])
    confusion = counts_of(correct, size)
    hedged = (np.array(correct) + 1) / (size + 2)
    deviation = np.sqrt(hedged * (1 - hedged) / size)
    rng = np.random.default_rng(0)
    may_be = np.array(correct) / size + deviation * rng.standard_normal((200_000, 3))
    pairs = [(0, 1), (0, 2), (1, 2)]
    mean = np.mean([np.abs(may_be[:, i] - may_be[:, j]).mean() for i, j in pairs])
    assert expected_cobias(confusion) == pytest.approx(mean, abs=1e-3)


def test_weights_that_make_few_rows_equal_leave_new_rows_apart():
    """Classes of one true accuracy, each measured on its own: the measured gap is noise, too."""
    rng = np.random.default_rng(1)
    told, met = [], []
    for _ in range(400):
        true = np.clip(0.6 + 0.1 * rng.standard_normal(4), 0, 1)  # what a fit on 24 rows leaves
        met.append(np.mean([abs(a - b) for n, a in enumerate(true) for b in true[:n]]))
        equal = counts_of([14, 14, 14, 14], [24, 24, 24, 24])
        told.append(expected_cobias(equal))
    assert np.mean(told) == pytest.approx(np.mean(met), rel=0.1)
    assert cobias(equal) == pytest.approx(0, abs=1e-12)


def test_many_rows_leave_the_measured_gap():
    confusion = counts_of([300_000, 600_000], [1_000_000, 1_000_000])
    assert expected_cobias(confusion) == pytest.approx(0.3, abs=1e-6)


def test_classes_without_rows_are_left_out():
    confusion = counts_of([6, 6, 0], [10, 10, 0])
    assert expected_cobias(confusion) == pytest.approx(expected_cobias(counts_of([6, 6], [10, 10])))
