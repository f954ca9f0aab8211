"""Intervals by the names of the metrics: coverage, missing classes, levels."""

import numpy as np
import pytest

from dnip.base.errors import InvalidInputError
from dnip.metrics import METRICS, metric_intervals, scores
from dnip.metrics.intervals.metrics import difference_intervals

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


def test_the_intervals_of_a_table_hold_its_own_scores():
    confusion = (1000 * CHANCES).astype(int)
    told, intervals = scores(confusion), metric_intervals(confusion)
    for metric in METRICS:
        low, high = intervals[metric]
        assert low < told[metric] < high, metric


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


def test_many_classes_take_no_time_and_little_memory():
    rng = np.random.default_rng(0)
    confusion = np.diag(rng.integers(1, 30, 300)) + rng.integers(0, 2, (300, 300))
    intervals = metric_intervals(confusion)
    assert 0 <= intervals["cobias"][0] < intervals["cobias"][1] < 1
