"""Annealing against the optimum that enumeration finds."""

import numpy as np
import pytest

import oracles
from dnip import Objective, solve
from dnip.solvers import Anneal
from reproduction.experiments.annealing_runs import (
    gap_above,
    measure_convergence,
    reached_after,
)
from reproduction.experiments.costs import power_law
from reproduction.experiments.scale_sizes import measure_scales
from reproduction.methods import cut
from results import experiment, results, starving_table, verdicts

SETTINGS = {"dev_share": 0.1, "factors": [0.2, 2.0], "n_seeds": 2, "time_limit": 60.0}


@pytest.fixture(scope="module")
def found():
    return measure_convergence(starving_table(80, 4), scale=5, **SETTINGS)


def test_optimum_is_that_of_enumeration(found):
    rows, _ = cut(starving_table(80, 4), 0.1)

    def value(confusion):
        return Objective.published()(confusion)

    best = oracles.optimum(rows.probabilities, rows.labels, 5, value)
    assert found["proven"]
    assert found["optimum"] == pytest.approx(best, abs=1e-12)
    assert all(gap >= 0 for run in found["annealing"] for gap in run["gaps"])
    assert found["coordinate"]["gaps"] == [0, 0]


def test_gap_is_zero_exactly_where_the_optimum_was_reached(found):
    for run in found["annealing"]:
        for gap, reached in zip(run["gaps"], run["reached_after"], strict=True):
            assert (gap == 0) == (reached is not None)
            assert reached is None or reached <= run["evaluations"]


def test_reached_after_is_the_first_entry_at_the_value():
    solution = solve(*_arrays(starving_table(60, 1)), scale=9, solver=Anneal())
    value = solution.value
    first = next(entry for entry in solution.trace if entry.incumbent < value + 1e-9)
    assert reached_after(solution, value) == first.evaluations
    assert reached_after(solution, value - 1) is None
    assert gap_above(solution, value) == gap_above(solution, value - 1e-12) == 0
    assert gap_above(solution, value - 0.5) == pytest.approx(0.5)


def _arrays(table):
    return table.probabilities, table.labels


def test_power_law_has_no_exponent_without_two_sizes_or_with_nothing():
    assert np.isnan(power_law([4, 4], [1, 2])).all()
    assert np.isnan(power_law([1, 2], [0, 1])).all()
    exponent, correlation = power_law([1, 2, 4], [5, 5, 5])
    assert exponent == pytest.approx(0, abs=1e-12)
    assert np.isnan(correlation)


def cell(size, reached, gap=0.0, optimum=0.1):
    run = {"factor": 1.0, "evaluations": 10 * size, "gaps": [gap, gap]}
    run["reached_after"] = [reached, reached]
    one = {"scale": size // 4, "variable_space": size, "proven": True}
    one |= {"raw": 0.5, "optimum": optimum, "coordinate": {"gaps": [0.0, 0.0]}}
    one |= {"authors": {"gaps": [0.1, 0.1]}}
    return {"task": "t", "scale": size // 4}, {**one, "annealing": [run]}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([cell(20, 20), cell(40, 40), cell(80, 80)], [True]),
        ([cell(20, 20), cell(40, 40), cell(80, None, 0.1)], [None]),
        ([cell(20, 20), cell(40, 40)], [True]),
    ],
)
def test_the_verdict_follows_the_gaps(cells, expected):
    artefacts = experiment("convergence", factors=[1.0]).present(results(*cells))
    assert verdicts(artefacts) == expected


def scales(**found):
    """A cell on all K: objective on opt and cost on test by K, of a raw objective of 1."""
    by_scale = {
        name.removeprefix("k"): {"objective": pair[0], "cost": pair[1]}
        for name, pair in found.items()
    }
    return {"task": "t", "scale": "all"}, {"raw_objective": 1.0, "scales": by_scale}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"k20": (0.52, 0.6), "k30": (0.51, 0.6), "k99": (0.5, 0.6)}, True),
        ({"k20": (0.52, 0.6), "k30": (0.53, 0.6), "k99": (0.5, 0.6)}, False),  # 94 % on opt
        ({"k20": (0.52, 0.6), "k30": (0.51, 0.62), "k99": (0.5, 0.6)}, False),  # worse on test
        ({"k20": (0.52, 0.6), "k30": (0.51, 0.6)}, None),  # nothing finer
    ],
)
def test_a_scale_is_sufficient_by_opt_and_by_test(found, expected):
    artefacts = experiment("convergence").present(results(scales(**found)))
    assert verdicts(artefacts) == [expected]


def test_a_finer_scale_is_no_worse_on_opt():
    opt, test = starving_table(200, 3), starving_table(200, 4)
    found = measure_scales(opt, test, dev_share=0.1, scales=[5, 10, 40], seed=0)["scales"]
    values = [found[k]["objective"] for k in ("5", "10", "40")]
    assert values[0] >= values[1] >= values[2]
    rows, _ = cut(opt, 0.1)
    best = oracles.optimum(rows.probabilities, rows.labels, 5, Objective.published())
    assert values[0] == pytest.approx(best, abs=1e-12)
