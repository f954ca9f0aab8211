"""The loop over contestants and seeds, with contestants made for the purpose."""

import numpy as np
import pytest

from benchmarks.race import Contestant, choose, race
from benchmarks.race.arena import Stop
from benchmarks.race.evaluations import evaluate_in_numpy
from dnip import Objective, ProbabilityTable
from dnip.base.errors import InvalidInputError

TABLE = ProbabilityTable(
    np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]), np.array([0, 1, 0, 1])
)
RAW = [30, 30]
BEST = [15, 30]


def contestant(name, search, library=""):
    return Contestant(name, search, library, evaluate_in_numpy)


def raw(arena, _seed):
    arena.value(np.array(RAW))


def best_at_once(arena, _seed):
    arena.value(np.array(BEST))
    arena.prove(arena.best)
    raise Stop


def test_everyone_runs_with_every_seed_in_order():
    seeds = []

    def search(arena, seed):
        seeds.append(seed)
        arena.value(np.array(RAW))
        raise Stop

    told = []
    result = race(
        TABLE,
        [contestant("a", search), contestant("b", search)],
        n_seeds=2,
        progress=lambda *what: told.append(what),
    )
    assert [(run.contestant, run.seed) for run in result.runs] == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
        ("b", 1),
    ]
    assert seeds == [0, 0, 1, 0, 0, 1]  # a rehearsal with seed 0 before each contestant's runs
    assert told == [
        ("a", 1, 4),
        ("a", 2, 4),
        ("b", 3, 4),
        ("b", 4, 4),
    ]
    assert [run.evaluations for run in result.runs] == [1, 1, 1, 1]  # none of the rehearsals'


def test_a_search_that_ends_is_started_again_with_other_seeds():
    seeds = []

    def search(arena, seed):
        seeds.append(seed)
        arena.value(np.array(RAW))

    race(TABLE, [contestant("a", search)], n_seeds=1, time_limit=0.05)
    starts = [place for place, seed in enumerate(seeds) if seed == 0]
    assert len(starts) >= 2  # the rehearsal and the run
    run = seeds[starts[-1] :]
    assert len(set(run)) == len(run) > 1


def test_a_proof_spares_the_others_their_time():
    def search(arena, _seed):  # its rehearsal knows no proof, and goes on until time is up
        arena.value(np.array(BEST))
        while True:
            arena.value(np.array(RAW))

    waiting = contestant("waiting", search)
    result = race(TABLE, [contestant("prover", best_at_once), waiting], n_seeds=1, time_limit=60.0)
    assert result.is_proven
    assert result.lower_bound == result.best_known
    assert result.of("waiting")[0].evaluations == 1


def test_ctrl_c_keeps_what_is_finished():
    calls = []

    def search(arena, seed):
        calls.append(seed)
        arena.value(np.array(RAW))
        if calls.count(1) == 1:
            raise KeyboardInterrupt
        raise Stop

    result = race(TABLE, [contestant("a", search), contestant("b", search)], n_seeds=3)
    assert result.interrupted
    assert [(run.contestant, run.seed) for run in result.runs] == [("a", 0)]


def test_who_is_not_installed_and_who_cannot_is_left_out():
    def refuse(_arena, _seed):
        raise InvalidInputError("too many classes", hint="Take fewer")

    absent = contestant("absent", raw, library="no_such_library")
    result = race(
        TABLE, [absent, contestant("unable", refuse), contestant("raw", raw)], time_limit=0.01
    )
    assert result.skipped == {
        "absent": "no_such_library is needed to run the peer absent and is not installed. "
        "Install it with: pip install 'dnip[bench]'",
        "unable": "too many classes. Take fewer",
    }
    assert {run.contestant for run in result.runs} == {"raw"}


def test_unlabelled_rows_are_left_aside():
    p = np.vstack([TABLE.probabilities, [[0.5, 0.5]]])
    table = ProbabilityTable(p, np.array([0, 1, 0, 1, -1]))
    assert race(table, [contestant("best", best_at_once)], n_seeds=1).n_rows == 4


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"time_limit": 0.0}, "time_limit must be a finite number above 0; got 0.0"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"n_seeds": 0}, "n_seeds"),
        ({"scale": 1}, "scale"),
        ({"objective": Objective(terms=("error",))}, "all three terms"),
        ({"objective": Objective(gap="single")}, "all three terms"),
    ],
)
def test_settings_out_of_range_are_refused(settings, told):
    with pytest.raises(InvalidInputError, match=told):
        race(TABLE, [contestant("raw", raw)], **settings)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (None, "no row has a label"),
        ([-1, -1, -1, -1], "no row has a label"),
        ([0, 0, 0, 0], "only class 0 has"),
    ],
)
def test_tables_without_enough_labels_are_refused(labels, told):
    table = ProbabilityTable(TABLE.probabilities, None if labels is None else np.array(labels))
    with pytest.raises(InvalidInputError, match=told):
        race(table, [contestant("raw", raw)])


def test_a_class_without_rows_is_refused_by_name():
    table = ProbabilityTable(
        np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]]), np.array([0, 1]), classes=("x", "y", "z")
    )
    with pytest.raises(InvalidInputError, match="no labelled row of class z"):
        race(table, [contestant("raw", raw)])


@pytest.mark.parametrize(
    ("solvers", "peers", "told"),
    [
        ("magic", "all", "solvers must be one of coordinate, .*none; got 'magic'"),
        ("coordinate", "cp-sat,magic", "peers must be one of authors-loops, .*; got 'magic'"),
        ("coordinate", "", "got ''"),
        ("none", "none", "nothing to run"),
    ],
)
def test_unknown_names_are_refused(solvers, peers, told):
    with pytest.raises(InvalidInputError, match=told):
        choose(solvers, peers)


def test_names_are_taken_once_in_the_order_given():
    chosen = choose("anneal, coordinate,anneal", "none")
    assert [one.name for one in chosen] == ["anneal", "coordinate"]
