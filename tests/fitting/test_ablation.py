"""An ablation against fits and scores made one by one; interruptions; refusals."""

import numpy as np
import pytest

from dnip import Coefficients, Objective, solve
from dnip.base.errors import InvalidInputError
from dnip.fitting.ablation import COMPARED, ablate
from dnip.metrics import METRICS, confusion_matrix
from dnip.solvers import Anneal
from selection_populations import skewed

NAMES = ["raw", "z1", "z2", "z3", "z1+z2", "z1-z3", "z2-z3", "z1+z2-z3"]


@pytest.mark.parametrize("gap", ["pairwise", "single"])
@pytest.mark.parametrize(("scale", "solver"), [(30, "coordinate"), ("log:10", "anneal")])
def test_every_row_is_the_plain_optimum_of_its_objective(gap, scale, solver):
    opt, test = skewed(90), skewed(200, 1)
    base = Objective(beta=2.0, tau=0.1, smoothing=3.0, gap=gap)
    found = ablate(opt, test, base, scale=scale, solver=solver, seeds=(1, 4))
    assert [row.name for row in found.rows] == NAMES
    for name, objective in base.ablations().items():
        row = found.rows[NAMES.index(name)]
        assert row.objective == objective
        for place, seed in enumerate((1, 4)):
            alone = solve(
                opt.probabilities, opt.labels, objective, scale=scale, solver=solver, seed=seed
            )
            weights = Coefficients.from_solution(alone, opt.classes)
            for side, rows in ((row.opt, opt), (row.test, test)):
                wanted = confusion_matrix(rows.labels, weights.predict(rows.probabilities), 3)
                np.testing.assert_array_equal(side.confusions[place], wanted)


def test_the_raw_argmax_stands_first():
    opt, test = skewed(60), skewed(60, 1)
    raw = ablate(opt, test).rows[0]
    for side, rows in ((raw.opt, opt), (raw.test, test)):
        predicted = rows.probabilities.argmax(axis=1)
        np.testing.assert_array_equal(
            side.confusions[0], confusion_matrix(rows.labels, predicted, 3)
        )


def test_means_and_deviations_are_over_seeds():
    found = ablate(skewed(60), skewed(60, 1), solver=Anneal(), seeds=(0, 1, 2))
    assert found.solver == "anneal"
    told = {row.name: row.to_dict() for row in found.rows}
    for row in found.rows[1:]:
        for metric in COMPARED:
            values = [METRICS[metric].of(confusion) for confusion in row.test.confusions]
            assert len(values) == 3
            assert told[row.name]["test"][metric] == pytest.approx(np.mean(values))
            spread = told[row.name]["test"]["standard_deviations"][metric]
            assert spread == pytest.approx(np.std(values, ddof=1))


def test_without_a_test_table_there_is_one_side():
    found = ablate(skewed(60, unlabelled=10))
    assert {row.test for row in found.rows} == {None}
    assert found.rows[0].opt.confusions[0].sum() == 50


def test_an_interruption_keeps_finished_objectives():
    def interrupt(name, _number, _total):
        if name == "z3":
            raise KeyboardInterrupt

    found = ablate(skewed(60), progress=interrupt)
    assert found.interrupted
    assert [row.name for row in found.rows] == NAMES[:3]


def test_progress_is_told_before_every_fit():
    told = []
    ablate(skewed(60), seeds=(0, 1), progress=lambda *what: told.append(what))
    assert told[0] == ("z1", 1, 14)
    assert [number for _, number, _ in told] == list(range(1, 15))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"test": skewed(60)}, "hold the same rows. Give a test table of other rows"),
        ({"test": skewed(60, n_classes=2)}, "has the classes 0, 1, but opt has 0, 1, 2"),
        ({"objective": Objective(terms=("error",))}, "the objective keeps error only"),
        ({"seeds": ()}, "seeds is empty"),
        ({"seeds": (-1,)}, "seed must be a whole number of at least 0"),
        ({"scale": "wide"}, "scale is 'wide'"),
        ({"time_limit": -1}, "time_limit must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, told):
    with pytest.raises(InvalidInputError, match=told):
        ablate(skewed(60), **arguments)
