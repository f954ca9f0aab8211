"""Intervals of metrics: against SciPy, coverage, missing classes, levels."""

import numpy as np
import pytest
from scipy import stats

from dnip.base.errors import InvalidInputError
from dnip.metrics import METRICS, metric_intervals, scores
from dnip.metrics.intervals import difference_intervals, mean_bounds, paired_bounds, wilson


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_wilson_is_that_of_scipy(level):
    for n in (1, 5, 40, 1000):
        for k in {0, 1, n // 3, n}:
            interval = stats.binomtest(k, n).proportion_ci(level, method="wilson")
            np.testing.assert_allclose(wilson([k], [n], level)[0], interval, atol=1e-12)


def test_nothing_is_known_of_a_class_without_rows():
    assert np.isnan(wilson([0, 1], [0, 2], 0.9)).tolist() == [[True, True], [False, False]]
    assert np.isnan(paired_bounds([0], [0], [0], 0.9)).all()


@pytest.mark.parametrize("n", [8, 25, 125])
def test_means_and_differences_hold_their_level(n):
    rng = np.random.default_rng(0)
    chances = np.array([0.1, 0.3, 0.1, 0.5])  # neither, second only, first only, both
    true_difference, accuracies = 0.2, np.array([0.9, 0.3, 0.6])
    in_difference = in_mean = 0
    for _ in range(2000):
        _, gained, lost, _ = rng.multinomial(n, chances)
        low, high = paired_bounds([gained], [lost], [n], 0.9)[0]
        in_difference += low <= true_difference <= high
        low, high = mean_bounds(rng.binomial(n, accuracies).astype(float), np.full(3, n), 0.9)
        in_mean += low <= accuracies.mean() <= high
    assert 0.87 <= in_difference / 2000 <= 0.96
    assert 0.87 <= in_mean / 2000 <= 0.94


CHANCES = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.1, 0.3, 0.6]])


@pytest.mark.parametrize("n", [30, 100])
def test_intervals_hold_as_often_as_they_say(n):
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    truth = scores(CHANCES * shares[:, None])
    repeats = 80
    held = dict.fromkeys((*METRICS, "class_accuracies"), 0.0)
    for _ in range(repeats):
        confusion = rng.multinomial(n, (CHANCES * shares[:, None]).ravel()).reshape(3, 3)
        intervals = metric_intervals(confusion)
        for metric in held.keys() - {"class_accuracies"}:
            low, high = intervals[metric]
            held[metric] += low <= truth[metric] <= high
        held["class_accuracies"] += np.mean(
            [
                low <= value <= high
                for (low, high), value in zip(
                    intervals["class_accuracies"], truth["class_accuracies"], strict=True
                )
            ]
        )
    for metric, hits in held.items():
        assert hits / repeats >= 0.77, metric


def test_cobias_single_leaves_out_a_class_whose_odd_class_has_no_rows():
    confusion = np.array([[60, 40, 0], [0, 0, 0], [10, 0, 90]])
    low, high = metric_intervals(confusion)["cobias_single"]
    assert low < scores(confusion)["cobias_single"] < high


def test_without_any_error_intervals_are_still_intervals():
    intervals = metric_intervals(np.diag([5, 5, 5]))
    assert intervals["cobias_single"] == [0, 0]
    for metric in ("accuracy", "macro_f1"):
        low, high = intervals[metric]
        assert 0.5 < low < high == 1
    assert intervals["cobias"][1] > 0.05


def test_classes_without_rows_are_left_out():
    full = difference_intervals(np.array([[[2, 2], [8, 8]], [[3, 4], [2, 8]]]))
    gap = difference_intervals(np.array([[[2, 2], [8, 8]], [[0, 0], [0, 0]], [[3, 4], [2, 8]]]))
    assert gap["class_accuracies"][1] is None
    assert [gap["class_accuracies"][c] for c in (0, 2)] == full["class_accuracies"]
    assert (gap["accuracy"], gap["cobias"]) == (full["accuracy"], full["cobias"])


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, float("inf"), "0.9"])
def test_a_level_outside_0_to_1_is_refused(level):
    for function, counts in (
        (metric_intervals, np.diag([5, 5])),
        (difference_intervals, np.ones((2, 2, 2), int)),
    ):
        with pytest.raises(InvalidInputError, match="confidence must lie between 0 and 1"):
            function(counts, level)
