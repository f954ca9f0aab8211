"""What is expected of new labelled rows."""

import numpy as np
import pytest

from dnip.base.errors import CoefficientsFormatError
from dnip.deploying.checking.scores import ClassScores

LEVEL = 0.95


def scores(rng, rows, rates):
    rows = np.asarray(rows)
    return ClassScores(rows, rng.binomial(rows, rates))


def test_rows_of_the_same_accuracies_are_expected():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        rates = rng.uniform(0.5, 0.9, 4)
        fitted, now = scores(rng, [200] * 4, rates), scores(rng, [100, 50, 200, 30], rates)
        held.append([one.low <= one.now <= one.high for one in fitted.compare(now, LEVEL)])
    np.testing.assert_allclose(np.mean(held, axis=0), LEVEL, atol=0.04)


def test_a_gap_that_a_fit_has_closed_comes_back_as_chance_wills():
    # the fit made equal what chance set apart: rates are off by the chance of its own rows
    rng = np.random.default_rng(1)
    fitted, held = ClassScores(np.full(4, 100), np.full(4, 80)), []
    for _ in range(200):
        rates = np.clip(rng.normal(0.8, np.sqrt(0.8 * 0.2 / 100), 4), 0, 1)
        cobias = fitted.compare(scores(rng, [100] * 4, rates), LEVEL)[1]
        held.append(cobias.now <= cobias.high)
    assert np.mean(held) >= 0.94


def test_worse_scores_are_noticed():
    before = ClassScores(np.array([100, 100]), np.array([80, 80]))
    accuracy, cobias = before.compare(ClassScores(np.array([100, 100]), np.array([80, 50])), LEVEL)
    assert (accuracy.at_fit, accuracy.now, cobias.at_fit) == (0.8, 0.65, 0.0)
    assert cobias.now == pytest.approx(0.3)
    assert accuracy.now < accuracy.low
    assert cobias.now > cobias.high


def test_accuracy_is_expected_for_the_class_mix_of_the_new_rows():
    before = ClassScores(np.array([900, 100]), np.array([810, 50]))
    accuracy, _ = before.compare(ClassScores(np.array([100, 900]), np.array([90, 450])), LEVEL)
    assert accuracy.low < 0.54 < accuracy.high


def test_only_classes_with_rows_on_both_sides_are_compared():
    before = ClassScores(np.array([50, 50, 0]), np.array([40, 40, 0]))
    accuracy, cobias = before.compare(
        ClassScores(np.array([50, 0, 50]), np.array([40, 0, 0])), LEVEL
    )
    assert accuracy.now == 0.8
    assert cobias is None


@pytest.mark.parametrize(
    "content",
    [
        {"rows": [5, 5]},
        {"rows": [5, 5], "right": [5]},
        {"rows": [5, 5], "right": [6, 0]},
        {"rows": [0, 0], "right": [0, 0]},
        {"rows": ["x", 5], "right": [5, 5]},
        [],
    ],
)
def test_damaged_scores_are_refused(content):
    with pytest.raises(CoefficientsFormatError, match=r"fit\.scores is damaged"):
        ClassScores.from_fit({"scores": content}, 2)
    assert ClassScores.from_fit({}, 2) is None
