"""Everyone in the race reports falling values of Z, and our solvers end at the optimum."""

import time

import pytest

import oracles
from benchmarks.race import (
    CONTESTANTS,
    OBJECTIVE,
    SCALE,
    counts_under,
    default_search,
    evolution,
    race,
)
from dnip import Objective
from problems import KNOWN


@pytest.mark.parametrize("problem", ["two classes, ties", "three classes"])
def test_courses_fall_to_the_optimum(problem, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", time.process_time)  # whoever else computes
    known = KNOWN[problem]

    def z(confusion):
        return oracles.objective(confusion, beta=2.7, tau=0.2, mu=OBJECTIVE.smoothing)

    optimum = oracles.optimum(known.p, known.labels, SCALE, z, may_silence=True)
    found = race(known.p, known.labels, seconds=0.3, seeds=1)
    assert list(found) == list(CONTESTANTS)
    for name, (course,) in found.items():
        values = [value for _, value in course]
        assert values == sorted(values, reverse=True)
        assert values[-1] < values[0]
        if name in ("coordinate", "exact"):
            assert values[-1] == pytest.approx(optimum, abs=1e-9)
        assert values[-1] >= optimum - 1e-9


def test_differential_evolution_solves_the_problem_of_the_default_search():
    known, goal = KNOWN["three classes"], Objective(2.7)
    ours, theirs = (
        goal(counts_under(known.p, known.labels, search(known.p, known.labels, goal, 0)))
        for search in (default_search, evolution)
    )
    assert ours == pytest.approx(theirs, abs=1e-9)
