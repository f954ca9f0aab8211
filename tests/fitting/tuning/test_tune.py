"""The choice of settings: trials against fits one by one, even splits, and what is refused."""

import json
import os
import signal
import time
from threading import Timer

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dnip.fitting.tuning.trials as trials_module
import oracles
from cases import cases
from dnip import DNIPWarning, InvalidInputError, Objective, ProbabilityTable, tune
from dnip.fitting.fit import fit_table
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning import Grid, Settings
from dnip.fitting.tuning.trials import choose_dev_rows, cut, run_trials
from populations import skewed, solve_robustly
from strategies import seeded

SMALL = Grid((1.0, 2.7), (0.2,), (30,))
ONE = Grid((2.7,), (0.2,), (30,))


@pytest.mark.parametrize("scheme", [{}, {"folds": 2}, {"dev_share": 0.2}, {"dev": skewed(90, 1)}])
def test_the_final_fit_is_that_of_the_chosen_settings_on_all_labels(scheme):
    table, more = skewed(120, unlabelled=20), skewed(50, 5)
    found = tune(table, grid=SMALL, unlabelled=more, seed=2, **scheme)
    assert found.chosen in SMALL.candidates()
    objective = found.chosen.of(FitSettings()).objective
    settings = {"robust": found.chosen.robust, "scale": found.chosen.scale, "seed": 2}
    alone = fit_table(table, objective, unlabelled=more, **settings)
    assert found.fit.solution.weight_indices.tolist() == alone.solution.weight_indices.tolist()
    assert found.fit.solution.value == alone.solution.value
    assert found.fit.evaluation.n == 100


def test_the_file_says_how_the_settings_came_about():
    found = tune(skewed(60), grid=SMALL, criterion="cobias")
    stored = json.loads(found.coefficients.to_json())["fit"]
    how = {"criterion": {"name": "cobias", "weights": None}, "scheme": "5 folds", "seed": 0}
    numbers = {"candidates": 2, "planned": 2, "chosen": found.chosen.to_dict()}
    assert stored["tuning"] == how | numbers
    assert stored["data"]["sha256"] == skewed(60).data_hash
    assert stored["robust"]["mode"] == "auto"


def rare_class(n):
    """A table whose most accurate weights starve the last class."""
    table = skewed(n)
    return table.take(np.flatnonzero((table.labels != 2) | (np.arange(n) % 24 == 2)))


def test_a_setting_that_is_plainly_better_is_found():
    grid = Grid((0.0, 40.0), (0.0,), (30,), robust_modes=("off",))
    found = tune(rare_class(1800), grid=grid, criterion="cobias")
    assert (found.choice.reference.beta, found.chosen.beta) == (0.0, 40.0)
    assert found.reason.startswith("Ahead of what is nearest to the defaults by ")
    found = tune(rare_class(1800), grid=grid, criterion="accuracy")
    assert found.chosen.beta == 0.0


def test_a_matrix_with_labels_will_do():
    table = skewed(60)
    from_arrays = tune(table.probabilities.tolist(), table.labels.tolist(), SMALL)
    same = tune(table, grid=SMALL)
    assert from_arrays.chosen == same.chosen
    assert from_arrays.coefficients.weights.tolist() == same.coefficients.weights.tolist()


def test_the_same_seed_gives_the_same_in_every_number():
    first, again = (tune(skewed(90), grid=SMALL, seed=7).to_dict() for _ in range(2))
    assert first == again
    assert first != tune(skewed(90), grid=SMALL, seed=8).to_dict()


def test_terms_and_kind_of_cobias_are_kept():
    base = Objective(gap="single", terms=("error", "cobias"))
    told = tune(skewed(60), grid=SMALL, objective=base).fit.solution.objective
    assert (told["gap"], told["terms"]) == ("single", ["error", "cobias"])


def test_without_time_the_nearest_to_the_defaults_is_fitted():
    began = time.perf_counter()
    found = tune(skewed(600), grid=Grid((9.0, 3.0)), time_limit=0)
    assert time.perf_counter() - began < 30
    assert (found.candidates, found.chosen.beta) == ((), 3.0)
    assert "No candidate was finished in the time" in found.reason
    assert found.n_planned == len(Grid((9.0, 3.0)).candidates())


