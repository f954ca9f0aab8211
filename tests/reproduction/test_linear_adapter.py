"""The linear adapter: its smooth objective against Z, its training against what it should reach."""

import numpy as np
import pytest

from dnip import Objective
from dnip.base.errors import InvalidInputError
from dnip.comparing.baselines import OptSet
from dnip.metrics import cobias, confusion_matrix
from reproduction.linear_adapter import LinearAdapter
from strategies import random_confusion, random_probabilities

torch = pytest.importorskip("torch")
smooth_objective = pytest.importorskip("reproduction.linear_adapter").smooth_objective


def starved(n_rows=400, seed=0):
    """Labels that follow the probabilities once the last class is boosted."""
    rng = np.random.default_rng(seed)
    fair = random_probabilities(rng, n_rows, 3)
    p = fair * [3.0, 2.0, 0.5]
    return OptSet.of(p / p.sum(axis=1, keepdims=True), fair.argmax(axis=1))


@pytest.mark.parametrize("n_missing", [0, 1])
@pytest.mark.parametrize("terms", [("error", "cobias", "pmi"), ("error",), ("cobias", "pmi")])
def test_the_smooth_objective_of_whole_counts_is_z(terms, n_missing):
    confusion = random_confusion(np.random.default_rng(0), 5, n_missing)
    objective = Objective(1.3, 0.4, 2.0, terms)
    value = smooth_objective(torch, torch.tensor(confusion, dtype=torch.float64), objective)
    assert float(value) == pytest.approx(objective(confusion), abs=1e-12)


def test_training_closes_the_gap():
    opt, test = starved(), starved(seed=1)
    fitted = LinearAdapter().fit(opt)
    before = confusion_matrix(test.labels, test.probabilities.argmax(axis=1), 3)
    after = confusion_matrix(test.labels, fitted.predict(test.probabilities), 3)
    assert cobias(before) > 0.3
    assert cobias(after) < 0.1
    assert fitted.to_dict()["dev_rows"] == 80


def test_the_seed_says_all(monkeypatch):
    monkeypatch.setattr("reproduction.linear_adapter._MAX_STEPS", 30)
    opt = starved()
    torch.manual_seed(5)
    first = LinearAdapter().fit(opt, seed=3)
    torch.manual_seed(6)
    again, other = LinearAdapter().fit(opt, seed=3), LinearAdapter().fit(opt, seed=4)
    assert (first.matrix == again.matrix).all()
    assert (first.matrix != other.matrix).any()


@pytest.mark.parametrize("labels", [[0, 1, 2], [0, 2] * 8, [0] * 14 + [1, 1, 2, 2]])
def test_few_labels_and_a_missing_class(labels, monkeypatch):
    monkeypatch.setattr("reproduction.linear_adapter._MAX_STEPS", 20)
    p = random_probabilities(np.random.default_rng(2), len(labels), 3)
    scores = LinearAdapter(width=8).fit(OptSet.of(p, labels)).scores(p)
    assert np.isfinite(scores).all()


def test_bad_settings():
    with pytest.raises(InvalidInputError, match="width must be"):
        LinearAdapter(width=0)
    with pytest.raises(InvalidInputError, match="COBias over pairs"):
        LinearAdapter(objective=Objective(gap="single"))
