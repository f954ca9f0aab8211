"""Deferring: the share, and what is told of other rows."""

import itertools

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, fit
from dnip.fitting.deferring import FRONT, judge, threshold_of
from dnip.fitting.refits import LeftOut
from dnip.method.problem import Problem
from dnip.metrics import cobias
from dnip.metrics.intervals import Expectation
from dnip.solvers.search import PAPER
from populations import biased_rows


def system(chosen, labels, deferred, n_classes, helper):
    """Share, accuracy and class accuracies, counted row by row."""
    right, counted = np.zeros(n_classes), np.zeros(n_classes)
    for decision, label, away in zip(chosen, labels, deferred, strict=True):
        if away and helper is None:
            continue
        counted[label] += 1
        right[label] += helper if away else decision == label
    return np.mean(deferred), right.sum() / counted.sum(), right / np.maximum(counted, 1e-9)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.77])
def test_the_share_is_that_of_weighted_rows(share):
    rng = np.random.default_rng(0)
    sureness, weight = rng.random(2_000), 1.0 + rng.integers(5, size=2_000)
    below = sureness < threshold_of(sureness, weight, share)
    assert np.average(below, weights=weight) == pytest.approx(share, abs=0.003)
    alike = threshold_of(sureness, np.ones(2_000), share)
    assert alike == pytest.approx(np.quantile(sureness, share), abs=0.002)


def test_rows_that_tie_go_together_as_near_to_the_share_as_can_be():
    sureness = np.repeat([0.25, 0.5, 0.75, 1.0], 100)
    for share, deferred in ((0.3, 100), (0.45, 200), (0.05, 0), (0.95, 300)):
        threshold = threshold_of(sureness, np.ones(400), share)
        assert (sureness < threshold).sum() == deferred
        assert not (sureness[sureness < 1] == threshold).any() or deferred == 0


@pytest.mark.parametrize("helper", [0.9, None])
def test_what_is_judged_is_counted_on_rows_that_were_left_out(helper):
    made = biased_rows(np.random.default_rng(2), 500, bias=(1.0, 0.0, -0.5))
    p, labels = made.probabilities, made.labels
    problem, fold = Problem.of(p, labels), np.arange(500) % 5
    weights = np.random.default_rng(3).uniform(0.5, 1, (5, 3))
    refits = [LeftOut(fold == k, weights[k]) for k in range(5)]
    mix, none = problem.class_counts, Expectation(np.diag(problem.class_counts))
    nothing, some = judge(problem, np.ones(500), refits, [0.0, 0.3], helper, mix, none)
    chosen, deferred = np.zeros(500, int), np.zeros(500, bool)
    for left_out, multipliers in refits:
        q = p * multipliers / (p @ multipliers)[:, None]
        threshold = np.quantile(q[~left_out].max(axis=1), 0.3, method="midpoint")
        chosen[left_out] = q[left_out].argmax(axis=1)
        deferred[left_out] = q[left_out].max(axis=1) < threshold
    share, accuracy, rates = system(chosen, labels, deferred, 3, helper)
    assert (some.share, some.accuracy) == pytest.approx((share, accuracy), abs=0.005)
    low, high = some.to_dict(0.9)["intervals"]["worst_class_accuracy"]
    assert low < rates.min() < high
    assert nothing.share == 0
    assert nothing.accuracy == pytest.approx(np.mean(chosen == labels))


def population(n_rows, seed):
    """Classes of which one is much noisier than its probabilities say."""
    made = biased_rows(np.random.default_rng(seed), n_rows, bias=(1.0, 0.0, -0.5))
    rng, p = np.random.default_rng(seed + 1), made.probabilities
    labels = np.where(rng.random(n_rows) < 0.3 * (made.labels == 2), 0, made.labels)
    return p, labels


def test_what_is_told_is_true_of_other_rows():
    fitted = fit(*population(3_000, 0), defer=0.3, helper_accuracy=0.95, evidence=True)
    p, labels = population(60_000, 10)
    coefficients = fitted.coefficients
    assert coefficients.defer.share == 0.3
    assert len(set(coefficients.defer.thresholds)) == 1
    chosen = np.argmax(coefficients.apply(p), axis=1)
    share, accuracy, rates = system(chosen, labels, coefficients.deferred(p), 3, 0.95)
    assert [point.asked for point in fitted.deferring] == list(FRONT)
    told = fitted.deferring[FRONT.index(0.3)]
    assert told.share == pytest.approx(share, abs=0.02)
    assert told.accuracy == pytest.approx(accuracy, abs=0.02)
    intervals = told.to_dict(0.99)["intervals"]
    low, high = intervals["worst_class_accuracy"]
    assert low <= rates.min() <= high
    gaps = np.mean([abs(a - b) for a, b in itertools.combinations(rates, 2)])
    low, high = intervals["cobias"]
    assert low <= gaps <= high
    confusion = np.zeros((3, 3))
    np.add.at(confusion, (labels, chosen), 1)
    assert cobias(confusion) == pytest.approx(fitted.deferring[0].gaps.cobias, abs=0.02)


@cases(
    {"robust": "off"},
    {"objective": PAPER.objective, "scale": 30, "solver": PAPER.solver, "evidence": False},
    {"target_prior": [0.6, 0.3, 0.1]},
    {"helper_accuracy": None},
    {"evidence": False},
    {"classes": ["a", "b", "c"]},
)
def test_any_fit_may_hand_rows_on(settings):
    p, labels = population(600, 3)
    made = fit(p, labels, defer=0.2, **settings)
    plain = fit(p, labels, **{k: v for k, v in settings.items() if k != "helper_accuracy"})
    assert made.coefficients.weights.tolist() == plain.coefficients.weights.tolist()
    weight = np.ones(len(labels))
    if "target_prior" in settings:
        weight = (np.array(settings["target_prior"]) / np.bincount(labels))[labels]
    deferred = made.coefficients.deferred(p)
    assert np.average(deferred, weights=weight) == pytest.approx(0.2, abs=0.01)
    assert made.coefficients.defer.helper_accuracy == settings.get("helper_accuracy", 0.9)
    assert bool(made.deferring) == settings.get("evidence", True)
    read = Coefficients.from_json(made.coefficients.to_json())
    np.testing.assert_array_equal(read.deferred(p), deferred)


def test_what_the_rows_cannot_give_is_noted():
    p = np.repeat([[0.9, 0.05, 0.05], [0.6, 0.35, 0.05]], 20, axis=0)
    labels = np.tile([0, 0, 0, 1, 2], 8)
    made = fit(p, labels, defer=0.1, evidence=False, robust="off", scale=1)
    assert "0.0% are deferred, not 10.0%" in " ".join(made.notes)
