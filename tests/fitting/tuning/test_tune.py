"""The whole choice: what it rests on, what it fits at the end, and what it refuses."""

import json
import time

import numpy as np
import pytest

from dnip import Objective, ProbabilityTable, tune
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.fitting.fit import fit_table
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning import Grid, Settings
from selection_populations import skewed

SMALL = Grid((1.0, 2.7), (0.2,), (30,))
ONE = Grid((2.7,), (0.2,), (30,))


@pytest.mark.parametrize("scheme", [{}, {"folds": 2}, {"dev_share": 0.2}, {"dev": skewed(90, 1)}])
def test_the_final_fit_is_that_of_the_chosen_settings_on_all_labels(scheme):
    table, more = skewed(120, unlabelled=20), skewed(50, 5)
    found = tune(table, grid=SMALL, unlabelled=more, seed=2, **scheme)
    assert found.chosen in SMALL.candidates()
    alone = fit_table(
        table,
        found.chosen.of(FitSettings()).objective,
        robust=found.chosen.robust,
        unlabelled=more,
        scale=found.chosen.scale,
        seed=2,
    )
    assert found.fit.solution.weight_indices.tolist() == alone.solution.weight_indices.tolist()
    assert found.fit.solution.value == alone.solution.value
    assert found.fit.evaluation.n == 100


def test_the_file_says_how_the_settings_came_about(tmp_path):
    found = tune(skewed(60), grid=SMALL, criterion="cobias")
    found.coefficients.save(tmp_path / "c.json")
    stored = json.loads((tmp_path / "c.json").read_text())["fit"]
    assert stored["tuning"] == {
        "criterion": {"name": "cobias", "weights": None},
        "scheme": "5 folds",
        "seed": 0,
        "candidates": 2,
        "planned": 2,
        "chosen": found.chosen.to_dict(),
    }
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


def test_an_interruption_chooses_among_what_is_finished():
    def interrupt(done, _total):
        if done >= 4:
            raise KeyboardInterrupt

    found = tune(skewed(60), grid=Grid(), folds=2, progress=interrupt)
    assert found.interrupted
    assert 0 < len(found.candidates) < found.n_planned
    assert found.coefficients.classes == ("0", "1", "2")


def test_an_interruption_before_the_first_candidate_ends_it():
    def interrupt(_done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(skewed(900), grid=Grid(), progress=interrupt)


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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"folds": 2, "dev_share": 0.5}, "folds and a dev share are given"),
        ({"dev_share": 0.1, "dev": skewed(30, 1)}, "a dev share and a dev table are given"),
        (
            {"dev": TABLE},
            "30 ids stand in both opt and opt, the first is 'opt-0-0'.*Give a dev table",
        ),
        ({"dev": skewed(30, 1, n_classes=2)}, "has the classes 0, 1, but opt has 0, 1, 2"),
        ({"dev": skewed(30, 1).take([0, 3])}, "only class 0 has labelled rows"),
        ({"dev": skewed(30, 1, unlabelled=30)}, "no row has a label"),
        ({"unlabelled": skewed(30, n_classes=2)}, "has the classes 0, 1, but"),
        ({"criterion": "speed"}, "criterion must be one of"),
        ({"confidence": 2}, "confidence must be a finite number at least 0 and at most 1"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"solver": "magic"}, "solver must be one of"),
        ({"labels": [0, 1, 2]}, "has labels of its own"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(InvalidInputError, match=told):
        tune(TABLE, **({"grid": ONE} | arguments))


@pytest.mark.parametrize("labels", [None, np.full(30, -1)])
def test_a_table_without_labels_is_refused(labels):
    with pytest.raises(InvalidInputError, match="no row has a label, and a fit needs labels"):
        tune(ProbabilityTable(skewed(30).probabilities, labels))
