"""The landscape: counting and searching, compiled or by calling, with classes held or not."""

import numpy as np
import pytest

import oracles
from dnip import CustomObjective, Objective
from dnip.method.problem import Problem
from dnip.solvers import Landscape
from problems import KNOWN

FOUR = KNOWN["four classes"]


def landscape_of(known, objective=None, held=None, sample_weight=None):
    problem = Problem.of(known.p, known.labels, sample_weight=sample_weight)
    return Landscape(problem, objective or Objective(), known.scale, held or {})


@pytest.mark.parametrize("name", KNOWN)
def test_an_evaluation_counts_at_its_point(name):
    known = KNOWN[name]
    rng = np.random.default_rng(0)
    landscape = landscape_of(known)
    for _ in range(5):
        indices = rng.integers(1, known.scale + 1, known.n_classes)
        proposal = landscape.evaluate(indices)
        confusion = oracles.confusion_at(known.p, known.labels, indices)
        np.testing.assert_array_equal(landscape.confusion(indices), confusion)
        assert proposal.value == pytest.approx(oracles.objective(confusion), abs=1e-12)


# The error rate alone is the same number in both, to the bit; so are then all decisions.
@pytest.mark.parametrize("name", KNOWN)
def test_calling_an_objective_finds_what_compiled_code_finds(name):
    known = KNOWN[name]
    error = Objective(terms=("error",))
    rng = np.random.default_rng(1)
    for _ in range(5):
        compiled, called = landscape_of(known, error), landscape_of(known, CustomObjective(error))
        start = rng.integers(1, known.scale + 1, known.n_classes)
        order = rng.permutation(known.n_classes)
        here, there = compiled.descend(start, order), called.descend(start, order)
        np.testing.assert_array_equal(here.point, there.point)
        assert here.value == there.value


@pytest.mark.parametrize("name", KNOWN)
def test_a_descent_has_the_value_of_where_it_ends(name):
    known = KNOWN[name]
    rng = np.random.default_rng(2)
    landscape = landscape_of(known)
    for _ in range(10):
        start = rng.integers(1, known.scale + 1, known.n_classes)
        proposal = landscape.descend(start, rng.permutation(known.n_classes))
        confusion = oracles.confusion_at(known.p, known.labels, proposal.point)
        assert proposal.value == pytest.approx(oracles.objective(confusion), abs=1e-12)
        assert proposal.value <= landscape.evaluate(start).value


def test_a_held_class_keeps_its_index():
    landscape = landscape_of(FOUR, held={1: 2, 3: 4})
    assert landscape.free.tolist() == [0, 2]
    assert landscape.evaluate([5, 5, 5, 5]).point.tolist() == [5, 2, 5, 4]
    assert landscape.descend([5, 5, 5, 5], landscape.free).point[[1, 3]].tolist() == [2, 4]


def test_the_callers_indices_stay_the_callers():
    landscape = landscape_of(FOUR)
    indices = np.full(4, 5.0)
    landscape.descend(indices, landscape.free)
    assert indices.tolist() == [5, 5, 5, 5]


def test_an_objective_that_changes_its_argument_harms_no_count():
    def greedy(confusion):
        z = -float(confusion[0, 0])
        confusion[:] = 0
        return z

    landscape = landscape_of(FOUR, CustomObjective(greedy))
    proposal = landscape.descend([1, 1, 1, 1], landscape.free)
    recount = oracles.confusion_at(FOUR.p, FOUR.labels, proposal.point)
    assert proposal.value == -recount[0, 0] < 0


def test_fractional_weights_are_counted_in_examples():
    weight = np.random.default_rng(2).random(FOUR.n_rows)
    landscape = landscape_of(FOUR, sample_weight=weight)
    proposal = landscape.evaluate([1, 2, 3, 4])
    weighted = np.zeros((4, 4))
    predictions = oracles.predict(FOUR.p, [1, 2, 3, 4])
    np.add.at(weighted, (FOUR.labels, predictions), weight)
    np.testing.assert_allclose(landscape.confusion(proposal.point), weighted, atol=1e-7)
    assert proposal.value == pytest.approx(Objective()(weighted), abs=1e-6)


def test_evaluations_are_counted():
    landscape = landscape_of(FOUR)
    landscape.evaluate([5, 5, 5, 5])
    assert (landscape.evaluations, landscape.line_searches) == (1, 0)
    landscape.descend([5, 5, 5, 5], np.array([0]))
    assert (landscape.evaluations, landscape.line_searches) == (1 + FOUR.scale, 1)
