"""The confusion matrix and its metrics, against scikit-learn and their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip import metrics
from dnip.base.errors import InvalidInputError
from dnip.metrics import (
    accuracy,
    balanced_accuracy,
    class_accuracies,
    cobias,
    cobias_single,
    confusion_matrix,
    macro_f1,
    odd_classes,
    pmi,
    prediction_ratios,
    worst_class_accuracy,
)
from strategies import random_confusion, seeded

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


def test_counts_equal_scikit_learn():
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


# Table 1 of the paper: World, Sports, Business, Tech
AG_NEWS = np.array([[1093, 64, 126, 3], [9, 1247, 14, 0], [25, 4, 1167, 8], [156, 27, 822, 235]])

confusions = st.builds(
    lambda seed, n, missing, size: random_confusion(
        np.random.default_rng(seed), n, min(missing, n - 2), size
    ),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 9),
    missing=st.integers(0, 3),
    size=st.sampled_from([2, 5, 50]),  # a small size gives ties
)


def test_the_papers_table():
    np.testing.assert_allclose(class_accuracies(AG_NEWS), [0.85, 0.98, 0.97, 0.19], atol=0.005)
    world, sports, business, tech = 1093 / 1286, 1247 / 1270, 1167 / 1204, 235 / 1240
    pairs = [
        sports - world,
        business - world,
        world - tech,
        sports - business,
        sports - tech,
        business - tech,
    ]
    assert cobias(AG_NEWS) == pytest.approx(sum(pairs) / 6, rel=1e-12)
    assert odd_classes(AG_NEWS).tolist() == [2, 2, 0, 2]  # Tech's odd class is Business
    odd_gaps = [business - world, sports - business, business - world, business - tech]
    assert cobias_single(AG_NEWS) == pytest.approx(sum(odd_gaps) / 4, rel=1e-12)


@seeded
@given(confusion=confusions)
def test_equals_the_definitions(confusion):
    assert cobias(confusion) == pytest.approx(oracles.cobias(confusion), abs=1e-12)
    assert cobias_single(confusion) == pytest.approx(oracles.cobias_single(confusion), abs=1e-12)
    odd = [oracles.odd_class(confusion, i) for i in range(len(confusion))]
    assert odd_classes(confusion).tolist() == [-1 if j is None else j for j in odd]


def test_extremes():
    assert cobias(np.eye(3)) == 0
    assert cobias([[5, 0], [5, 0]]) == 1
    assert cobias_single([[5, 0], [5, 0]]) == pytest.approx(0.5)  # no odd class, and |1 - 0|
    assert np.isnan(cobias([[3, 1], [0, 0]]))


@pytest.mark.parametrize("mu", [1e-3, 1.0, 4000.0])
@pytest.mark.parametrize("n_missing", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_pmi_equals_its_definition(seed, n_missing, mu):
    confusion = random_confusion(np.random.default_rng(seed), 6, n_missing)
    np.testing.assert_allclose(pmi(confusion, mu), oracles.pmi(confusion, mu), atol=1e-12)


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf, "1", True])
def test_refuses_a_smoothing_not_above_0(mu):
    with pytest.raises(InvalidInputError, match=r"smoothing .* above 0.*; got"):
        pmi(np.eye(2), mu)
