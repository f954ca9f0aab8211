"""Every contestant for a moment, on problems of known optimum; and what evaluations they get."""

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracles
from benchmarks.race import PEERS, choose, race
from benchmarks.race.arena import Arena, Stop
from benchmarks.race.contestants import OURS
from benchmarks.race.evaluations import evaluate_in_numpy, evaluate_on_kernels
from dnip import Objective, ProbabilityTable
from problems import KNOWN
from strategies import KINDS, SEEDS, labelled_rows, seeded

OBJECTIVE = Objective(tau=0.2, smoothing=1.0)  # all three terms, so that all are compared
PROBLEMS = ["two classes, ties", "three classes"]


z = partial(oracles.objective, tau=0.2, mu=1.0)


def optimum_of(known, **settings):
    """The lowest of all points: a race lets classes be silenced."""
    value = partial(z, **settings)
    return oracles.optimum(known.p, known.labels, known.scale, value, may_silence=True)


def run(name, known, *, time_limit=0.2, kernels=False):
    """Race one contestant with one seed; its last moment."""
    chosen = (name, "none") if name in OURS else ("none", name)
    contestants = choose(*chosen, kernels=kernels)
    table = ProbabilityTable(known.p, known.labels)
    limits = {"time_limit": time_limit, "n_seeds": 1}
    result = race(table, contestants, OBJECTIVE, scale=known.scale, **limits)
    for reason in result.skipped.values():
        pytest.skip(reason)
    return result.runs[-1]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", [*OURS, *PEERS])
def test_what_is_recorded_is_the_objective_at_indices_of_the_scale(name, problem):
    known = KNOWN[problem]
    moments = run(name, known, time_limit=2.0 if name == "cp-sat" else 0.2).course
    assert moments[0].seconds == 0.0
    for moment in moments:
        assert len(moment.indices) == known.n_classes
        assert min(moment.indices) >= 1
        assert max(moment.indices) <= known.scale
        counts = oracles.confusion_at(known.p, known.labels, moment.indices)
        assert moment.value == pytest.approx(z(counts), abs=1e-12)
    assert optimum_of(known) - 1e-12 <= moments[-1].value < moments[0].value


@pytest.mark.skipif(find_spec("ortools") is None, reason="ortools is not installed")
@pytest.mark.parametrize("beta", [0.0, 2.7])
@pytest.mark.parametrize("tau", [0.0, 0.2])
@pytest.mark.parametrize("problem", ["two classes, ties", "three classes, near ties"])
def test_cp_sat_solves_the_very_problem(problem, beta, tau):
    known = KNOWN[problem]
    objective = Objective(beta=beta, tau=tau)
    settings = {"raw": 9.0, "evaluate": evaluate_in_numpy, "time_limit": 60.0}
    arena = Arena(known.p, known.labels, objective, known.scale, **settings)
    with pytest.raises(Stop):
        PEERS["cp-sat"].search(arena, 0)
    optimum = optimum_of(known, beta=beta, tau=tau, mu=None)
    assert arena.best == pytest.approx(optimum, abs=1e-5)
    assert optimum - 1e-4 <= arena.lower_bound <= optimum


@pytest.mark.parametrize("name", ["exact", "exhaustive"])
def test_a_search_that_excludes_the_rest_proves_its_best(name):
    known = KNOWN["three classes"]
    proven = run(name, known, time_limit=60.0)
    assert proven.lower_bound == pytest.approx(proven.best, abs=1e-12)
    assert proven.best == pytest.approx(optimum_of(known), abs=1e-12)


# --- evaluations ---
@pytest.mark.parametrize("evaluate", [evaluate_in_numpy, evaluate_on_kernels])
@seeded
@given(
    seed=SEEDS,
    n_classes=st.integers(2, 6),
    kind=st.sampled_from(KINDS),
    mu=st.sampled_from([0.5, 1.0, 4000.0]),
)
def test_equal_the_definition(evaluate, seed, n_classes, kind, mu):
    rng = np.random.default_rng(seed)
    p, labels = labelled_rows(rng, 30, n_classes, kind)
    objective = Objective(beta=1.5, tau=0.4, smoothing=mu)
    arena = Arena(p, labels, objective, 30, raw=9.0, evaluate=evaluate, time_limit=60.0)
    for indices in rng.integers(1, 31, (5, n_classes)):
        confusion = oracles.confusion_at(p, labels, indices)
        expected = oracles.objective(confusion, beta=1.5, tau=0.4, mu=mu)
        assert arena.value(indices) == pytest.approx(expected, abs=1e-12)
        assert arena.value(indices.astype(float)) == pytest.approx(expected, abs=1e-12)
