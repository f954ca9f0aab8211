"""Bootstrap scores are the metrics of the resampled rows, taken one by one."""

import numpy as np
import pytest

from dnip.comparison.intervals import METRICS, bootstrap, interval
from dnip.evaluation import scores
from dnip.metrics import confusion_matrix


def rows(n_rows=80, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(n_classes, size=n_rows)
    predictions = {
        name: [np.where(rng.random(n_rows) < good, true, rng.integers(n_classes, size=n_rows))
               for _ in range(2)]
        for name, good in (("raw", 0.3), ("better", 0.7))
    }  # fmt: skip
    return true, predictions


def by_hand(true, predictions, n_classes, resamples, seed=0):
    rng = np.random.default_rng(seed)
    expected = {name: [] for name in predictions}
    for _ in range(resamples):
        drawn = rng.integers(len(true), size=len(true))
        for name, runs in predictions.items():
            told = [scores(confusion_matrix(true[drawn], run[drawn], n_classes)) for run in runs]
            expected[name].append([np.mean([one[m] for one in told]) for m in METRICS])
    return expected


@pytest.mark.parametrize(("n_rows", "n_classes"), [(80, 4), (6, 4), (200, 2)])
def test_scores_are_those_of_the_resampled_rows(n_rows, n_classes):
    true, predictions = rows(n_rows, n_classes)
    found = bootstrap(true, predictions, n_classes, resamples=30)
    expected = by_hand(true, predictions, n_classes, 30)
    for name in predictions:
        assert found[name] == pytest.approx(np.nan_to_num(expected[name]), abs=1e-12)


def test_blocks_do_not_matter(monkeypatch):
    true, predictions = rows()
    whole = bootstrap(true, predictions, 4, resamples=25)
    monkeypatch.setattr("dnip.comparison.intervals._CELLS", 80 * 7)
    parts = bootstrap(true, predictions, 4, resamples=25)
    assert all((whole[name] == parts[name]).all() for name in predictions)


def test_differences_are_paired():
    true, predictions = rows(400)
    twice = {"raw": predictions["raw"], "same": predictions["raw"]}
    found = bootstrap(true, twice, 4, resamples=50)
    assert (found["raw"] == found["same"]).all()


def test_an_accuracy_interval_is_as_wide_as_the_binomial_says():
    rng = np.random.default_rng(1)
    true = rng.integers(2, size=2000)
    predicted = np.where(rng.random(2000) < 0.7, true, 1 - true)
    found = bootstrap(true, {"raw": [predicted]}, 2, resamples=2000)["raw"][:, 0]
    low, high = interval(found)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.7 * 0.3 / 2000), rel=0.1)