def interrupt_after(most):
    def interrupt(done, _total):
        if done >= most:
            raise KeyboardInterrupt

    return interrupt


def test_an_interruption_chooses_among_what_is_finished():
    found = tune(skewed(60), grid=Grid(), folds=2, progress=interrupt_after(4))
    assert found.interrupted
    assert 0 < len(found.candidates) < found.n_planned
    assert found.coefficients.classes == ("0", "1", "2")


def test_an_interruption_before_the_first_candidate_ends_it():
    with pytest.raises(KeyboardInterrupt):
        tune(skewed(900), grid=Grid(), progress=interrupt_after(0))


def test_reasons_name_the_case():
    defaults = Grid((2.7,), (0.0,))
    assert tune(skewed(60), grid=defaults).reason == "No candidate is better than the defaults."
    kept = tune(rare_class(75), grid=Grid((0.0, 2.7), (0.0,)), criterion="accuracy")
    assert kept.chosen == Settings()
    assert "beyond chance: the best is ahead by 0." in kept.reason


def test_a_class_that_the_dev_table_lacks_is_warned_of():
    dev = skewed(60, 1, source="dev")
    dev = dev.take(dev.labels != 2)
    with pytest.warns(DNIPWarning, match="dev: no labelled row of class 2, which has no say"):
        tune(skewed(60), grid=ONE, dev=dev)


def test_a_class_without_labels_is_warned_of_once():
    table = skewed(60)
    with pytest.warns(DNIPWarning, match="no labelled example of class 2") as warned:
        tune(table.take(table.labels != 2), grid=ONE)
    assert len(warned) == 1


TABLE = skewed(30, ids=True)


@cases(
    ({"folds": 2, "dev_share": 0.5}, "folds and a dev share are given"),
    ({"dev_share": 0.1, "dev": skewed(30, 1)}, "a dev share and a dev table are given"),
    ({"dev": TABLE}, "30 ids stand in both opt and opt, the first is 'opt-0-0'.*Give a dev"),
    ({"dev": skewed(30, 1, n_classes=2)}, "has the classes 0, 1, but opt has 0, 1, 2"),
    ({"dev": skewed(30, 1).take([0, 3])}, "only class 0 has labelled rows"),
    ({"dev": skewed(30, 1, unlabelled=30)}, "no row has a label"),
    ({"unlabelled": skewed(30, n_classes=2)}, "has the classes 0, 1, but"),
    ({"criterion": "speed"}, "criterion must be one of"),
    ({"confidence": 2}, "confidence must be a finite number at least 0 and at most 1"),
    ({"time_limit": -1}, "time_limit must be"),
    ({"solver": "magic"}, "solver must be one of"),
    ({"y": [0, 1, 2]}, "holds labels of its own"),
    ({"data": ProbabilityTable(TABLE.probabilities)}, "no row has a label, and a fit needs"),
    ({"data": skewed(30, unlabelled=30)}, "no row has a label, and a fit needs labels"),
)
def test_what_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(InvalidInputError, match=told):
        tune(**{"data": TABLE, "grid": ONE} | arguments)


GRID = Grid((1.0, 2.7), (0.2,), (30, "log:10"), (1.0,), ("auto", "off"))


def folds_of(table, n_folds=2):
    p, y = table.probabilities, table.labels
    return cut(p, y, choose_dev_rows(y, table.classes, 0, n_folds=n_folds))


NONE = np.empty((0, 3))


def trials(candidates=None, n=60, table=None, unlabelled=NONE, settings=None, **how):
    folds = folds_of(skewed(n) if table is None else table)
    given = FitSettings() if settings is None else settings
    return run_trials(candidates or GRID.candidates(), folds, given, unlabelled, **how)


def assert_same(first, second):
    assert first.keys() == second.keys()
    for settings, parts in first.items():
        np.testing.assert_equal(parts, second[settings])


@pytest.mark.parametrize("n", [60, 1500])  # a blend, and plain optima that are not fitted twice
def test_predictions_are_those_of_fits_made_one_by_one(n):
    unlabelled = skewed(200, seed=9).probabilities
    folds = folds_of(skewed(n))
    found = trials(n=n, unlabelled=unlabelled, settings=FitSettings(seed=3))
    assert set(found.predictions) == set(GRID.candidates())
    for settings, parts in found.predictions.items():
        for fold, predicted in zip(folds, parts, strict=True):
            rows = fold.probabilities, fold.labels, settings.of(FitSettings()).objective
            how = {"robust": settings.robust, "scale": settings.scale, "seed": 3}
            solution = solve_robustly(*rows, unlabelled=unlabelled, **how).solution
            expected = oracles.predict(fold.dev, solution.multipliers)
            np.testing.assert_array_equal(predicted, expected)


