"""Times and objectives of the ways to optimise."""

import pytest

from dnip import Objective, solve
from dnip.base.errors import DNIPWarning
from dnip.solvers import Anneal
from reproduction.artefacts import Table
from reproduction.experiments.solve_times import measure_solve_times
from reproduction.methods import cut
from results import experiment, of_kind, results, starving_table, verdicts


@pytest.fixture(scope="module")
def found():
    return measure_solve_times(starving_table(60, 2), dev_share=0.1, seed=1, time_limit=60.0)


def test_every_way_reports_the_objective_that_it_reached(found):
    rows, _ = cut(starving_table(60, 2), 0.1)
    solvers = {"paper": Anneal.paper(), "authors": Anneal(), "coordinate": "coordinate"}
    for name, solver in {**solvers, "exact": "exact"}.items():
        goal = Objective.published()
        expected = solve(rows.probabilities, rows.labels, goal, scale=30, solver=solver, seed=1)
        assert found["ways"][name]["objective"] == expected.value
    assert found["ways"]["exact"]["gap"] == 0
    best = found["ways"]["exact"]["objective"]
    assert all(found["ways"][way]["objective"] >= best - 1e-9 for way in ("loops", "paper"))
    assert found["rows"] == len(rows)
    assert found["variable_space"] == 90


def test_loops_take_longer_than_compiled_annealing(found):
    assert found["ways"]["loops"]["seconds"] > found["ways"]["authors"]["seconds"] > 0


def cell(space, rows, loops, exact, *, evaluations=None, paper=0.5):
    ways = {
        "loops": {"seconds": loops, "objective": 0.3, "evaluations": 700},
        "exact": {"seconds": 1.0, "objective": 0.2, **exact},
        "paper": {"seconds": paper, "objective": 0.25, "evaluations": evaluations or 400 * space},
    }
    for way in ("authors", "coordinate", "fit"):
        ways[way] = {"seconds": 0.5, "objective": 0.25}
    return {"rows": rows, "n_classes": 4, "variable_space": space, "ways": ways}


PROVEN = {"status": "optimal", "lower_bound": 0.2, "gap": 0.0}
OPEN = {"status": "time_limit", "lower_bound": 0.15, "gap": 0.05}


def presented(*cells):
    return experiment("time").present(
        results(*(({"task": str(number)}, one) for number, one in enumerate(cells)))
    )


def test_ratios_certificates_and_minutes():
    artefacts = presented(cell(60, 100, 10.0, PROVEN), cell(120, 400, 40.0, OPEN))
    seconds, objectives = of_kind(artefacts, Table)
    assert seconds.rows[0][-5:] == (20.0, 20.0, 20.0, 10.0, 20.0)
    assert [row[-1] for row in objectives.rows] == ["proven optimal", "within 0.05"]
    assert verdicts(artefacts)[0] is True
    assert verdicts(presented(cell(60, 100, 3601.0, PROVEN))) == [False]  # an hour
    assert verdicts(presented(cell(60, 100, 10.0, PROVEN, paper=3601.0))) == [False]


@pytest.mark.parametrize(
    ("rows", "power", "confirmed"),
    [
        ((1000, 1000, 1000), 1, True),  # seconds as NK
        ((100, 1000, 10_000), 1, False),  # seconds as rows × NK
        ((1000, 1000, 1000), 2, False),  # more objective values than NK
    ],
)
def test_the_cost_is_judged_on_the_schedule_that_depends_on_nk(rows, power, confirmed):
    cells = [
        cell(space, n, 1.0, PROVEN, evaluations=space**power, paper=1e-6 * space**power * n)
        for space, n in zip((120, 60, 240), rows, strict=True)
    ]
    assert verdicts(presented(*cells))[1] is confirmed


def test_loops_are_left_out_where_a_class_has_no_rows():
    opt = starving_table(60, 2)
    with pytest.warns(DNIPWarning, match="no labelled example of class b"):
        found = measure_solve_times(
            opt.take(opt.labels != 1), dev_share=0.1, seed=0, time_limit=1.0
        )
    assert "loops" not in found["ways"]
    seconds, objectives = of_kind(presented(found), Table)
    assert seconds.rows[0][3] is None
    assert seconds.rows[0][-5:] == (None,) * 5
    assert objectives.rows[0][-1] == "none"
    assert verdicts(presented(found)) == [True]
