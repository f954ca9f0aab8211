"""Membership or weight: the functions against their corners, the search against enumeration."""

import itertools

import numpy as np
import pytest

import oracles
from dnip import Objective, solve
from dnip.base.errors import InvalidInputError
from dnip.comparing.baselines import OptSet
from reproduction.membership import TRIANGLES, Choices, Membership
from strategies import random_probabilities

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


def confusion_of(labels, predictions, n_classes):
    counts = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(counts, (labels, predictions), 1)
    return counts


def problem(n_classes, n_rows, kind="random", seed=0):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, n_classes, kind)
    labels = np.where(
        rng.random(n_rows) < 0.6, p.argmin(axis=1), rng.integers(n_classes, size=n_rows)
    )
    labels[:n_classes] = np.arange(n_classes)
    return p, labels


def test_there_are_nineteen_functions_with_p_itself():
    assert len(TRIANGLES) + 1 == len(CORNERS) == 19
    assert len(Choices(30)) == 48


TINY = [(2, 40, 4, "random"), (2, 30, 3, "tied"), (3, 30, 2, "random"), (3, 24, 2, "one-hot")]


@pytest.mark.parametrize(("n_classes", "n_rows", "scale", "kind"), TINY)
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
        best = min(best, oracles.objective(confusion_of(labels, predicted, n_classes)))
    fitted = Membership(scale=scale).fit(OptSet.of(p, labels))
    reached = oracles.objective(confusion_of(labels, fitted.predict(p), n_classes))
    assert fitted.notes["objective"] == pytest.approx(reached, abs=1e-12)
    assert reached == pytest.approx(best, abs=1e-9)


def test_a_class_without_labels_keeps_its_weight():
    p, labels = problem(4, 100)
    opt = OptSet.of(p, np.where(labels == 2, 0, labels))
    with pytest.warns(match="no labelled example of class 2"):
        alone = solve(p, opt.labels, scale=30)
    assert Membership().fit(opt).chosen[2] == alone.weight_indices[2] - 1


def test_bad_settings():
    with pytest.raises(InvalidInputError, match="scale must be"):
        Membership(scale=0)
    p, labels = problem(2, 20)
    with pytest.raises(InvalidInputError, match="COBias over pairs"):
        Membership(Objective(gap="single")).fit(OptSet.of(p, labels))
