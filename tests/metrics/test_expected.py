import numpy as np
import pytest

from dnip.metrics import cobias
from dnip.metrics.expected import Expectation, followed_chance

TRUE = np.array([0.9, 0.7, 0.6, 0.8])
SIZE = 60


def counts_of(right, size=SIZE):
    """A confusion matrix with so many right rows of each class, errors going to the next class."""
    right = np.asarray(right)
    return np.diag(right) + np.roll(np.diag(size - right), 1, axis=1)


def refits(rng, kappa, n_folds=5):
    """Counts of refits that follow the luck of their own rows by κ: on all rows, and left out.

    The luck of a class is how many of its rows are easy. The true accuracy of a refit falls by κ
    times the luck of the rows that it was fitted on.
    """
    size = SIZE * 100  # luck in fractions of a row
    luck = rng.normal(0, 0.02, (n_folds, len(TRUE)))
    on_all, left_out = [], []
    for fold in range(n_folds):
        true = TRUE - kappa * np.delete(luck, fold, axis=0).mean(axis=0)
        on_all.append(
            counts_of(np.rint(size * n_folds * (true + luck.mean(axis=0))), size * n_folds)
        )
        left_out.append(counts_of(np.rint(size * (true + luck[fold])), size))
    return on_all, left_out


@pytest.mark.parametrize("kappa", [0.0, 0.4, 1.0])
def test_how_far_chance_was_followed_is_found(kappa):
    rng = np.random.default_rng(0)
    found = [followed_chance(*refits(rng, kappa)) for _ in range(20)]
    assert np.mean(found) == pytest.approx(kappa, abs=0.03)


def test_a_class_without_rows_tells_nothing():
    on_all, left_out = refits(np.random.default_rng(0), 0.5)
    added = [[np.pad(counts, (0, 1)) for counts in side] for side in (on_all, left_out)]
    assert followed_chance(*added) == pytest.approx(followed_chance(on_all, left_out))
    assert Expectation(added[1][0]).cobias == Expectation(left_out[0]).cobias


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0])
def test_the_cobias_to_expect_is_that_of_the_true_accuracies(kappa):
    """Rows left out show x = d + (1 - κ)e; the true accuracies are d - κe."""
    rng = np.random.default_rng(1)
    met, expected, inside = [], [], 0
    for _ in range(200):
        base = rng.normal(0.75, 0.05, 4)
        luck = rng.normal(0, np.sqrt(0.75 * 0.25 / SIZE), 4)
        seen = np.clip(np.rint(SIZE * (base + (1 - kappa) * luck)), 0, SIZE)
        true = base - kappa * luck
        met.append(np.abs(true[:, None] - true).sum() / 12)
        side = Expectation(counts_of(seen), kappa)
        expected.append(side.cobias)
        low, high = side.intervals(0.9)["cobias"]
        inside += low <= met[-1] <= high
    assert np.mean(expected) == pytest.approx(np.mean(met), abs=0.02)
    assert inside >= 170


def test_equal_rows_do_not_promise_equal_classes():
    even = counts_of([45, 45, 45, 45])
    assert cobias(even) == 0
    side = Expectation(even, 1.0)
    assert 0.04 < side.cobias < 0.09
    assert side.worst_class_accuracy < 0.75 - 0.02
    assert side.cobias > Expectation(even, 0.0).cobias
    assert set(side.to_dict()) == {"cobias", "cobias_single", "worst_class_accuracy"}
