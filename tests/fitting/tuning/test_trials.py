"""Trials against fits made one by one, in any number of threads, cut short or whole."""

import os
import signal
import time
import warnings
from threading import Timer

import numpy as np
import pytest

import dnip.fitting.tuning.trials as trials_module
from dnip import Coefficients, Objective
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.fitting.robust import solve_robustly
from dnip.fitting.tuning import Grid, Settings
from dnip.fitting.tuning.splits import fold_rows
from dnip.fitting.tuning.trials import Fold, Workbench
from selection_populations import skewed

GRID = Grid((1.0, 2.7), (0.2,), (30, "log:10"), (1.0,), ("auto", "off"))


def folds_of(table, n_folds=2):
    p, y = table.probabilities, table.labels
    splits = fold_rows(y, table.classes, n_folds, 0)
    return [Fold(p[split.opt], y[split.opt], p[split.dev]) for split in splits]


def bench(n=60, solver="coordinate"):
    return Workbench(folds_of(skewed(n)), Objective(), None, solver, 0)


def same(first, second):
    assert first.keys() == second.keys()
    for settings, parts in first.items():
        for one, other in zip(parts, second[settings], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [60, 1500])  # a blend, and plain optima that are not fitted twice
def test_predictions_are_those_of_fits_made_one_by_one(n):
    unlabelled = skewed(200, seed=9).probabilities
    folds = folds_of(skewed(n))
    found = Workbench(folds, Objective(), unlabelled, "coordinate", 3).run(GRID.candidates())
    assert set(found.predictions) == set(GRID.candidates())
    for settings, parts in found.predictions.items():
        for fold, predicted in zip(folds, parts, strict=True):
            solution = solve_robustly(
                fold.probabilities,
                fold.labels,
                settings.of(Objective()),
                robust=settings.robust,
                unlabelled=unlabelled,
                scale=settings.scale,
                seed=3,
            ).solution
            weights = Coefficients.from_solution(solution, ["a", "b", "c"])
            np.testing.assert_array_equal(predicted, weights.predict(fold.dev))


def test_any_number_of_threads_gives_the_same(monkeypatch):
    several = bench().run(GRID.candidates())
    monkeypatch.setattr(trials_module, "usable_cores", lambda: 1)
    same(several.predictions, bench().run(GRID.candidates()).predictions)


def test_progress_counts_every_fit():
    told = []
    bench().run(GRID.candidates(), progress=lambda *done: told.append(done))
    total = 2 * len(GRID.candidates())
    assert told[-1] == (total, total)
    assert told == sorted(told)


def test_an_interruption_keeps_whole_candidates_only(monkeypatch):
    monkeypatch.setattr(trials_module, "usable_cores", lambda: 1)
    whole = bench().run(GRID.candidates()).predictions

    def interrupt(done, _total):
        if done >= 6:
            raise KeyboardInterrupt

    found = bench().run(GRID.candidates(), progress=interrupt)
    assert found.interrupted
    assert 0 < len(found.predictions) < len(whole)
    assert GRID.candidates()[0] in found.predictions
    same(found.predictions, {settings: whole[settings] for settings in found.predictions})


def test_ctrl_c_ends_searches_that_would_go_on_for_long():
    endless = Workbench(folds_of(skewed(6000, n_classes=12)), Objective(), None, "exact", 0)
    hurry = Timer(1.0, os.kill, [os.getpid(), signal.SIGINT])
    hurry.start()
    found = endless.run([Settings(robust="off")])
    assert (found.predictions, found.interrupted) == ({}, True)


def test_a_deadline_that_is_over_leaves_nothing():
    found = bench().run(GRID.candidates(), deadline=time.perf_counter() - 1)
    assert (found.predictions, found.interrupted) == ({}, False)


def test_a_search_that_a_deadline_cuts_short_does_not_count():
    table = skewed(4000, n_classes=12)
    cut = Workbench(folds_of(table), Objective(), None, "exact", 0)
    soon = time.perf_counter() + 0.3
    assert cut.run(Grid(robust_modes=("off",)).candidates(), deadline=soon).predictions == {}


def test_a_class_without_labels_is_warned_of_once_elsewhere():
    table = skewed(60)
    table = table.take(table.labels != 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DNIPWarning)
        found = Workbench(folds_of(table), Objective(), None, "coordinate", 0).run([Settings()])
    assert len(found.predictions) == 1


def test_what_a_fit_refuses_is_refused():
    with pytest.raises(InvalidInputError, match="no longer searched"):
        bench(solver="exact").run([Settings(scale="continuous")])
