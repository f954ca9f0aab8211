"""Times and objectives of the ways to optimise."""

import pytest

from dnip import Objective, solve
from dnip.base.errors import DNIPWarning
from dnip.presenting.artefacts import Table
from dnip.studies.reproduction.experiments.solve_times import measure_solve_times
from dnip.studies.reproduction.methods import cut
from results import experiment, of_kind, results, starving_table, verdicts


@pytest.fixture(scope="module")
def found():
    return measure_solve_times(starving_table(60, 2), dev_share=0.1, seed=1, time_limit=60.0)


def test_every_way_reports_the_objective_that_it_reached(found):
    rows, _ = cut(starving_table(60, 2), 0.1)
    for solver in ("anneal", "coordinate", "exact"):
        goal = Objective.published()
        expected = solve(rows.probabilities, rows.labels, goal, scale=30, solver=solver, seed=1)
        assert found["ways"][solver]["objective"] == expected.value
    assert found["ways"]["exact"]["gap"] == 0
    best = found["ways"]["exact"]["objective"]
    assert all(found["ways"][way]["objective"] >= best - 1e-9 for way in ("loops", "anneal"))
    assert found["rows"] == len(rows)
    assert found["variable_space"] == 90


def test_loops_take_longer_than_compiled_annealing(found):
    assert found["ways"]["loops"]["seconds"] > found["ways"]["anneal"]["seconds"] > 0


def cell(space, rows, loops, evaluations, exact):
    ways = {
        "loops": {"seconds": loops, "objective": 0.3, "evaluations": evaluations},
        "exact": {"seconds": 1.0, "objective": 0.2, **exact},
    }
    for way in ("anneal", "coordinate", "fit"):
        ways[way] = {"seconds": 0.5, "objective": 0.25}
    return {"rows": rows, "n_classes": 4, "variable_space": space, "ways": ways}


PROVEN = {"status": "optimal", "lower_bound": 0.2, "gap": 0.0}
OPEN = {"status": "time_limit", "lower_bound": 0.15, "gap": 0.05}


def test_ratios_certificates_and_verdicts():
    cells = [cell(60, 100, 10.0, 700, PROVEN), cell(120, 400, 40.0, 700, OPEN)]
    found = results(*(({"task": t}, one) for t, one in zip("ab", cells, strict=True)))
    artefacts = experiment("time").present(found)
    seconds, objectives = of_kind(artefacts, Table)
    assert seconds.rows[0][-4:] == (20.0, 20.0, 10.0, 20.0)
    assert [row[-1] for row in objectives.rows] == ["proven optimal", "within 0.05"]
    assert verdicts(artefacts) == [True, False]


def test_hours_are_not_minutes_and_work_that_grows_with_nk_is_seen():
    spaces = [(60, 7000, 100), (120, 4000, 200), (240, 1000, 400)]
    cells = [cell(nk, rows, 40.0 * n, n, PROVEN) for nk, rows, n in spaces]
    found = results(
        *(({"task": str(nk)}, one) for (nk, *_), one in zip(spaces, cells, strict=True))
    )
    assert verdicts(experiment("time").present(found)) == [False, True]


def test_loops_are_left_out_where_a_class_has_no_rows():
    opt = starving_table(60, 2)
    with pytest.warns(DNIPWarning, match="no labelled example of class b"):
        found = measure_solve_times(
            opt.take(opt.labels != 1), dev_share=0.1, seed=0, time_limit=1.0
        )
    assert "loops" not in found["ways"]
    half = results(({"task": "t"}, found))
    seconds, objectives = of_kind(experiment("time").present(half), Table)
    assert seconds.rows[0][3] is None
    assert seconds.rows[0][-4:] == (None,) * 4
    assert objectives.rows[0][-1] == "none"
    whole = {"task": "whole"}, cell(60, 100, 10.0, 700, PROVEN)
    both = experiment("time").present(results(({"task": "t"}, found), whole))
    assert verdicts(both) == [True]
