"""Splits are partitions, even in every class, and say which class has too few labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnip.base.errors import InvalidInputError
from dnip.fitting.tuning.trials import fold_rows, share_rows
from strategies import seeded

NAMES = ["World", "Sports", "Business", "Technology"]


@seeded
@given(
    st.lists(st.integers(2, 30), min_size=2, max_size=4),
    st.integers(2, 7),
    st.integers(0, 2**32),
)
def test_folds_are_a_partition_even_in_every_class(sizes, n_folds, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    if min(sizes) < n_folds:
        with pytest.raises(InvalidInputError, match=NAMES[int(np.argmin(sizes))]):
            fold_rows(labels, NAMES, n_folds, seed)
        return
    splits = fold_rows(labels, NAMES, n_folds, seed)
    assert len(splits) == n_folds
    assert sorted(np.concatenate([s.dev for s in splits])) == list(range(len(labels)))
    for split in splits:
        assert sorted([*split.opt, *split.dev]) == list(range(len(labels)))
    for c, size in enumerate(sizes):
        in_fold = [int((labels[s.dev] == c).sum()) for s in splits]
        assert set(in_fold) <= {size // n_folds, -(-size // n_folds)}


def test_the_usual_folds_are_five_or_as_many_as_the_smallest_class_has_labels():
    assert len(fold_rows(np.repeat([0, 1], [9, 5]), NAMES, None, 0)) == 5
    assert len(fold_rows(np.repeat([0, 1], [9, 3]), NAMES, None, 0)) == 3
    with pytest.raises(InvalidInputError, match="class Sports has 1 labelled row, which cannot"):
        fold_rows(np.repeat([0, 1], [9, 1]), NAMES, None, 0)


def test_a_class_without_labels_is_left_out():
    splits = fold_rows(np.repeat([0, 2], 4), NAMES, 2, 0)
    assert [len(split.dev) for split in splits] == [4, 4]


@pytest.mark.parametrize("n_folds", [0, 1, 2.5])
def test_fewer_than_two_folds_are_refused(n_folds):
    with pytest.raises(InvalidInputError, match="folds must be a whole number of at least 2"):
        fold_rows(np.repeat([0, 1], 9), NAMES, n_folds, 0)


def test_too_few_labels_for_the_folds_say_how_many_would_do():
    with pytest.raises(
        InvalidInputError, match=r"Sports has 3 labelled rows.*Give 3 folds at most"
    ):
        fold_rows(np.repeat([0, 1], [9, 3]), NAMES, 5, 0)


@seeded
@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=4),
    st.floats(0.01, 0.99),
    st.integers(0, 2**32),
)
def test_a_share_takes_its_part_of_every_class(sizes, share, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    wanted = [int(np.floor(share * size + 0.5)) for size in sizes]
    if not all(0 < n < size for n, size in zip(wanted, sizes, strict=True)):
        with pytest.raises(InvalidInputError, match="class "):
            share_rows(labels, NAMES, share, seed)
        return
    (split,) = share_rows(labels, NAMES, share, seed)
    assert np.bincount(labels[split.dev]).tolist() == wanted
    assert sorted([*split.opt, *split.dev]) == list(range(len(labels)))


@pytest.mark.parametrize(
    ("sizes", "share", "told"),
    [
        ([100, 8], 0.05, "Sports has 8 labelled rows.*score on.*Give 0.063 or more"),
        ([100, 8], 0.95, "Sports has 8 labelled rows.*fit on.*Give less than 0.938"),
        ([100, 1], 0.5, "Sports has 1 labelled row, which cannot be both"),
        ([9, 9], 1.0, "dev_share is 1, which leaves no row to fit on"),
        ([9, 9], 0.0, "dev_share must be a finite number above 0"),
    ],
)
def test_a_share_that_leaves_a_class_no_row_is_refused_with_the_remedy(sizes, share, told):
    with pytest.raises(InvalidInputError, match=told):
        share_rows(np.repeat([0, 1], sizes), NAMES, share, 0)


def test_the_remedy_of_a_small_share_works():
    labels = np.repeat([0, 1], [100, 8])
    (split,) = share_rows(labels, NAMES, 0.063, 0)
    assert np.bincount(labels[split.dev]).tolist() == [6, 1]


def test_seeds_decide():
    labels = np.repeat([0, 1], 50)
    first, again, other = (fold_rows(labels, NAMES, 5, seed)[0].dev for seed in (3, 3, 4))
    assert first.tolist() == again.tolist() != other.tolist()
