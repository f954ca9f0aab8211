"""What refits say of class accuracies: the .632 estimator, and how far chance is followed."""

import numpy as np
import pytest

from dnip.bootstrap import draw_resample
from dnip.bootstrap.estimates import Marks, estimate, fitted_draws

N, ROWS, REFITS = 4, 60, 80


def marks_of(kappa, noise=0.0, seed=0):
    """A fit that follows the part `kappa` of what chance does to every class, in simulation.

    Each row is right where its own uniform number is below the accuracy of its class; a refit moves
    those accuracies by -κ times what its resample sees of chance.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(N), ROWS)
    levels = rng.random(len(labels))
    base = np.full(N, 0.6)
    right = levels < base[labels]
    drawn, refitted = [], []
    for _ in range(REFITS):
        rows = draw_resample(labels, rng)
        counts = np.bincount(rows, minlength=len(labels))
        sampled = np.bincount(labels, counts * right, N) / ROWS
        chance = sampled - np.bincount(labels, right, N) / ROWS
        moved = base - kappa * chance + noise * rng.standard_normal(N)
        refitted.append(levels < moved[labels])
        drawn.append(counts)
    return Marks(labels, right, right, np.array(refitted), np.array(drawn))


@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.9])
def test_the_part_of_chance_that_a_fit_follows_is_found(kappa):
    found = np.mean([estimate(marks_of(kappa, seed=seed)).followed for seed in range(5)])
    assert found == pytest.approx(kappa, abs=0.15)


def test_what_a_fit_adds_by_itself_is_found():
    """Variances of 0.05² at an accuracy of 0.6 are 0.05² / (4 · 0.6 · 0.4) as angles."""
    quiet = np.mean([estimate(marks_of(0.3, seed=s)).jitter.mean() for s in range(5)])
    loud = np.mean([estimate(marks_of(0.3, 0.05, seed=s)).jitter.mean() for s in range(5)])
    assert loud - quiet == pytest.approx(0.05**2 / 0.96, rel=0.5)


def test_corrected_accuracies_are_those_of_632_by_hand():
    labels = np.array([0, 0, 1, 1])
    fitted = np.array([True, True, True, False])
    refitted = np.array([[True, False, True, False], [False, True, False, False]])
    drawn = np.array([[2, 0, 1, 1], [0, 2, 2, 0]])
    found = estimate(Marks(labels, fitted, fitted, refitted, drawn))
    # out of bag: of class 0 row 1 by the first (wrong) and row 0 by the second (wrong); of class 1
    # row 3 by the second (wrong)
    weight = np.exp(-1)
    np.testing.assert_allclose(found.corrected, [weight * 1.0, weight * 0.5])


def test_a_class_of_one_label_is_never_out_of_bag_and_keeps_what_is_seen():
    labels = np.array([0, 0, 0, 1])
    right = np.array([True, False, True, True])
    rng = np.random.default_rng(0)
    drawn = np.array([np.bincount(draw_resample(labels, rng), minlength=4) for _ in range(20)])
    assert (drawn[:, 3] == 1).all()
    found = estimate(Marks(labels, right, right, np.tile(right, (20, 1)), drawn))
    assert found.corrected[1] == found.seen[1] == 1.0
    assert np.isfinite(fitted_draws(found)).all()


def test_an_optimum_that_shows_equal_classes_still_leaves_them_open():
    labels = np.repeat([0, 1], 20)
    right = np.tile([True, False], 20)
    found = estimate(Marks(labels, right, right, np.tile(right, (3, 1)), np.ones((3, 40), int)))
    draws = fitted_draws(found._replace(followed=1.0))
    assert draws.std(axis=0).min() > 0.08
