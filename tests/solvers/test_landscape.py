"""The landscape: counting and searching, compiled or by calling, with classes held or not."""

import numpy as np

import oracles
from dnip import CustomObjective, Objective
from dnip.method.problem import Problem
from dnip.solvers import Landscape
from problems import KNOWN

FOUR = KNOWN["four classes"]


def landscape_of(known, objective=None, held=None, sample_weight=None):
    problem = Problem.of(known.p, known.labels, sample_weight=sample_weight)
    return Landscape(problem, objective or Objective(), known.scale, held or {})


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


def test_evaluations_are_counted():
    landscape = landscape_of(FOUR)
    landscape.evaluate([5, 5, 5, 5])
    assert (landscape.evaluations, landscape.line_searches) == (1, 0)
    landscape.descend([5, 5, 5, 5], np.array([0]))
    assert (landscape.evaluations, landscape.line_searches) == (1 + FOUR.scale, 1)
