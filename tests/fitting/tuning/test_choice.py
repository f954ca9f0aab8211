"""Scores against the metrics, the bootstrap against a plain one, the rule, and the grid."""

from itertools import product

import numpy as np
import pytest

import dnip.fitting.tuning.choice as choice_module
from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.fitting.tuning import CRITERIA, Criterion, Grid, Settings
from dnip.fitting.tuning.choice import choose
from dnip.method.scales import DEFAULT_SCALE
from dnip.metrics import METRICS, confusion_matrix

DEFAULT, OTHER, FAR = Settings(), Settings(beta=5.0), Settings(beta=10.0, tau=0.0)


def noisy(y, rng, rate, n_classes=3):
    """Predictions that are right at a rate per class."""
    wrong = (y + rng.integers(1, n_classes, len(y))) % n_classes
    return np.where(rng.random(len(y)) < np.asarray(rate)[y], y, wrong)


def folds_of(y, n_folds):
    return [y[number::n_folds] for number in range(n_folds)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_folds", [1, 3])
def test_scores_are_the_means_over_folds_of_the_metric(metric, n_folds):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 61)
    labels = folds_of(y, n_folds)
    rates = [0.9, 0.5, 0.7]
    predictions = {one: folds_of(noisy(y, rng, rates), n_folds) for one in (DEFAULT, OTHER)}
    found = choose(labels, predictions, Criterion("weighted", {metric: 2}), 3, seed=0)
    of, sign = METRICS[metric].of, METRICS[metric].sign
    for settings, parts in predictions.items():
        values = [of(confusion_matrix(*pair, 3)) for pair in zip(labels, parts, strict=True)]
        wanted = 2 * sign * np.average(values, weights=list(map(len, labels)))
        assert found.standings[settings].score == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "cobias", "macro_f1"])
def test_the_standard_error_is_that_of_a_bootstrap_of_rows(metric, monkeypatch):
    monkeypatch.setattr(choice_module, "SAMPLES", 3000)
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [40, 50, 60])
    one, two = (noisy(y, rng, rate) for rate in ([0.9, 0.5, 0.7], [0.8, 0.6, 0.75]))
    criterion = Criterion("weighted", {metric: 1})
    found = choose([y], {DEFAULT: [one], OTHER: [two]}, criterion, 3, seed=0)
    differences = []
    for _ in range(1500):
        rows = np.concatenate([rng.choice(np.flatnonzero(y == c), sum(y == c)) for c in range(3)])
        counts = (confusion_matrix(y[rows], p[rows], 3) for p in (one, two))
        differences.append(np.diff(list(map(METRICS[metric].of, counts)))[0])
    standing = found.standings[OTHER]
    assert standing.standard_error == pytest.approx(np.std(differences), rel=0.1)
    assert found.standings[DEFAULT].standard_error == 0


@pytest.mark.parametrize("name", CRITERIA)
def test_a_candidate_that_is_plainly_better_is_chosen(name):
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 200)
    uneven, even = noisy(y, rng, [0.95, 0.3, 0.6]), noisy(y, rng, [0.8, 0.8, 0.8])
    found = choose([y], {DEFAULT: [uneven], OTHER: [even]}, Criterion(name), 3, seed=0)
    assert (found.chosen, found.reference) == (OTHER, DEFAULT)
    standing = found.standings[OTHER]
    assert standing.ahead > found.bar * standing.standard_error


def test_equal_candidates_rarely_unseat_the_defaults():
    kept = {0.0: 0, 0.9: 0}
    for trial in range(40):
        rng = np.random.default_rng(trial)
        y = np.repeat([0, 1, 2], 100)
        candidates = DEFAULT, *(Settings(beta=3.0 + i) for i in range(15))
        predictions = {one: folds_of(noisy(y, rng, [0.7] * 3), 5) for one in candidates}
        offered = folds_of(y, 5), predictions, Criterion(), 3
        for confidence in kept:
            found = choose(*offered, seed=0, confidence=confidence)
            kept[confidence] += found.chosen == DEFAULT
    assert kept[0.9] >= 36
    assert kept[0.0] <= 10