def test_any_number_of_threads_gives_the_same(monkeypatch):
    several = trials()
    monkeypatch.setattr(trials_module, "n_cores", lambda: 1)
    assert_same(several.predictions, trials().predictions)


def test_an_interruption_keeps_whole_candidates_only(monkeypatch):
    monkeypatch.setattr(trials_module, "n_cores", lambda: 1)
    whole = trials().predictions
    found = trials(progress=interrupt_after(6))
    assert found.interrupted
    assert 0 < len(found.predictions) < len(whole)
    assert GRID.candidates()[0] in found.predictions
    assert_same(found.predictions, {settings: whole[settings] for settings in found.predictions})


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


def labels_of(sizes, seed):
    """So many labels of each class, in any order."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))


class_sizes = st.lists(st.integers(2, 40), min_size=2, max_size=4)
seeds = st.integers(0, 2**32)


@seeded
@given(class_sizes, st.integers(2, 7), seeds)
def test_folds_are_a_partition_even_in_every_class(sizes, n_folds, seed):
    labels = labels_of(sizes, seed)
    if min(sizes) < n_folds:
        with pytest.raises(InvalidInputError, match=NAMES[int(np.argmin(sizes))]):
            choose_dev_rows(labels, NAMES, seed, n_folds=n_folds)
        return
    rows = choose_dev_rows(labels, NAMES, seed, n_folds=n_folds)
    assert len(rows) == n_folds
    assert sorted(np.concatenate(rows)) == list(range(len(labels)))
    for c, size in enumerate(sizes):
        in_fold = [int((labels[dev] == c).sum()) for dev in rows]
        assert set(in_fold) <= {size // n_folds, -(-size // n_folds)}


def test_a_fold_is_fitted_on_all_rows_that_it_does_not_score():
    table = skewed(60)
    p, y = table.probabilities, table.labels
    (fold,) = cut(p, y, [np.array([5, 7])], np.arange(60.0))
    kept = np.setdiff1d(np.arange(60), [5, 7])
    np.testing.assert_array_equal(fold.probabilities, p[kept])
    assert (fold.labels.tolist(), fold.weight.tolist()) == (y[kept].tolist(), kept.tolist())
    np.testing.assert_array_equal(fold.dev, p[[5, 7]])
    assert fold.dev_labels.tolist() == y[[5, 7]].tolist()


def test_the_usual_folds_are_five_or_as_many_as_the_smallest_class_has_labels():
    assert len(choose_dev_rows(np.repeat([0, 1], [9, 5]), NAMES, 0)) == 5
    assert len(choose_dev_rows(np.repeat([0, 1], [9, 3]), NAMES, 0)) == 3


@seeded
@given(class_sizes, st.floats(0.01, 0.99), seeds)
def test_a_share_takes_its_part_of_every_class_and_one_row_at_least(sizes, share, seed):
    labels = labels_of(sizes, seed)
    (dev,) = choose_dev_rows(labels, NAMES, seed, share=share)
    wanted = [min(max(int(np.floor(share * n + 0.5)), 1), n - 1) for n in sizes]
    assert np.bincount(labels[dev]).tolist() == wanted
    assert len(np.unique(dev)) == len(dev)


@cases(
    ([100, 1], {"share": 0.5}, "Sports has 1 labelled row, which cannot be both"),
    ([100, 1], {}, "Sports has 1 labelled row, which cannot be both"),
    ([9, 9], {"share": 1.0}, "dev_share is 1, which leaves no row to fit on"),
    ([9, 9], {"share": 0.0}, "dev_share must be a finite number above 0"),
    *[([9, 9], {"n_folds": n}, "folds must be a whole number of at le") for n in (0, 1, 2.5)],
)
def test_rows_that_cannot_be_divided_are_refused(sizes, scheme, told):
    with pytest.raises(InvalidInputError, match=told):
        choose_dev_rows(np.repeat([0, 1], sizes), NAMES, 0, **scheme)
