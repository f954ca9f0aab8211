"""Fits without labels: batch calibration, and what is said of it."""

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, Constraints, fit
from dnip.base.errors import InvalidInputError
from dnip.metrics import class_accuracies, confusion_matrix
from populations import biased_rows

BIAS = np.array([1.0, 0.0, -1.0])
SKEWED = (0.8, 0.15, 0.05)


def rows(n=3_000, seed=0, **settings):
    made = biased_rows(np.random.default_rng(seed), n, bias=BIAS, **settings)
    return made.probabilities, made.labels


def test_weights_make_the_mean_of_every_class_the_same():
    p, _ = rows(20_000)
    weights = fit(p, no_labels=True, scale=10_000).weights
    expected = 1 / p.mean(axis=0)
    np.testing.assert_allclose(weights / weights[2], expected / expected[2], rtol=0.01)


def test_sharper_probabilities_are_the_same_problem():
    p, _ = rows()
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    once, thrice = (fit(each, no_labels=True).predict(each) for each in (p, sharp))
    assert (once == thrice).mean() > 0.999


def test_labels_are_not_read():
    p, labels = rows()
    without = fit(p, no_labels=True)
    fitted = fit(p, labels, no_labels=True)
    assert fitted.weights.tolist() == without.weights.tolist()
    assert (fitted.verdict, fitted.has_labels) == ("not judged", False)


def test_shares_that_are_given_serve_the_weakest_class():
    p, labels = rows(shares=SKEWED)
    worst = {}
    for prior in (None, SKEWED):
        predicted = fit(p, no_labels=True, target_prior=prior).predict(p).astype(int)
        rates = class_accuracies(confusion_matrix(labels, predicted, 3))
        worst[prior] = rates.min(), rates @ np.array(SKEWED)
    raw = class_accuracies(confusion_matrix(labels, p.argmax(axis=1), 3))
    assert worst[SKEWED][0] > raw.min() + 0.1
    assert worst[SKEWED][1] > worst[None][1] + 0.05  # what assuming equal shares costs


def test_a_class_without_a_share_gets_the_least_weight():
    fitted = fit(rows()[0], no_labels=True, target_prior=[0.5, 0.5, 0])
    assert fitted.solution.weight_indices[2] == 1
    assert fitted.weights.max() == 1


def test_what_is_said_and_kept():
    p, _ = rows()
    fitted = fit(p, no_labels=True)
    assert "80 % of the rows" in fitted.reason
    assert "--target-prior" in fitted.reason
    named = fit(p, no_labels=True, target_prior="uniform")
    assert "80 %" not in named.reason
    assert named.weights.tolist() == fitted.weights.tolist()
    assert repr(fitted) == "Fit(Evaluation(no labels, 3 classes), verdict: not judged)"
    assert "not judged" in fitted._repr_html_()
    assert fitted.to_frame().columns.tolist() == ["class", "weight"]
    read = Coefficients.from_json(fitted.coefficients.to_json())
    assert (read.fit.data.rows, read.fit.data.labelled_rows) == (3_000, 0)
    np.testing.assert_allclose(read.class_shares, 1 / 3)
    assert read.adjusted(np.array(SKEWED)).weights.argmax() == 0


@cases(
    {"beta": 1.0},
    {"preset": "paper"},
    {"robust": "off"},
    {"constraints": Constraints(freeze=[0])},
    {"defer": 0.1},
    {"evidence": True},
    {"target_prior": "estimate"},
    {"weights": np.ones(3_000)},
    {"groups": np.arange(3_000)},
)
def test_what_needs_labels_is_refused(asked):
    [name] = asked
    with pytest.raises(InvalidInputError, match=rf"^{name}\S*: needs labels.*no_labels"):
        fit(rows()[0], no_labels=True, **asked)


@pytest.mark.parametrize(("shares", "is_said"), [((1 / 3,) * 3, True), (SKEWED, False)])
def test_a_fit_says_where_batch_calibration_does_as_well(shares, is_said):
    said = "Without labels, batch calibration does as well, "
    notes = fit(*rows(100, seed=3, shares=shares)).notes
    assert any(note.startswith(said) for note in notes) is is_said
