"""Columns in another order are found, and columns in their own are left alone."""

from itertools import permutations

import numpy as np
import pytest

from cases import cases
from dnip.comparing.demonstration import bundled_table
from dnip.tables.labels import _best_assignment, better_order


def softmax(scores):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def model(seed, n_classes, n_rows, strength):
    """Probabilities whose true class is stronger by so much, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    scores = rng.normal(size=(n_rows, n_classes)) + rng.normal(size=n_classes)
    scores[np.arange(n_rows), labels] += strength
    return softmax(scores), labels


@pytest.mark.parametrize("n_classes", [2, 3, 4, 8])
@cases(-1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
def test_no_table_in_its_own_order_is_refused(n_classes, strength):
    found = [better_order(*model(seed, n_classes, 60 + 40 * seed, strength)) for seed in range(15)]
    assert sum(one is not None for one in found) <= (1 if strength == -1 and n_classes == 2 else 0)


def test_every_other_order_of_a_real_table_is_found_or_left():
    table = bundled_table("opt")
    p, labels = table.probabilities, table.labels
    assert better_order(p, labels) is None
    for order in map(list, permutations(range(4))):
        found = better_order(p[:, order], labels)
        at_home = sum(c == own for c, own in enumerate(order))
        if at_home == 0:
            assert found.tolist() == order
        else:  # half of the columns are right: better than chance
            assert found is None or found.tolist() == order


def test_swaps_find_the_best_assignment():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 5):
        order = rng.permutation(n_classes)
        rates = rng.random((n_classes, n_classes)) * 0.3
        rates[order, np.arange(n_classes)] += 0.5
        assert _best_assignment(rates).tolist() == order.tolist()


@cases((0, 2), (3, 2), (40, 1))
def test_few_rows_and_classes_without_labels_tell_nothing(n_rows, n_labelled):
    p = softmax(np.random.default_rng(0).normal(size=(n_rows, 2)))
    assert better_order(p, np.arange(n_rows) % n_labelled) is None
