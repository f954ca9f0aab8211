"""Trials against fits made one by one, in any number of threads, cut short or whole."""

import os
import signal
import time
import warnings
from threading import Timer

import numpy as np
import pytest

import dnip.fitting.tuning.trials as trials_module
from dnip import Coefficients
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning import Grid, Settings
from dnip.fitting.tuning.trials import Fold, fold_rows, run_trials
from robustly import solve_robustly
from selection_populations import skewed

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


def test_progress_counts_every_fit():
    told = []
    trials(progress=lambda *done: told.append(done))
    total = 2 * len(GRID.candidates())
    assert told[-1] == (total, total)
    assert told == sorted(told)


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


def test_a_deadline_that_is_over_leaves_nothing():
    found = trials(deadline=time.perf_counter() - 1)
    assert (found.predictions, found.interrupted) == ({}, False)


def test_a_search_that_a_deadline_cuts_short_does_not_count():
    table = skewed(4000, n_classes=12)
    plain = Grid(robust_modes=("off",)).candidates()
    soon, exact = time.perf_counter() + 0.3, FitSettings(solver="exact")
    assert trials(plain, table=table, settings=exact, deadline=soon).predictions == {}


def test_a_class_without_labels_is_warned_of_once_elsewhere():
    table = skewed(60)
    table = table.take(table.labels != 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DNIPWarning)
        found = trials([Settings()], table=table)
    assert len(found.predictions) == 1


def test_what_a_fit_refuses_is_refused():
    with pytest.raises(InvalidInputError, match="no longer searched"):
        trials([Settings(scale="continuous")], settings=FitSettings(solver="exact"))
