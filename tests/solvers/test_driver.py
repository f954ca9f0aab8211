"""The driver: incumbent, trace, clock and interruption, with solvers that only pretend."""

import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from dnip import Objective, Status
from dnip.method.problem import Problem
from dnip.solvers import Landscape, Proposal
from dnip.solvers.driver import run
from problems import KNOWN

THREE = KNOWN["three classes"]


@dataclass
class Script:
    """Proposes what it is told, and then raises what it is told."""

    proposals: list = field(default_factory=list)
    error: BaseException | None = None
    pause: float = 0.0
    name: str = "script"

    def search(self, landscape, rng):
        for proposal in self.proposals:
            time.sleep(self.pause)
            yield proposal
        if self.error is not None:
            raise self.error


def proposal(indices, value, **statistics):
    return Proposal(np.array(indices, np.float64), value, statistics)


def bounded(indices, value, lower_bound):
    return Proposal(np.array(indices, np.float64), value, lower_bound=lower_bound)


@pytest.fixture
def play():
    problem = Problem.of(THREE.p, THREE.labels)
    landscape = Landscape(problem, Objective(), THREE.scale, held={})

    def play(script, **options):
        return run(script, landscape, rng=np.random.default_rng(0), **options)

    return play


def test_the_best_proposal_wins_and_the_first_of_equals(play):
    proposals = [
        proposal([1, 2, 3], -90),
        proposal([2, 2, 3], -99),
        proposal([3, 2, 3], -99),
        proposal([4, 2, 3], 5),
    ]
    best, _, trace = play(Script(proposals))
    assert best.point.tolist() == [2, 2, 3]
    assert [entry.value for entry in trace[1:]] == [-90, -99]


def test_a_solver_may_go_on_from_the_point_that_it_proposed(play):
    class Walker(Script):
        def search(self, landscape, rng):
            indices = np.array([1.0, 2.0, 3.0])
            yield Proposal(indices, -90)
            indices[:] = 5
            yield Proposal(indices, -80)

    assert play(Walker())[0].point.tolist() == [1, 2, 3]


def test_an_interrupted_search_returns_its_best_and_the_bound_so_far(play):
    proposals = [bounded([1, 2, 3], -90, -95), bounded([2, 2, 3], -80, -93)]
    best, status, _ = play(Script(proposals, KeyboardInterrupt()))
    assert status is Status.INTERRUPTED
    assert best.point.tolist() == [1, 2, 3]
    assert best.lower_bound == -93


def test_only_a_bound_that_the_best_value_reaches_proves_it(play):
    script = Script([bounded([1, 2, 3], -90, -np.inf), bounded([2, 2, 3], -80, -90)])
    proven, status, _ = play(script)
    assert (status, proven.lower_bound) == ("optimal", -90)
    near, status, _ = play(Script([bounded([1, 2, 3], -90, -95)]))
    assert (status, near.lower_bound) == ("within_gap", -95)
