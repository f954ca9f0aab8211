"""Geometric and continuous weights, against trying all weights there are."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from dnip import Coefficients, Objective, ProbabilityTable, Status, solve
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.fitting.fit import fit_table
from dnip.method.problem import Problem
from dnip.method.scales import WIDEST, WeightScale
from dnip.solvers import Coordinate, Landscape
from dnip.solvers.kernels.boxes import lay_out_boxes
from dnip.solvers.spaced import landscape_over, make_line
from strategies import KINDS, random_probabilities, seeded

SIZES = {2: 12, 3: 6, 4: 4}


def random_problem(seed, n_classes, kind, n_rows=40):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, n_classes, kind)
    labels = np.append(np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes))
    return p, labels


def value_at(p, labels, weights):
    return oracles.objective(oracles.confusion_at(p, labels, weights))


@pytest.fixture
def blind(monkeypatch):
    """Let coordinate search find nothing, so that the optimum is up to branch and bound."""
    monkeypatch.setattr(Coordinate, "search", lambda self, landscape, rng: iter(()))


class TestGeometric:
    @settings(seeded, max_examples=15)
    @given(
        seed=st.integers(0, 2**32 - 1),
        n_classes=st.sampled_from([2, 3, 4]),
        kind=st.sampled_from(KINDS),
    )
    def test_solvers_equal_enumeration(self, seed, n_classes, kind):
        p, labels = random_problem(seed, n_classes, kind)
        size = SIZES[n_classes]
        levels = WeightScale.of(f"log:{size}").levels
        optimum = min(
            value_at(p, labels, weights) for weights in itertools.product(levels, repeat=n_classes)
        )
        for solver in ("exhaustive", "exact", "coordinate"):
            solution = solve(p, labels, scale=f"log:{size}", solver=solver)
            assert solution.value == pytest.approx(optimum, abs=1e-9)
            assert solution.weights.tolist() == levels[solution.weight_indices - 1].tolist()
            counted = oracles.confusion_at(p, labels, solution.weights)
            np.testing.assert_array_equal(solution.confusion, counted)

    @pytest.mark.usefixtures("blind")
    @settings(seeded, max_examples=25)
    @given(
        seed=st.integers(0, 2**32 - 1),
        kind=st.sampled_from(KINDS),
        size=st.sampled_from([1, 2, 3, 5, 9]),  # 2 and 5: steps that tie with eighths
    )
    def test_branch_and_bound_proves_the_optimum_by_itself(self, seed, kind, size):
        p, labels = random_problem(seed, 3, kind)
        solution = solve(p, labels, scale=f"log:{size}", solver="exact")
        oracle = solve(p, labels, scale=f"log:{size}", solver="exhaustive")
        assert solution.status is Status.OPTIMAL
        assert solution.value == pytest.approx(oracle.value, abs=1e-9)

    @pytest.mark.parametrize(("kind", "least"), [("random", 8), ("tied", 0)])
    def test_copies_are_left_out_where_no_row_may_tie(self, kind, least):
        p, labels = random_problem(0, 3, kind)
        scale = WeightScale.of("log:9")  # its steps are 9^(1/8): four of them a factor of 3
        landscape = landscape_over(Problem.of(p, labels), Objective(), scale, {})
        levels = landscape.levels
        rows = lay_out_boxes(p, labels, np.ones(len(p)), np.full(3, levels[0]), np.ones(3))
        assert landscape.least_top(rows) == least

    def test_annealing_walks_on_it(self):
        p, labels = random_problem(0, 3, "random")
        solution = solve(p, labels, scale="log:9", solver="anneal")
        assert solution.value <= value_at(p, labels, np.ones(3))
        assert solution.value == pytest.approx(value_at(p, labels, solution.weights))


class TestContinuous:
    @settings(seeded, max_examples=15)
    @given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
    def test_two_classes_are_optimal(self, seed, kind):
        p, labels = random_problem(seed, 2, kind)
        with np.errstate(divide="ignore", over="ignore"):
            ratios = np.unique(p[:, 1] / p[:, 0])
        ratios = ratios[(ratios > 1 / WIDEST) & (ratios < WIDEST)]
        edges = np.concatenate(([1 / WIDEST], ratios, [WIDEST]))
        chosen = np.concatenate((np.sqrt(edges[1:] * edges[:-1]), ratios))
        optimum = min(value_at(p, labels, [ratio, 1.0]) for ratio in chosen)
        solution = solve(p, labels, scale="continuous")
        assert solution.value == pytest.approx(optimum, abs=1e-12)
        for size in (2, 7, 30, 211):
            linear = solve(p, labels, scale=size, solver="exhaustive")
            assert solution.value <= linear.value + 1e-12

    @settings(seeded, max_examples=15)
    @given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
    def test_no_weight_of_one_class_is_better(self, seed, kind):
        p, labels = random_problem(seed, 3, kind)
        solution = solve(p, labels, scale="continuous")
        np.testing.assert_array_equal(
            solution.confusion, oracles.confusion_at(p, labels, solution.weights)
        )
        assert 0.5 < solution.weights.max() <= 1
        assert solution.weights.max() <= WIDEST * solution.weights.min() * (1 + 1e-9)
        for c in range(3):
            others = solution.weights.copy()
            others[c] = 0
            with np.errstate(divide="ignore", over="ignore"):
                flips = np.sort((others * p).max(axis=1) / p[:, c])
            low, high = others.max() / WIDEST, others[others > 0].min() * WIDEST
            flips = flips[(flips > low) & (flips < high)]
            edges = np.concatenate(([low], flips, [high]))
            wide = edges[1:] > edges[:-1] * (1 + 1e-9)
            for weight in np.sqrt(edges[1:] * edges[:-1])[wide]:
                there = solution.weights.copy()
                there[c] = weight
                assert value_at(p, labels, there) >= solution.value - 1e-12

    @seeded
    @given(seed=st.integers(0, 2**32 - 1))
    def test_a_descent_goes_on_from_where_it_ends_on_a_linear_scale(self, seed):
        p, labels = random_problem(seed, 3, "random")
        problem, order = Problem.of(p, labels), np.arange(3)
        landscape = landscape_over(problem, Objective(), WeightScale.of("continuous"), {})
        first, *_, last = landscape.approach(np.ones(3), order)
        linear = Landscape(problem, Objective(), 300, {}).descend(np.full(3, 300.0), order)
        assert first.value == pytest.approx(linear.value, abs=1e-12)
        assert last.value <= first.value + 1e-12
        assert landscape.descend(np.ones(3), order).value == last.value

    def test_a_callable_objective_takes_the_same_way(self):
        p, labels = random_problem(3, 3, "random")
        objective = Objective()
        one = solve(p, labels, objective, scale="continuous", solver=Coordinate(0.2))
        other = solve(
            p,
            labels,
            lambda counts: float(objective(counts)),
            scale="continuous",
            solver=Coordinate(0.2),
        )
        assert other.value == pytest.approx(one.value, abs=1e-12)

    @pytest.mark.parametrize("solver", ["exact", "anneal", "exhaustive"])
    def test_solvers_of_indices_refuse_it(self, solver):
        with pytest.raises(InvalidInputError, match=f"the {solver} solver searches weight indices"):
            solve([[0.9, 0.1], [0.6, 0.4]], [0, 1], scale="continuous", solver=solver)

    @seeded
    @given(
        breakpoints=st.lists(
            st.one_of(st.sampled_from([0.5, 1.0, 2.0]), st.floats(1e-5, 1e5)), max_size=8
        ),
        now=st.one_of(st.sampled_from([0.5, 1.0, 2.0]), st.floats(1e-3, 1e3)),
    )
    def test_a_line_has_one_weight_between_any_two_breakpoints(self, breakpoints, now):
        flips = np.array(breakpoints)
        line = make_line(flips, now, 1e-3, 1e3)
        levels = line.levels
        assert (np.diff(levels) > 0).all()
        inside = np.unique(flips[(flips > 1e-3) & (flips < 1e3)])
        intervals = np.searchsorted(inside, levels)
        if now not in inside:
            assert np.searchsorted(inside, now) == intervals[line.now - 1]
        else:
            assert levels[line.now - 1] == now
        wide = inside[1:] > inside[:-1] * (1 + 1e-9)
        assert set(np.flatnonzero(wide) + 1) <= set(intervals)


@pytest.mark.parametrize("scale", ["log:30", "continuous"])
def test_counts_of_the_fit_are_those_of_the_evaluation(scale):
    p, labels = random_problem(5, 3, "tied", n_rows=300)
    fit = fit_table(ProbabilityTable(p, labels), scale=scale)
    np.testing.assert_array_equal(fit.evaluation.reweighted, fit.solution.confusion)
    read = Coefficients.from_json(fit.coefficients.to_json())
    assert read.weights.tolist() == fit.solution.weights.tolist()
    assert fit.solution.to_dict()["spacing"] == scale.partition(":")[0]


@pytest.mark.parametrize("scale", ["log:1", "log:2", "log:30", "continuous"])
def test_a_weight_counts_an_example_so_often(scale):
    p, labels = random_problem(9, 3, "tied")
    often = np.random.default_rng(0).integers(1, 4, len(p))
    weighted = solve(p, labels, scale=scale, sample_weight=often)
    repeated = solve(np.repeat(p, often, axis=0), np.repeat(labels, often), scale=scale)
    assert weighted.weights.tolist() == repeated.weights.tolist()
    np.testing.assert_array_equal(weighted.confusion, repeated.confusion)


@pytest.mark.parametrize("scale", ["log:30", "continuous"])
def test_a_class_without_examples_has_the_middle_weight(scale):
    p, labels = random_problem(7, 4, "random", n_rows=200)
    rows = labels != 2
    with pytest.warns(DNIPWarning, match="class 2"):
        solution = solve(p[rows], labels[rows], scale=scale)
    middle = np.exp(np.log(np.delete(solution.weights, 2)).mean())
    assert solution.weights[2] == pytest.approx(middle, rel=0.06)  # half a step of log:30
    assert solution.status is Status.FINISHED
