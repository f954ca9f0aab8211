"""What is read off the courses of runs, by hand."""

import math

import pytest

from benchmarks.race.arena import Improvement
from benchmarks.race.results import Race, Run

RAW = Improvement(0.0, 0, 0.9, (30, 30))


def run(name, seed, *course, bound=None):
    moments = (Improvement(seconds, 1, value, (1, 2)) for seconds, value in course)
    return Run(name, seed, (RAW, *moments), 100 + seed, bound)


def race(*runs, time_limit=1.0):
    return Race("t", 4, ("a", "b"), 30, {}, time_limit, runs, {}, interrupted=False)


OURS = [
    run("coordinate", 0, (0.001, 0.5), (0.002, 0.1), bound=0.1),
    run("coordinate", 1, (0.001, 0.4), (0.004, 0.1)),
    run("coordinate", 2, (0.001, 0.3), (0.003, 0.1)),
]


def test_values_and_times_of_a_run():
    one = OURS[0]
    assert [one.value_at(t) for t in (0.0005, 0.001, 0.0015, 9.0)] == [0.9, 0.5, 0.5, 0.1]
    assert [one.seconds_to(value) for value in (0.6, 0.5, 0.2, 0.05)] == [
        0.001,
        0.001,
        0.002,
        math.inf,
    ]


@pytest.mark.parametrize(
    ("time_limit", "checkpoints"),
    [(0.005, (0.005,)), (0.1, (0.01, 0.1)), (3.0, (0.01, 0.1, 1.0, 3.0))],
)
def test_checkpoints_are_powers_of_ten_and_the_limit(time_limit, checkpoints):
    assert race(time_limit=time_limit).checkpoints == checkpoints


def test_a_peer_is_held_against_our_median():
    peer = [run("peer", seed, (0.2, 0.6), (0.3, 0.4)) for seed in range(3)]
    ours, standing = race(*OURS, *peer).summaries
    assert standing.speedup == pytest.approx(0.3 / 0.001)
    assert standing.objective_at == {0.01: 0.9, 0.1: 0.9, 1.0: 0.4}
    assert standing.reference_worse_at == ()
    assert standing.seconds_to_best_known == math.inf
    assert ours.seconds_to_best_known == 0.003
    assert ours.speedup is None
    assert (ours.best, ours.worst, ours.evaluations) == (0.1, 0.1, 101)


def test_a_peer_that_is_better_is_said_to_be():
    peer = run("peer", 0, (0.05, 0.05), bound=0.02)
    result = race(*OURS, peer)
    standing = result.summaries[1]
    assert standing.speedup == 0.0
    assert standing.reference_worse_at == (0.1, 1.0)
    assert standing.gap == pytest.approx(0.03)
    assert result.best_known == 0.05


def test_a_peer_that_finds_nothing_better_than_the_raw_argmax_has_no_ratio():
    standing = race(*OURS, run("peer", 0)).summaries[1]
    assert (standing.best, standing.speedup) == (0.9, math.inf)


def test_without_a_reference_there_is_no_ratio():
    (standing,) = race(run("peer", 0, (0.2, 0.6))).summaries
    assert (standing.speedup, standing.reference_worse_at) == (None, ())


def test_the_summary_holds_null_for_what_there_is_not():
    summary = race(*OURS, run("peer", 0)).to_dict()
    assert summary["proven"]
    ours, peer = summary["contestants"]
    assert ours["objective_at"] == {"0.01": 0.1, "0.1": 0.1, "1": 0.1}
    assert ours["runs"][0] == {
        "seed": 0,
        "objective": 0.1,
        "seconds": 0.002,
        "weight_indices": (1, 2),
        "evaluations": 100,
        "lower_bound": 0.1,
    }
    assert (peer["best"], peer["speedup"], peer["gap"]) == (0.9, None, None)
    assert peer["seconds_to_best_known"] is None
    assert race().to_dict()["best_known"] is None
