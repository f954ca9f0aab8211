"""Whether probabilities tell anything about the class: noise, real biases, odd tables."""

import numpy as np
import pytest

from dnip import ProbabilityTable, evaluate, fit
from dnip.metrics.chance import has_signal
from populations import biased_rows


def noise(seed):
    """Draw a table whose probabilities know nothing of the labels, as wide and uneven as it may."""
    rng = np.random.default_rng(seed)
    n_classes, n_rows = int(rng.integers(2, 15)), int(rng.integers(60, 1_000))
    labels = rng.choice(n_classes, n_rows, p=rng.dirichlet(np.full(n_classes, 3.0)))
    z = rng.normal(size=n_classes) + rng.normal(size=(n_rows, n_classes)) * rng.uniform(0.3, 4)
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), labels


def test_noise_is_called_noise():
    found = [has_signal(*noise(seed)) for seed in range(40)]
    assert found.count(False) >= 38  # at the level of 2 %


@pytest.mark.parametrize("bias", [[0.0, 0.0, 0.0], [6.0, 0.0, -3.0]])
def test_a_model_that_nearly_always_answers_the_same_may_have_a_signal(bias):
    rows = [biased_rows(np.random.default_rng(seed), 100, bias=bias) for seed in range(20)]
    assert all(has_signal(each.probabilities, each.labels) for each in rows)


def test_a_model_that_is_worse_than_chance_has_none_to_use():
    y = np.arange(100) % 2
    p = np.where(np.eye(2)[y] > 0, 0.3, 0.7)
    assert has_signal(p[:, ::-1], y)
    assert has_signal(p, y) is False


def test_odd_tables():
    y = np.arange(60) % 3
    one_hot = np.eye(3)[y]
    assert has_signal(one_hot, y)
    assert has_signal(one_hot, np.zeros(60, int)) is None
    assert has_signal(one_hot, np.arange(60) // 41) is None  # 19 rows besides the first class
    assert has_signal(np.full((60, 3), 1 / 3), y) is False
    assert has_signal(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])) is None


def test_a_fit_and_an_evaluation_say_so():
    table = ProbabilityTable(*noise(1))
    fitted = fit(table)
    assert (fitted.verdict, fitted.evidence.verdict) == ("no signal", "no signal")
    assert "Change the prompt or the model" in fitted.reason
    assert fitted.coefficients.fit.evidence["verdict"] == "no signal"
    assert fit(table, evidence=False).verdict == "no signal"
    assert evaluate(table).to_dict()["signal"] is False


def test_pieces_of_a_table_are_judged_together(tmp_path):
    rows = biased_rows(np.random.default_rng(0), 12_000, bias=[1.0, 0.0])
    table = ProbabilityTable(rows.probabilities, rows.labels)
    assert evaluate([table.take(np.arange(n, n + 30)) for n in range(0, 60, 30)]).signal
    assert evaluate(table).signal
