"""Metrics equal their definitions, and what the catalogue says of each is so."""

import math
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracles
from cases import cases
from dnip import InvalidInputError, ProbabilityTable, metrics
from dnip.metrics import METRICS
from processes import ran
from strategies import SEEDS, random_confusion, random_probabilities, seeded

OF_OTHER_THINGS = ("cobias_score", "confusion_matrix", "metric_intervals", "smoothing_over")
OF_A_CONFUSION_MATRIX = [
    getattr(metrics, name)
    for name in filter(str.islower, metrics.__all__)
    if name not in OF_OTHER_THINGS
]


@cases(
    ([0, 1, 1], [0, 1], r"predictions has shape \(2,\), but 3 examples"),
    ([0, -1], [0, 1], r"labels\[1\]: the row has no label"),
    ([0, 1], [0, -1], r"predictions\[1\]: the row has no label"),
    ([0, 1], [0, 3], r"predictions\[1\]: '3' is a class index outside 0..2"),
    ([0, 1], [0.0, 0.5], r"predictions\[1\]: '0.5' is neither"),
)
def test_refuses_what_would_be_counted_elsewhere(labels, predictions, message):
    with pytest.raises(InvalidInputError, match=message):
        metrics.confusion_matrix(labels, predictions, n_classes=3)


def test_prediction_ratios_are_predicted_over_true():
    ratios = metrics.prediction_ratios([[8, 2, 2], [4, 6, 0], [0, 0, 0]])
    np.testing.assert_array_equal(ratios, [1.0, 0.8, np.nan])


@pytest.mark.parametrize("metric", OF_A_CONFUSION_MATRIX)
@cases(
    ([[1, 2, 3], [4, 5, 6]], r"square .* got shape \(2, 3\)"),
    ([1, 2], r"square .* got shape \(2,\)"),
    ([[1, -1], [0, 1]], "counts of 0 or more"),
    ([[1, np.nan], [0, 1]], "counts of 0 or more"),
    ([[0, 0], [0, 0]], "some example"),
    (np.empty((0, 0)), "some example"),
)
def test_refuses_what_is_no_confusion_matrix(metric, confusion, message):
    with pytest.raises(InvalidInputError, match=message):
        metric(confusion)


@pytest.mark.parametrize("seed", range(8))
def test_equals_scikit_learn(seed):
    theirs = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    confusion = random_confusion(rng, n_classes=rng.integers(2, 9), size=20)
    true, predicted = np.nonzero(confusion)
    times = confusion[true, predicted]
    y, guess = np.repeat(true, times), np.repeat(predicted, times)
    n = len(confusion) + 1
    counts = theirs.confusion_matrix(y, guess, labels=range(n))
    np.testing.assert_array_equal(metrics.confusion_matrix(y, guess, n_classes=n), counts)
    for ours, expected in (
        (metrics.accuracy, theirs.accuracy_score(y, guess)),
        (metrics.macro_f1, theirs.f1_score(y, guess, average="macro")),
    ):
        assert ours(confusion) == pytest.approx(expected)
    *shares, _ = theirs.precision_recall_fscore_support(
        y, guess, labels=range(n), zero_division=np.nan
    )
    of_classes = metrics.class_precisions, metrics.class_accuracies, metrics.class_f1
    for ours, expected in zip(of_classes, shares, strict=True):
        np.testing.assert_allclose(ours(counts), expected)


# Table 1 of the paper: World, Sports, Business, Tech
AG_NEWS = np.array([[1093, 64, 126, 3], [9, 1247, 14, 0], [25, 4, 1167, 8], [156, 27, 822, 235]])

confusions = st.builds(
    lambda seed, n, missing, size: random_confusion(
        np.random.default_rng(seed), n, min(missing, n - 2), size
    ),
    seed=SEEDS,
    n=st.integers(2, 9),
    missing=st.integers(0, 3),
    size=st.sampled_from([2, 5, 50]),  # a small size gives ties
)


def test_the_papers_table():
    rates = np.array([1093 / 1286, 1247 / 1270, 1167 / 1204, 235 / 1240])
    np.testing.assert_allclose(rates, [0.85, 0.98, 0.97, 0.19], atol=0.005)
    np.testing.assert_allclose(metrics.class_accuracies(AG_NEWS), rates, rtol=1e-12)
    gaps = np.abs(rates[:, None] - rates)
    assert metrics.cobias(AG_NEWS) == pytest.approx(gaps.sum() / 12, rel=1e-12)
    odd = [2, 2, 0, 2]  # Tech's odd class is Business
    assert metrics.odd_classes(AG_NEWS).tolist() == odd
    single = gaps[range(4), odd].mean()
    assert metrics.cobias_single(AG_NEWS) == pytest.approx(single, rel=1e-12)


