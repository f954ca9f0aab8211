"""The record of a run: every new best with its time, until time is up or nothing better exists."""

import numpy as np
import pytest

from benchmarks.race.arena import Arena, Improvement, Stop
from dnip import Objective

RAW = Improvement(0.0, 0, 0.9, (30, 30))


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until the test moves it."""

    class Clock:
        now = 100.0

    monkeypatch.setattr("time.perf_counter", lambda: Clock.now)
    return Clock


def arena(values=(), *, time_limit=10.0, floor=None):
    """An arena of two classes whose evaluation gives these values in turn."""
    rest = iter(values)
    return Arena(
        np.array([[0.9, 0.1], [0.2, 0.8]]),
        np.array([0, 1]),
        Objective(),
        30,
        raw=0.9,
        evaluate=lambda _arena: lambda _indices: next(rest),
        time_limit=time_limit,
        floor=floor,
    )


def test_the_course_holds_every_new_best(clock):
    run = arena([0.5, 0.7, 0.5 - 1e-14, 0.3])
    for second, indices in enumerate([[1, 2], [2, 2], [3, 2], [4, 2]]):
        clock.now = 100.0 + second
        run.value(np.array(indices))
    assert run.course == [RAW, Improvement(0.0, 1, 0.5, (1, 2)), Improvement(3.0, 4, 0.3, (4, 2))]
    assert (run.best, run.evaluations) == (0.3, 4)


def test_a_batch_is_recorded_one_by_one(clock):
    run = arena([0.5, 0.2, 0.4])
    assert run.values(np.array([[1, 2], [2, 2], [3, 2]])).tolist() == [0.5, 0.2, 0.4]
    assert [moment.indices for moment in run.course] == [(30, 30), (1, 2), (2, 2)]


def test_what_comes_late_does_not_count(clock):
    run = arena([0.5, 0.2])
    run.value(np.array([1, 2]))
    clock.now = 110.5
    with pytest.raises(Stop):
        run.value(np.array([2, 2]))
    with pytest.raises(Stop):
        run.check_time()
    assert run.best == 0.5
    assert run.remaining == 0.0


def test_a_run_at_the_floor_is_over(clock):
    run = arena([0.5, 0.2], floor=0.2)
    run.value(np.array([1, 2]))
    with pytest.raises(Stop):
        run.value(np.array([2, 2]))
    assert run.course[-1].indices == (2, 2)


def test_a_search_may_note_what_it_computed_itself(clock):
    run = arena()
    assert run.best == 0.9
    run.note([1, 2], 0.5, evaluations=7)
    assert run.course == [RAW, Improvement(0.0, 7, 0.5, (1, 2))]


def test_the_highest_bound_stands(clock):
    run = arena()
    assert run.lower_bound is None
    for bound in (-1.0, 0.0, -0.5):
        run.prove(bound)
    assert run.lower_bound == 0.0


def test_a_run_that_has_proven_its_best_is_over(clock):
    run = arena([0.5, 0.5])
    run.prove(0.4)
    run.value(np.array([1, 2]))
    run.prove(0.5)
    with pytest.raises(Stop):
        run.value(np.array([1, 2]))
