"""Labels that were chosen by the model's answers: noticed, told, and nothing promised."""

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable, fit
from dnip.fitting.fit import CHOSEN
from dnip.presenting.text import describe_fit, fit_to_dict
from populations import biased_rows

BIAS = (0.8, 0.0, -0.8)
N_LABELLED = 250


def population(seed, n=1_500, shares=None):
    made = biased_rows(np.random.default_rng(seed), n, bias=BIAS, shares=shares)
    return made.probabilities, made.labels


def labelled(seed, rate, n=N_LABELLED):
    """A table in which rows are labelled by a rate of their probabilities and labels."""
    p, labels = population(seed)
    rate = np.asarray(rate(p, labels), float)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(p), n, replace=False, p=rate / rate.sum())
    kept = np.full(len(p), -1)
    kept[drawn] = labels[drawn]
    return ProbabilityTable(p, kept)


def at_random(p, _labels):
    return np.ones(len(p))


def by_shares(_p, labels):
    return np.array([1.0, 0.4, 0.15])[labels]


def by_answer(p, _labels):
    return np.where(p.argmax(axis=1) == 0, 1, 0.02)


def least_sure(p, _labels):
    return np.where(p.max(axis=1) < np.quantile(p.max(axis=1), 0.35), 1, 0.02)


def most_sure(p, _labels):
    return np.where(p.max(axis=1) > np.quantile(p.max(axis=1), 0.65), 1, 0.02)


def errors(p, labels):
    return np.where(p.argmax(axis=1) != labels, 1, 0.05)


def test_a_choice_by_the_answer_is_noticed_from_few_labels():
    """The distributions of the probabilities alone do not show it."""
    table = labelled(5, lambda p, _: np.where(p.argmax(axis=1) == 2, 1, 0.02), n=60)
    assert fit(table, evidence=False).chosen < 0.01


@pytest.mark.parametrize("rate", [by_answer, least_sure, most_sure, errors])
def test_they_are_noticed(rate):
    assert fit(labelled(0, rate), evidence=False).chosen < 0.01


@pytest.mark.parametrize("rate", [at_random, by_shares])
def test_chance_and_class_shares_alone_are_not_called_chosen(rate):
    assert fit(labelled(0, rate), evidence=False).chosen is None


def test_the_unlabelled_rows_are_left_out():
    table = labelled(0, least_sure)
    fitted, alone = fit(table), fit(table.labelled(), evidence=False)
    assert fitted.weights.tolist() == alone.weights.tolist()
    assert fitted.decision.n_unlabelled == 0
    mix = fit(table, target_prior="estimate").target
    assert mix.estimate.n_rows == len(table) - N_LABELLED  # asked for, so they tell the mix


@pytest.mark.parametrize("robust", ["auto", "off"])
def test_nothing_is_promised(robust):
    fitted = fit(labelled(0, least_sure), robust=robust, evidence=True)
    assert (fitted.verdict, fitted.evidence) == ("not judged", None)
    assert fitted.reason == CHOSEN.format(fitted.chosen)
    text = " ".join(describe_fit(fitted, 0.9).split())
    assert "verdict: not judged The labels were chosen by the model's answers" in text
    assert "Next, label rows at random" in text
    assert "sure" not in text
    assert "--unlabelled NEW.csv" not in text
    assert fit_to_dict(fitted, 0.9)["evidence"]["chosen"] == fitted.chosen


def test_the_record_says_so_and_keeps_no_scores():
    table = labelled(0, most_sure)
    record = Coefficients.from_json(fit(table).coefficients.to_json()).fit
    assert record.evidence["verdict"] == "not judged"
    assert record.evidence["chosen"] < 0.01
    assert record.scores is None
    assert record.sketch.rows == len(table)
