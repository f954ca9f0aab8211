"""Solving: what holds of every solver on every problem, and what is checked before."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import CustomObjective, DNIPWarning, InvalidInputError, Objective, Status, solve
from dnip.method.problem import Problem
from dnip.solvers import SOLVERS, Anneal, Coordinate, Exact, Solver, settings_of
from dnip.solvers.landscape import Landscape, Proposal
from problems import KNOWN

PROVING = {"exact"}
THREE = KNOWN["three classes"]
FOUR = KNOWN["four classes"]

each_solver = pytest.mark.parametrize("solver", list(SOLVERS))
#: Those that ask of an objective nothing but its values.
each_calling_solver = pytest.mark.parametrize("solver", ["coordinate", Anneal(chain=0.1)], ids=str)
each_problem = pytest.mark.parametrize("name", KNOWN)


def assert_same_solution(one, other):
    np.testing.assert_array_equal(one.weight_indices, other.weight_indices)
    np.testing.assert_array_equal(one.confusion, other.confusion)
    assert one.value == other.value


@each_solver
@each_problem
def test_a_solution_is_what_it_says_between_the_optimum_and_the_raw_argmax(solver, name):
    known = KNOWN[name]
    solution = solve(known.p, known.labels, scale=known.scale, solver=solver, seed=1)
    indices = solution.weight_indices
    assert indices.dtype == np.int64
    assert indices.shape == (known.n_classes,)
    assert ((indices >= 1) & (indices <= known.scale)).all()
    confusion = oracles.confusion_at(known.p, known.labels, indices)
    np.testing.assert_array_equal(solution.confusion, confusion)
    assert solution.value == pytest.approx(oracles.objective(confusion), abs=1e-12)
    assert solution.terms == Objective().terms_of(confusion)
    assert solution.objective == Objective().to_dict()
    assert (solution.solver, solution.seed, solution.scale.size) == (solver, 1, known.scale)
    assert solution.unfitted == ()
    assert known.optimum - 1e-12 <= solution.value <= known.raw + 1e-12
    if solver != "anneal":
        assert solution.value == pytest.approx(known.optimum, abs=1e-12)
    if solver in PROVING:
        assert solution.status is Status.OPTIMAL
        assert (solution.lower_bound, solution.gap) == (solution.value, 0)
    else:
        assert solution.status is Status.FINISHED
        assert (solution.lower_bound, solution.gap) == (None, None)


def test_the_known_problems_leave_something_to_find():
    assert sum(known.optimum < known.raw - 0.05 for known in KNOWN.values()) >= 6


@each_solver
def test_the_seed_decides(solver):
    runs = [solve(FOUR.p, FOUR.labels, scale=5, solver=solver, seed=seed) for seed in (7, 7, 8)]
    assert_same_solution(runs[0], runs[1])
    traces = [[(e.value, e.evaluations, e.statistics) for e in run.trace] for run in runs]
    assert traces[0] == traces[1]
    if solver == "anneal":
        assert traces[0] != traces[2]


@each_solver
def test_the_incumbent_never_worsens_and_the_count_never_falls(solver):
    seen = []
    solution = solve(FOUR.p, FOUR.labels, scale=5, solver=solver, progress=seen.append)
    incumbents = [entry.incumbent for entry in solution.trace]
    assert tuple(seen) == solution.trace
    assert incumbents == sorted(incumbents, reverse=True)
    assert incumbents[0] == pytest.approx(FOUR.raw)
    assert incumbents[-1] == pytest.approx(solution.value)
    evaluations = [entry.evaluations for entry in solution.trace]
    assert evaluations == sorted(evaluations)
    assert evaluations[-1] <= solution.evaluations


@each_solver
def test_no_time_still_gives_the_raw_argmax_or_better(solver):
    solution = solve(FOUR.p, FOUR.labels, scale=5, solver=solver, time_limit=0)
    assert solution.status is Status.TIME_LIMIT
    assert solution.value <= FOUR.raw + 1e-12
    assert (solution.lower_bound, solution.gap) == (None, None)


class Made(Solver):
    """Searches as it is told."""

    name = "made"

    def __init__(self, steps):
        self.steps = steps

    def search(self, landscape, rng):
        yield from self.steps(landscape)


def test_an_interrupted_search_returns_the_best_so_far():
    best = solve(FOUR.p, FOUR.labels, scale=5)

    def steps(landscape):
        yield landscape.evaluate(best.weight_indices)
        raise KeyboardInterrupt

    solution = solve(FOUR.p, FOUR.labels, scale=5, solver=Made(steps))
    assert solution.status is Status.INTERRUPTED
    assert_same_solution(solution, best)
    assert (solution.lower_bound, solution.gap) == (None, None)


def test_only_a_bound_that_the_value_reaches_is_a_proof():
    def steps(landscape):
        here = landscape.evaluate(landscape.equal_weights())
        yield replace(here, lower_bound=here.value - below)

    for below, status in ((1e-6, Status.WITHIN_GAP), (0.0, Status.OPTIMAL)):
        solution = solve(FOUR.p, FOUR.labels, scale=5, solver=Made(steps))
        assert solution.status is status
        assert solution.gap == pytest.approx(below, abs=1e-12)


def test_a_solver_may_go_on_from_the_point_that_it_proposed():
    def steps(_landscape):
        here = np.array([4.0, 4.0, 5.0, 5.0])
        yield Proposal(here, -90)
        here[:] = 1
        yield Proposal(here, -80)

    solution = solve(FOUR.p, FOUR.labels, scale=5, solver=Made(steps))
    assert solution.weight_indices.tolist() == [4, 4, 5, 5]


@each_solver
def test_whole_weights_are_repeated_rows(solver):
    weight = np.random.default_rng(0).integers(0, 4, FOUR.n_rows)
    weighted = solve(FOUR.p, FOUR.labels, scale=5, solver=solver, sample_weight=weight)
    rows = np.repeat(FOUR.p, weight, axis=0), np.repeat(FOUR.labels, weight)
    repeated = solve(*rows, scale=5, solver=solver)
    assert_same_solution(weighted, repeated)
    assert weighted.evaluations == repeated.evaluations


@each_solver
def test_fractional_weights_count_in_examples(solver):
    weight = np.random.default_rng(1).random(FOUR.n_rows)
    solution = solve(FOUR.p, FOUR.labels, scale=5, solver=solver, sample_weight=weight)
    weighted = np.zeros((4, 4))
    predictions = oracles.predict(FOUR.p, solution.weight_indices)
    np.add.at(weighted, (FOUR.labels, predictions), weight)
    np.testing.assert_allclose(solution.confusion, weighted, atol=1e-7)
    assert solution.value == Objective()(solution.confusion)


def test_weights_in_quarters_are_exact():
    weight = np.random.default_rng(2).integers(1, 9, THREE.n_rows)

    def weighted(unit):
        objective, weights = Objective(tau=0.2, smoothing=unit), weight * unit
        return solve(THREE.p, THREE.labels, objective, scale=9, sample_weight=weights)

    quarters, wholes = weighted(0.25), weighted(1.0)
    np.testing.assert_array_equal(quarters.confusion * 4, wholes.confusion)
    assert quarters.value == pytest.approx(wholes.value, abs=1e-12)


@pytest.mark.parametrize("weight", [0.25, 1.0, 3.0])
def test_a_point_has_the_value_of_its_counts_in_examples(weight):
    objective, weights = Objective(tau=0.2, smoothing=1.0), np.full(THREE.n_rows, weight)
    problem = Problem.of(THREE.p, THREE.labels, sample_weight=weights)
    point = Landscape(problem, objective, 9, {}).evaluate([9, 4, 2])
    counted = oracles.confusion_at(THREE.p, THREE.labels, [9, 4, 2]) * weight
    assert point.value == pytest.approx(objective(counted), abs=1e-12)


def test_a_class_whose_examples_weigh_nothing_is_not_fitted():
    weight = (FOUR.labels != 2).astype(int)
    names = ["World", "Sports", "Business", "Tech"]
    with pytest.warns(DNIPWarning, match="no labelled example of class Business: not fitted"):
        solution = solve(FOUR.p, FOUR.labels, scale=12, sample_weight=weight, classes=names)
    assert solution.unfitted == (2,)
    fitted = np.delete(solution.weight_indices, 2).tolist()
    assert solution.weight_indices[2] == round(math.prod(fitted) ** (1 / 3)) != fitted[0]


@each_calling_solver
def test_a_function_without_a_number_is_refused_by_name(solver):
    def precision(confusion):
        return -confusion[0, 0] / confusion[:, 0].sum() if confusion[:, 0].any() else math.nan

    p = np.array([[0.2, 0.8], [0.4, 0.6], [0.1, 0.9]])
    with pytest.raises(InvalidInputError, match=r"'precision'.* not a number .*\[\[0, 1\].* inf"):
        solve(p, [0, 1, 1], precision, scale=30, solver=solver)


@each_calling_solver
def test_what_an_objective_raises_in_compiled_code_comes_through(solver):
    def fails_with(error):
        calls = itertools.count()

        def function(confusion):
            if next(calls) == 30:
                raise error
            return 1 - np.trace(confusion) / confusion.sum()

        return solve(FOUR.p, FOUR.labels, function, scale=5, solver=solver)

    assert fails_with(KeyboardInterrupt).status is Status.INTERRUPTED
    with pytest.raises(ZeroDivisionError, match="mine"):
        fails_with(ZeroDivisionError("mine"))


def test_an_objective_that_changes_its_argument_harms_no_count():
    def greedy(confusion):
        z = -float(confusion[0, 0])
        confusion[:] = 0
        return z

    landscape = Landscape(Problem.of(FOUR.p, FOUR.labels), CustomObjective(greedy), 5, {})
    proposal = landscape.descend([1, 1, 1, 1], landscape.free)
    recount = oracles.confusion_at(FOUR.p, FOUR.labels, proposal.point)
    assert proposal.value == -recount[0, 0] < 0


def test_a_called_descent_ends_at_the_class_where_time_is_up():
    objective = CustomObjective(Objective())
    landscape = Landscape(Problem.of(FOUR.p, FOUR.labels), objective, 5, {})
    landscape.deadline = 0.0  # long ago
    landscape.descend(landscape.equal_weights(), landscape.free)
    assert landscape.line_searches == 1


# The error rate alone is the same number in both, to the bit.
@each_calling_solver
@each_problem
def test_a_called_objective_is_searched_like_a_compiled_one(solver, name):
    known = KNOWN[name]
    error = Objective(terms=("error",))
    forms, settings = (error, CustomObjective(error)), {"scale": known.scale, "seed": 2}
    given = known.p, known.labels
    compiled, called = (solve(*given, form, solver=solver, **settings) for form in forms)
    assert called.value == compiled.value


@pytest.mark.parametrize("name", SOLVERS)
def test_only_what_a_solver_declares_is_allowed(name):
    solver, called = SOLVERS[name](), CustomObjective(lambda confusion: 0.0)
    if solver.takes_any_objective:
        settings_of(called, scale=30, solver=solver)
    else:
        with pytest.raises(InvalidInputError, match=f"the {name} solver bounds the terms"):
            settings_of(called, scale=30, solver=solver)


@pytest.mark.parametrize("solver", [None, object(), Coordinate])
def test_what_is_no_solver_is_refused(solver):
    with pytest.raises(InvalidInputError, match=r"solver must be the name.*Exact\(\)"):
        settings_of(solver=solver)


@cases(
    (Anneal, {"t_max": 100, "t_min": 200}, "t_min must be .* at most 100; got 200"),
    (Anneal, {"t_min": 0}, "t_min must be .* above 0"),
    (Anneal, {"cooling": 0}, "cooling must be .* above 0"),
    (Anneal, {"cooling": 1}, "cooling must be .* below 1; got 1"),
    (Anneal, {"chain": 0}, "chain must be a finite number above 0; got 0"),
    (Anneal, {"examples": 2.5}, "examples must be a whole number"),
    (Coordinate, {"effort": 0}, "effort must be a finite number above 0"),
    (Exact, {"gap": -0.1}, "gap"),
)
def test_a_solver_refuses_bad_settings(solver, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        solver(**settings)
