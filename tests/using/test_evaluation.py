"""Counts before and after, whole or in chunks; metrics are those of the oracles."""

import json
from dataclasses import replace

import numpy as np
import pytest

import oracles
from dnip import Coefficients, InvalidInputError, ProbabilityTable, evaluate
from dnip.method.coefficients import Deferral
from strategies import KINDS, random_probabilities

NAMES = ("bad", "okay", "good")
FITTED = Coefficients(NAMES, [30, 12, 7], 30)


def random_table(kind="mixed", n_rows=100, unlabelled=10):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n_rows)
    labels[:unlabelled] = -1
    return ProbabilityTable(random_probabilities(rng, n_rows, 3, kind), labels, classes=NAMES)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_the_prediction_rule(kind):
    table = random_table(kind)
    result = evaluate([table], coefficients=FITTED)
    p, labels = table.probabilities[10:], table.labels[10:]
    np.testing.assert_array_equal(result.raw, oracles.confusion_at(p, labels, [1, 1, 1]))
    np.testing.assert_array_equal(result.reweighted, oracles.confusion_at(p, labels, [30, 12, 7]))
    assert (result.n, result.n_unlabelled, result.missing) == (90, 10, ())
    assert result.classes == NAMES
    right = [(oracles.predict(p, w) == labels).astype(int) for w in ([1, 1, 1], [30, 12, 7])]
    agreement = np.zeros((3, 2, 2), int)
    np.add.at(agreement, (labels, *right), 1)
    np.testing.assert_array_equal(result.agreement, agreement)
    assert evaluate([table]).agreement is None
    chunks = [table.take(range(start, min(start + 7, 100))) for start in range(0, 100, 7)]
    assert evaluate(chunks, coefficients=FITTED).to_dict() == result.to_dict()


@pytest.mark.parametrize("helper", [0.8, 1.0, None])
def test_what_is_deferred_is_left_out_of_what_remains_and_right_as_often_as_the_helper(helper):
    table, defer = random_table(), Deferral([0.8, 0.5, 0.4], 0.3, helper)
    chunks = [table.take(range(start, start + 10)) for start in range(0, 100, 10)]
    found = evaluate(chunks, coefficients=replace(FITTED, defer=defer)).to_dict()
    told = found.pop("defer")
    assert found == evaluate([table], coefficients=FITTED).to_dict()
    p, labels = table.probabilities[10:], table.labels[10:]
    chosen = oracles.predict(p, FITTED.multipliers)
    sure = FITTED.apply(p)[np.arange(90), chosen]
    stay = sure >= defer.thresholds[chosen]
    assert (told["share"], told["asked"]) == (pytest.approx(1 - stay.mean()), 0.3)
    right = np.where(chosen == labels, 1.0, 0.0)
    sides = {"remaining": (right, stay)}
    if helper is not None:
        sides["system"] = (np.where(stay, right, helper), np.full(90, True))
    for side, (hits, rows) in sides.items():
        rates = [hits[rows & (labels == c)].mean() for c in range(3)]
        gaps = [abs(rates[a] - rates[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
        expected = [hits[rows].mean(), np.mean(gaps), min(rates)]
        np.testing.assert_allclose([*told[side].values()], expected)
    assert ("system" in told) == (helper is not None)


def test_where_nothing_remains_nothing_is_scored():
    coefficients = replace(FITTED, defer=Deferral([1, 1, 1], 0.3, 0.9))
    table = ProbabilityTable([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], np.array([0, 2]), classes=NAMES)
    told = evaluate([table], coefficients=coefficients).to_dict()["defer"]
    assert told["share"] == 1
    assert {*told["remaining"].values()} == {None}
    assert told["system"] == {"accuracy": 0.9, "cobias": 0.0, "worst_class_accuracy": 0.9}


def test_intervals_and_differences_stand_beside_the_scores():
    summary = evaluate([random_table()], coefficients=FITTED).to_dict(confidence=0.9)
    raw, after, change = (summary[key] for key in ("raw", "reweighted", "difference"))
    assert summary["confidence"] == 0.9
    scalars = {name for name, value in raw.items() if isinstance(value, float)}
    for side in (raw, after):
        assert side["intervals"].keys() == scalars | {"class_accuracies"}
    assert change["intervals"].keys() == {"accuracy", "cobias", "class_accuracies"}
    for metric in ("accuracy", "cobias"):
        assert change[metric] == after[metric] - raw[metric]
        low, high = change["intervals"][metric]
        assert low < high
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert "intervals" not in evaluate([random_table()], coefficients=FITTED).to_dict()["raw"]


def test_scores_for_another_mix_weigh_rows_and_keep_their_counts():
    rng = np.random.default_rng(0)
    table = ProbabilityTable(rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60))
    target = np.array([0.7, 0.1, 0.2])
    result = evaluate([table], target=target)
    weight = (target * 60 / np.bincount(table.labels))[table.labels]
    predicted = table.probabilities.argmax(axis=1)
    right = predicted == table.labels
    told = result.to_dict()["raw"]
    assert told["accuracy"] == pytest.approx((weight * right).sum() / weight.sum())
    ratios = np.bincount(predicted, weight) / np.bincount(table.labels, weight)
    assert told["prediction_ratios"] == pytest.approx(ratios)
    plain = evaluate([table]).to_dict()["raw"]
    for name in ("cobias", "class_accuracies", "odd_classes", "balanced_accuracy"):
        assert told[name] == pytest.approx(plain[name]), name
    assert told["confusion"] == plain["confusion"]


def test_a_mix_needs_two_classes_that_are_there():
    table = ProbabilityTable(np.full((4, 3), 1 / 3), np.array([0, 0, 1, 1]))
    with pytest.raises(InvalidInputError, match="only one class, 0, has labelled rows and a share"):
        evaluate([table], target=np.array([0.5, 0.0, 0.5]))


# --- where probabilities say nothing of the class ---
def spoken(n_classes, seed=0):
    """Probabilities, and labels that are mostly the most probable class."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.5), 300)
    return p, np.where(rng.random(300) < 0.8, p.argmax(axis=1), rng.integers(n_classes, size=300))


@pytest.mark.parametrize("seed", range(3))
def test_slips_are_named(seed):
    p, labels = spoken(4, seed)
    assert evaluate(p, labels).cause is None

    moved = evaluate(p[:, [2, 3, 1, 0]], labels)
    assert moved.signal is False
    assert "the labels speak for 2, 3, 1, 0" in moved.cause

    few = labels < 3
    assert "counted from 1" in evaluate(p[few], labels[few] + 1).cause

    distances = 1 / np.maximum(p, 1e-3)
    distances /= distances.sum(axis=1, keepdims=True)
    assert "as distances do" in evaluate(distances, labels).cause

    pair, swapped = spoken(2, seed)
    assert "swapped" in evaluate(pair, 1 - swapped).cause


def test_noise_has_no_cause():
    rng = np.random.default_rng(0)
    noise = evaluate(rng.dirichlet([1, 1, 1], 300), np.arange(300) % 3)
    assert noise.signal is False
    assert noise.cause is None
    assert "say nothing about the class" in noise.no_signal
