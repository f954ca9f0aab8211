"""Trials against fits made one by one; splits are partitions, even in every class."""

import os
import signal
import time
from threading import Timer

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnip.fitting.tuning.trials as trials_module
from dnip import Coefficients
from dnip.base.errors import InvalidInputError
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning import Grid, Settings
from dnip.fitting.tuning.trials import Fold, fold_rows, run_trials, share_rows
from robustly import solve_robustly
from selection_populations import skewed
from strategies import seeded

GRID = Grid((1.0, 2.7), (0.2,), (30, "log:10"), (1.0,), ("auto", "off"))


def folds_of(table, n_folds=2):
    p, y = table.probabilities, table.labels
    splits = fold_rows(y, table.classes, n_folds, 0)
    return [Fold(p[split.opt], y[split.opt], p[split.dev]) for split in splits]


NONE = np.empty((0, 3))


def trials(candidates=None, n=60, table=None, unlabelled=NONE, settings=None, **how):
    folds = folds_of(skewed(n) if table is None else table)
    given = FitSettings() if settings is None else settings
    return run_trials(candidates or GRID.candidates(), folds, given, unlabelled, **how)


def same(first, second):
    assert first.keys() == second.keys()
    for settings, parts in first.items():
        for one, other in zip(parts, second[settings], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [60, 1500])  # a blend, and plain optima that are not fitted twice
def test_predictions_are_those_of_fits_made_one_by_one(n):
    unlabelled = skewed(200, seed=9).probabilities
    folds = folds_of(skewed(n))
    found = trials(n=n, unlabelled=unlabelled, settings=FitSettings(seed=3))
    assert set(found.predictions) == set(GRID.candidates())
    for settings, parts in found.predictions.items():
        for fold, predicted in zip(folds, parts, strict=True):
            solution = solve_robustly(
                fold.probabilities,
                fold.labels,
                settings.of(FitSettings()).objective,
                robust=settings.robust,
                unlabelled=unlabelled,
                scale=settings.scale,
                seed=3,
            ).solution
            weights = Coefficients.from_solution(solution, ["a", "b", "c"])
            np.testing.assert_array_equal(predicted, weights.predict(fold.dev))


def test_any_number_of_threads_gives_the_same(monkeypatch):
    several = trials()
    monkeypatch.setattr(trials_module, "usable_cores", lambda: 1)
    same(several.predictions, trials().predictions)


def test_an_interruption_keeps_whole_candidates_only(monkeypatch):
    monkeypatch.setattr(trials_module, "usable_cores", lambda: 1)
    whole = trials().predictions

    def interrupt(done, _total):
        if done >= 6:
            raise KeyboardInterrupt

    found = trials(progress=interrupt)
    assert found.interrupted
    assert 0 < len(found.predictions) < len(whole)
    assert GRID.candidates()[0] in found.predictions
    same(found.predictions, {settings: whole[settings] for settings in found.predictions})


def test_ctrl_c_ends_searches_that_would_go_on_for_long():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    endless = skewed(6000, n_classes=12)
    hurry = Timer(1.0, os.kill, [os.getpid(), signal.SIGINT])
    hurry.start()
    found = trials([Settings(robust="off")], table=endless, settings=FitSettings(solver="exact"))
    signal.signal(signal.SIGINT, before)
    assert (found.predictions, found.interrupted) == ({}, True)


def test_a_search_that_a_deadline_cuts_short_does_not_count():
    table = skewed(4000, n_classes=12)
    plain = Grid(robust_modes=("off",)).candidates()
    soon, exact = time.perf_counter() + 0.3, FitSettings(solver="exact")
    assert trials(plain, table=table, settings=exact, deadline=soon).predictions == {}


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


@pytest.mark.parametrize("n_folds", [0, 1, 2.5])
def test_fewer_than_two_folds_are_refused(n_folds):
    with pytest.raises(InvalidInputError, match="folds must be a whole number of at least 2"):
        fold_rows(np.repeat([0, 1], 9), NAMES, n_folds, 0)


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
