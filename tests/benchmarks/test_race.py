"""The loop over contestants and seeds, with contestants made for the purpose."""

import numpy as np

from benchmarks.race import Contestant, race
from benchmarks.race.arena import Stop
from benchmarks.race.evaluations import evaluate_in_numpy
from dnip import InvalidInputError, ProbabilityTable

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

    told, both = [], [contestant("a", search), contestant("b", search)]
    result = race(TABLE, both, n_seeds=2, progress=lambda *what: told.append(what))
    runs = [(run.contestant, run.seed) for run in result.runs]
    assert runs == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert seeds == [0, 0, 1, 0, 0, 1]  # a rehearsal with seed 0 before each contestant's runs
    assert told == [("a", 1, 4), ("a", 2, 4), ("b", 3, 4), ("b", 4, 4)]
    assert [run.evaluations for run in result.runs] == [1, 1, 1, 1]  # none of the rehearsals'


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


def test_who_is_not_installed_and_who_cannot_is_left_out():
    def refuse(_arena, _seed):
        raise InvalidInputError("too many classes", hint="Take fewer")

    absent = contestant("absent", raw, library="no_such_library")
    contestants = [absent, contestant("unable", refuse), contestant("raw", raw)]
    result = race(TABLE, contestants, time_limit=0.01)
    assert result.skipped == {
        "absent": "no_such_library is needed to run the peer absent and is not installed. "
        "In a checkout, install it with: pip install '.[bench]'",
        "unable": "too many classes. Take fewer",
    }
    assert {run.contestant for run in result.runs} == {"raw"}
