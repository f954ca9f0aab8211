"""What the catalogue says of each metric is so, and a metric in it is known everywhere."""

import numpy as np
import pytest

from dnip import ProbabilityTable, evaluate
from dnip.fitting.tuning import Criterion, Settings
from dnip.fitting.tuning.choice import choose
from dnip.metrics import METRICS, Metric, metric_intervals, scores

EVERY = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def confusions(n=20, n_classes=4):
    rng = np.random.default_rng(0)
    return rng.integers(0, 20, (n, n_classes, n_classes)) + np.eye(n_classes, dtype=int)


@EVERY
def test_values_and_intervals_lie_between_0_and_1(metric):
    for confusion in confusions():
        assert 0 <= metric.of(confusion) <= 1
        bounds = metric.interval(confusion, 0.9)
        assert 0 <= bounds[0] <= bounds[1] <= 1


@EVERY
def test_a_perfect_classifier_is_better_than_a_poor_one(metric):
    perfect, poor = np.diag([50, 50, 50]), np.array([[49, 1, 0], [40, 10, 0], [30, 10, 10]])
    assert metric.sign * metric.of(perfect) > metric.sign * metric.of(poor)


@EVERY
def test_class_accuracies_give_the_value_where_they_determine_it(metric):
    if metric.of_class_accuracies is None:
        return
    for confusion in confusions():
        sizes = confusion.sum(axis=1)
        rates = np.diag(confusion) / sizes
        values = metric.of_class_accuracies(np.stack([rates, rates]), sizes)
        assert values == pytest.approx([metric.of(confusion)] * 2, abs=1e-12)


@EVERY
def test_the_class_mix_matters_exactly_where_it_is_said_to(metric):
    for confusion in confusions():
        other_mix = confusion * np.array([[1], [2], [3], [7]])
        same = metric.of(other_mix) == pytest.approx(metric.of(confusion), abs=1e-12)
        assert same == (not metric.depends_on_mix)


def test_a_metric_that_is_added_is_scored_and_can_be_weighed(monkeypatch):
    def lowest_precision(confusion):
        counts = np.asarray(confusion)
        return float((np.diag(counts) / np.maximum(counts.sum(axis=0), 1)).min())

    added = Metric("lowest precision", lowest_precision)
    monkeypatch.setitem(METRICS, added.name, added)
    confusion = np.array([[8, 2], [4, 6]])
    assert scores(confusion)["lowest_precision"] == pytest.approx(8 / 12)
    assert "lowest_precision" not in metric_intervals(confusion)
    table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]]), np.array([0, 0, 1]))
    assert evaluate([table]).to_dict(0.9)["raw"]["lowest_precision"] == 1
    y = np.repeat([0, 1], 40)
    predictions = {Settings(): [np.zeros_like(y)], Settings(beta=5): [y]}
    found = choose([y], predictions, Criterion("weighted", {added.name: 1}), 2, seed=0)
    assert found.standings[Settings(beta=5)].score == 1
