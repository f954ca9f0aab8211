"""Membership or weight: the functions against their corners, the search against enumeration."""

import itertools

import numpy as np
import pytest

import oracles
from dnip import Objective, solve
from dnip.base.errors import InvalidInputError
from dnip.comparing.baselines import OptSet
from reproduction.membership import TRIANGLES, Choices, Membership, MembershipCorrection
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


def predict(p, chosen, scale):
    """The rule, row by row: the highest score, the lowest class on a tie, raw where all are 0."""
    predictions = []
    for row in p.tolist():
        scores = [score(value, choice, scale) for value, choice in zip(row, chosen, strict=True)]
        predictions.append(int(np.argmax(scores if any(scores) else row)))
    return np.array(predictions)


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


@pytest.mark.parametrize("scale", [1, 7, 30])
def test_every_choice_is_the_function_through_its_corners(scale):
    # eighths and what lies between: all of these are exact numbers
    column = np.arange(129) / 128
    values = Choices(scale).values(column)
    for choice in range(len(Choices(scale))):
        expected = [score(p, choice, scale) for p in column]
        assert values[choice] == pytest.approx(expected, abs=1e-12), Choices(scale).name(choice)
    assert (values[scale - 1] == scale * column).all()


def test_scores_are_the_values_of_the_choices():
    p, _ = problem(5, 40)
    choices = Choices(6)
    chosen = np.array([0, 5, 6, 14, 23])
    columns = [choices.values(p[:, c])[choice] for c, choice in enumerate(chosen)]
    assert (choices.scores(p, chosen) == np.stack(columns, axis=1)).all()


@pytest.mark.parametrize("kind", ["random", "tied", "decimal", "one-hot", "tiny"])
def test_predictions_follow_the_rule(kind):
    rng = np.random.default_rng(8)
    p = random_probabilities(rng, 60, 3, kind)
    for _ in range(40):
        chosen = rng.integers(4 + 18, size=3)
        correction = MembershipCorrection(Choices(4), chosen, {})
        if kind in ("tied", "one-hot"):  # whose scores are exact
            assert (correction.predict(p) == predict(p, chosen, 4)).all()
        scores = correction.scores(p)
        assert (correction.predict(p) == scores.argmax(axis=1)).all()
        silent = ~Choices(4).scores(p, chosen).any(axis=1)
        assert (scores[silent] == p[silent]).all()


def test_weights_alone_decide_as_dnip_does():
    p, _ = problem(4, 300, "tied")
    indices = np.array([3, 30, 10, 29])
    correction = MembershipCorrection(Choices(30), indices - 1, {})
    assert (correction.predict(p) == oracles.predict(p, indices)).all()


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


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_is_never_above_that_of_weights_alone(seed):
    p, labels = problem(4, 200, "mixed", seed)
    alone = solve(p, labels, scale=10)
    fitted = Membership(scale=10).fit(OptSet.of(p, labels), seed)
    assert fitted.notes["objective"] <= alone.value + 1e-12


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
