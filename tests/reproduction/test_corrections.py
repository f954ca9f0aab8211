"""The linear adapter and membership functions: each search against what it should reach."""

import itertools

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Objective
from dnip.comparing.baselines import OptSet
from dnip.metrics import cobias, confusion_matrix
from reproduction.linear_adapter import LinearAdapter, smooth_objective
from reproduction.membership import Membership
from strategies import random_confusion, random_probabilities


def starved(n_rows=400, seed=0):
    """Labels that follow the probabilities once the last class is boosted."""
    rng = np.random.default_rng(seed)
    fair = random_probabilities(rng, n_rows, 3)
    p = fair * [3.0, 2.0, 0.5]
    return OptSet.of(p / p.sum(axis=1, keepdims=True), fair.argmax(axis=1))


@pytest.mark.parametrize("n_missing", [0, 1])
@pytest.mark.parametrize("terms", [("error", "cobias", "pmi"), ("error",), ("cobias", "pmi")])
def test_the_smooth_objective_of_whole_counts_is_z(terms, n_missing):
    torch = pytest.importorskip("torch")
    confusion = random_confusion(np.random.default_rng(0), 5, n_missing)
    objective = Objective(1.3, 0.4, 2.0, terms)
    value = smooth_objective(torch, torch.tensor(confusion, dtype=torch.float64), objective)
    assert float(value) == pytest.approx(objective(confusion), abs=1e-12)


def test_training_closes_the_gap():
    pytest.importorskip("torch")
    opt, test = starved(), starved(seed=1)
    fitted = LinearAdapter().fit(opt)
    before = confusion_matrix(test.labels, test.probabilities.argmax(axis=1), 3)
    after = confusion_matrix(test.labels, fitted.predict(test.probabilities), 3)
    assert cobias(before) > 0.3
    assert cobias(after) < 0.1
    assert fitted.to_dict()["dev_rows"] == 80


#: Left corner, peak, right corner of the nineteen functions, by the intervals of the reference;
#: the corners of the steep ones lie an eighth apart.
CORNERS = (
    [(-1, 0, 1), (0, 1, 2)]
    + [(-0.5, 0, 0.5), (0, 0.5, 1), (0.5, 1, 1.5)]
    + [(step / 4 - 0.25, step / 4, step / 4 + 0.25) for step in range(5)]
    + [(step / 8 - 0.125, step / 8, step / 8 + 0.125) for step in range(9)]
)


def score(p, choice, scale):
    """What a choice makes of one probability, on the scale of whole weights."""
    if choice < scale:
        return (choice + 1) * p
    corners = [c for c in CORNERS if c != (0, 1, 2)][choice - scale]
    return scale * max(float(np.interp(p, corners, (0, 1, 0))), 0.0)


def problem(n_classes, n_rows, kind, seed):
    rng = np.random.default_rng(seed)
    p, follows = random_probabilities(rng, n_rows, n_classes, kind), rng.random(n_rows) < 0.6
    labels = np.where(follows, p.argmin(axis=1), rng.integers(n_classes, size=n_rows))
    labels[:n_classes] = np.arange(n_classes)
    return p, labels


@cases((2, 40, 4, "random"), (2, 30, 3, "tied"), (3, 30, 2, "random"), (3, 24, 2, "one-hot"))
def test_the_search_finds_the_optimum_of_all_choices(n_classes, n_rows, scale, kind):
    p, labels = problem(n_classes, n_rows, kind, seed=n_rows)
    values = [
        np.array([[score(x, choice, scale) for x in column] for choice in range(scale + 18)])
        for column in p.T
    ]
    raw = p.argmax(axis=1)
    best = np.inf
    for chosen in itertools.product(range(scale + 18), repeat=n_classes):
        scores = np.stack([values[c][choice] for c, choice in enumerate(chosen)], axis=1)
        predicted = np.where(scores.any(axis=1), scores.argmax(axis=1), raw)
        best = min(best, oracles.objective(confusion_matrix(labels, predicted, n_classes)))
    fitted = Membership(scale=scale).fit(OptSet.of(p, labels))
    reached = oracles.objective(confusion_matrix(labels, fitted.predict(p), n_classes))
    assert fitted.notes["objective"] == pytest.approx(reached, abs=1e-12)
    assert reached == pytest.approx(best, abs=1e-9)