@pytest.mark.parametrize("mu", [1e-3, 1.0, 4000.0])
@seeded
@given(confusion=confusions)
def test_equals_the_definitions(mu, confusion):
    rates = oracles.class_accuracies(confusion)  # none of a class without examples
    present = [rate for rate in rates if rate is not None]
    odd = [oracles.odd_class(confusion, i) for i in range(len(confusion))]
    for metric, expected in (
        (metrics.class_accuracies, [np.nan if rate is None else rate for rate in rates]),
        (metrics.balanced_accuracy, sum(present) / len(present)),
        (metrics.worst_class_accuracy, min(present)),
        (metrics.cobias, oracles.cobias(confusion)),
        (metrics.cobias_single, oracles.cobias_single(confusion)),
        (metrics.odd_classes, [-1 if j is None else j for j in odd]),
        (lambda counts: metrics.pmi(counts, mu), oracles.pmi(confusion, mu)),
    ):
        np.testing.assert_allclose(metric(confusion), expected, rtol=0, atol=1e-12)


def test_extremes():
    assert metrics.cobias(np.eye(3)) == 0
    assert metrics.cobias([[5, 0], [5, 0]]) == 1
    assert metrics.cobias_single([[5, 0], [5, 0]]) == pytest.approx(0.5)  # no odd class, |1 - 0|
    assert np.isnan(metrics.cobias([[3, 1], [0, 0]]))


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf, "1", True])
def test_refuses_a_smoothing_not_above_0(mu):
    with pytest.raises(InvalidInputError, match=r"smoothing .* above 0.*; got"):
        metrics.pmi(np.eye(2), mu)


# --- the catalogue ---
EVERY = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def drawn_confusions(n=20, n_classes=4):
    rng = np.random.default_rng(0)
    return rng.integers(0, 20, (n, n_classes, n_classes)) + np.eye(n_classes, dtype=int)


@EVERY
def test_values_and_intervals_lie_between_0_and_1(metric):
    for confusion in drawn_confusions():
        assert 0 <= metric.of(confusion) <= 1
        bounds = metric.interval(confusion, 0.9)
        assert 0 <= bounds[0] <= bounds[1] <= 1


@EVERY
def test_the_class_mix_matters_exactly_where_it_is_said_to(metric):
    for confusion in drawn_confusions():
        other_mix = confusion * np.array([[1], [2], [3], [7]])
        same = metric.of(other_mix) == pytest.approx(metric.of(confusion), abs=1e-12)
        assert same == (not metric.depends_on_mix)


NEW_METRIC = """
import numpy as np


def lowest_precision(confusion):
    counts = np.asarray(confusion)
    return float((np.diag(counts) / np.maximum(counts.sum(axis=0), 1)).min())


def its_interval(confusion, level):
    return [0.0, 1.0]
"""
EVERY_DOOR = {
    "fit opt.csv": "",
    "evaluate test.csv --coefficients coefficients.json": r"lowest precision +0\.\d+ .*-> 0\.\d+",
    "compare opt.csv --test test.csv --methods raw --seeds 1": r"\nmethod .*lowest precision",
    "fit opt.csv --path --json": '"lowest_precision": 0\\.',
    "report opt.csv --out report.html": "",
}


def test_a_metric_in_two_files_is_shown_by_every_door(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("opt", "test"):
        table = ProbabilityTable(random_probabilities(rng, 80, 3), np.arange(80) % 3)
        table.write(tmp_path / f"{name}.csv")
    package = shutil.copytree(Path(metrics.__file__).parents[1], tmp_path / "dnip") / "metrics"
    (package / "lowest.py").write_text(NEW_METRIC)
    catalogue = (package / "catalogue.py").read_text()
    entry = 'Metric("lowest precision", lowest_precision, its_interval, headline=True),'
    catalogue = catalogue.replace("_METRICS = (\n", f"_METRICS = (\n    {entry}\n")
    extra = "\nfrom dnip.metrics.lowest import its_interval, lowest_precision\n\n\n@dataclass"
    (package / "catalogue.py").write_text(catalogue.replace("\n\n\n@dataclass", extra, 1))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for words, shown in EVERY_DOOR.items():
        run = ran(sys.executable, "-m", "dnip", *words.split(), cwd=tmp_path, env=environment)
        assert run.returncode == 0, run.stderr
        assert re.search(shown, run.stdout), words
    assert "<dt>lowest precision</dt>" in (tmp_path / "report.html").read_text()