def test_of_near_equals_the_nearest_to_the_defaults_is_chosen():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 200)
    good = noisy(y, rng, [0.8, 0.8, 0.8])
    better = good.copy()
    mended, broken = np.flatnonzero(good != y)[:2], np.flatnonzero(good == y)[0]
    better[mended], better[broken] = y[mended], 1  # one row ahead, by √3 rows
    bad = noisy(y, rng, [0.9, 0.2, 0.5])
    right = Criterion("weighted", {"accuracy": 1})
    offered = [y], {FAR: [better], OTHER: [good], DEFAULT: [bad]}, right, 3
    found = choose(*offered, seed=0)
    assert (found.alike, found.chosen) == ((OTHER, FAR), OTHER)
    assert choose(*offered, seed=0, confidence=0).chosen == FAR


def test_where_the_first_metric_cannot_tell_the_second_one_does():
    y = np.repeat([0, 1], 100)
    uneven, even = y.copy(), y.copy()
    uneven[:40] = 1
    even[:20], even[-20:] = 1, 0
    for predictions, chosen in (((uneven, even), OTHER), ((even, uneven), DEFAULT)):
        offered = {DEFAULT: [predictions[0]], OTHER: [predictions[1]]}
        assert choose([y], offered, Criterion("accuracy"), 2, seed=0).chosen == chosen


def test_without_the_defaults_the_nearest_candidate_stands_for_them():
    y = np.repeat([0, 1], 10)
    found = choose([y], {FAR: [y], OTHER: [y]}, Criterion(), 2, seed=0)
    assert (found.chosen, found.reference, found.alike) == (OTHER, OTHER, ())


@cases(
    (("fairness",), "criterion must be one of accuracy, cobias, weighted; got 'fairness'"),
    (("accuracy", {"cobias": 1}), "weights belong to the criterion weighted"),
    (("weighted", {"speed": 1}), "a weighted metric must be one of accuracy"),
    (("weighted", {"cobias": -1}), "weight of cobias must be"),
    (("weighted", {"cobias": 0}), "weights has no weight above 0"),
    (("weighted", {}), "weights has no weight above 0"),
)
def test_a_criterion_that_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(InvalidInputError, match=told):
        Criterion(*arguments)


def test_every_combination_is_a_candidate_once():
    grid = Grid((1.0, 2.7, 1), (0.2, 1.0), (30, "30", "log:10"), (1.0, 4000.0), ("off", "auto"))
    wanted = set(product((1.0, 2.7), (0.2, 1.0), ("30", "log:10"), (1.0, 4000.0), ("off", "auto")))
    found = [(s.beta, s.tau, s.scale, s.smoothing, s.robust) for s in grid.candidates()]
    assert len(found) == len(wanted)
    assert set(found) == wanted


def test_without_pmi_its_smoothing_is_not_tried():
    grid = Grid((2.7,), (0.0, 0.2), (30,), (4000.0, 2.0, 1000.0), ("auto",))
    assert [(s.tau, s.smoothing) for s in grid.candidates() if s.tau == 0] == [(0.0, 4000.0)]
    assert len(grid.candidates()) == 4


def test_the_nearest_to_the_defaults_come_first():
    grid = Grid((0.0, 10.0, 2.7, 2.0), (1.0, 0.0), (10, 30, "log:1000", "log:30"))
    order = grid.candidates()
    assert order[0] == Settings()
    differing = [sum((s.beta != 2.7, s.tau != 0.0, s.scale != DEFAULT_SCALE)) for s in order]
    assert differing == sorted(differing)
    one = [s for s, n in zip(order, differing, strict=True) if n == 1]
    assert [s.beta for s in one if s.beta != 2.7] == [2.0, 10.0, 0.0]
    assert [s.scale for s in one if s.scale != DEFAULT_SCALE] == ["log:30", "30", "10"]
