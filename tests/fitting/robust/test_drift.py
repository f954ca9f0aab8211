"""Whether unlabelled rows lie elsewhere: not by chance, and not by their class mix."""

import numpy as np
import pytest

from dnip.fitting.robust.calibrating import find_drift
from populations import biased_rows

BIAS = [0.7, 0, -0.7]


def rows(seed, n_rows=400, **settings):
    return biased_rows(np.random.default_rng(seed), n_rows, bias=BIAS, **settings)


@pytest.fixture
def here():
    return rows(0)


def moved(p, shift, sharpness=1.0):
    scores = p**sharpness * np.exp(shift)
    return scores / scores.sum(axis=1, keepdims=True)


def test_the_same_rows_have_not_moved(here):
    assert find_drift(here.probabilities, here.labels, here.probabilities) is None


def test_other_rows_of_one_population_seldom_have():
    found = []
    for seed in range(1, 41):
        labelled, others = rows(seed), rows(1_000 + seed)
        found.append(find_drift(labelled.probabilities, labelled.labels, others.probabilities))
    assert sum(drift is not None for drift in found) <= 1


@pytest.mark.parametrize("shares", [[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]])
def test_another_class_mix_alone_is_no_drift(here, shares):
    others = rows(1, 2_000, shares=shares)
    assert find_drift(here.probabilities, here.labels, others.probabilities) is None
    known = np.array(shares)
    assert find_drift(here.probabilities, here.labels, others.probabilities, known) is None


@pytest.mark.parametrize(("shift", "sharpness"), [([1.5, 0, -1.5], 1.0), ([1, 0, -2], 0.5)])
def test_labelled_rows_move_to_where_the_others_lie(here, shift, sharpness):
    others = moved(rows(1, 2_000).probabilities, shift, sharpness)
    drift = find_drift(here.probabilities, here.labels, others)
    assert drift.p_value < 0.01
    expected = moved(here.probabilities, shift, sharpness)
    before = np.abs(here.probabilities - expected).mean()
    assert np.abs(drift.probabilities - expected).mean() < 0.2 * before
    np.testing.assert_allclose(drift.probabilities.sum(axis=1), 1)


def test_weights_count_as_repetitions(here):
    times = np.random.default_rng(2).integers(0, 4, len(here.labels))
    others = moved(rows(1).probabilities, [1.5, 0, -1.5])
    weighed = find_drift(here.probabilities, here.labels, others, counts=times.astype(float))
    repeated = find_drift(
        np.repeat(here.probabilities, times, axis=0), np.repeat(here.labels, times), others
    )
    assert weighed.p_value == pytest.approx(repeated.p_value, rel=1e-6)
    np.testing.assert_allclose(
        np.repeat(weighed.probabilities, times, axis=0), repeated.probabilities
    )


def test_a_class_without_labels_is_no_failure(here):
    seen = here.labels < 2
    others = moved(rows(1).probabilities, [1.5, 0, -1.5])
    drift = find_drift(here.probabilities[seen], here.labels[seen], others)
    assert drift.p_value < 0.01
    assert np.isfinite(drift.probabilities).all()
