"""Simulated annealing: the schedules of the paper and of its authors' code, move by move."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import oracles
from dnip import Constraints, CustomObjective, Objective, solve
from dnip.base.errors import InvalidInputError
from dnip.solvers import Anneal
from problems import KNOWN


def moves_of(solution):
    """Temperature, generated, accepted and improved moves, by temperature."""
    keys = ("temperature", "generated", "accepted", "improved")
    entries = [entry.statistics for entry in solution.trace[1:] if entry.statistics]
    return [tuple(entry[key] for key in keys) for entry in entries]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("chain", [None, 0.3])
@pytest.mark.parametrize("name", ["two classes", "three classes, ties", "four classes"])
def test_equals_the_plain_loops_move_by_move(name, chain, compiled):
    known = KNOWN[name]
    per = None if chain is None else 100
    objective = Objective() if compiled else CustomObjective(oracles.objective)
    for seed, t_max in enumerate([200_000.0, 50.0]):
        rng, schedule = np.random.default_rng(seed), {"t_max": t_max, "t_min": t_max / 1000}
        best, levels = oracles.anneal(
            known.p, known.labels, known.scale, rng, chain=chain, per=per, **schedule
        )
        solution = solve(
            known.p,
            known.labels,
            objective,
            scale=known.scale,
            solver=Anneal(chain=chain, examples=per, **schedule),
            seed=seed,
            constraints=Constraints(allow_silence=True),
        )
        assert solution.weight_indices.tolist() == list(best)
        assert moves_of(solution) == levels


def test_a_chain_in_parts_is_the_same_chain(monkeypatch):
    known = KNOWN["four classes"]
    settings = {"scale": known.scale, "solver": Anneal(t_min=10_000.0, chain=1.0)}
    whole = solve(known.p, known.labels, **settings)
    monkeypatch.setattr("dnip.solvers.landscape._CELLS", 2000)
    parts = solve(known.p, known.labels, **settings)
    assert (parts.weight_indices == whole.weight_indices).all()
    assert parts.evaluations == whole.evaluations
    assert moves_of(parts) == moves_of(whole)


def test_the_schedule_of_the_paper():
    known = KNOWN["three classes"]
    solution = solve(known.p, known.labels, scale=known.scale, solver=Anneal.paper())
    temperatures, generated, *_ = zip(*moves_of(solution), strict=True)
    of_10_000 = 200_000 * 0.95 ** np.arange(180)
    np.testing.assert_allclose(temperatures, of_10_000 * len(known.p) / 10_000)
    assert set(generated) == {3 * 3 * known.scale}
    assert solution.evaluations == 1 + 1 + sum(generated)


def test_the_schedule_of_the_authors():
    known = KNOWN["three classes"]
    solution = solve(known.p, known.labels, scale=known.scale, solver="anneal")
    levels = [entry.statistics for entry in solution.trace[1:]]
    assert len(levels) == 135
    np.testing.assert_allclose(
        [level["temperature"] for level in levels], 200_000 * 0.95 ** np.arange(135)
    )
    for level in levels:
        assert 3 <= level["generated"] <= 6
        assert level["improved"] <= 3
        assert level["accepted"] >= 3 or level["generated"] == 6
        assert level["acceptance_rate"] == level["accepted"] / level["generated"]
        assert level["improvement_rate"] == level["improved"] / level["generated"]
    assert solution.evaluations == 1 + 1 + sum(level["generated"] for level in levels)


def landscape_with_a_step(n_examples, step):
    """All points lie `step` above the first one that is evaluated."""
    values = iter([0.0])

    def evaluate(indices):
        return SimpleNamespace(point=np.array(indices, float), value=next(values, step))

    return SimpleNamespace(
        scale=30,
        n_classes=3,
        free=np.arange(3),
        problem=SimpleNamespace(n_examples=n_examples),
        evaluate=evaluate,
        setup=None,
    )


def share_accepted(n_examples, step, temperature, n_tries=2000):
    """The share of single moves that are accepted."""
    rng = np.random.default_rng(0)
    solver = Anneal(temperature, temperature, max_generated=1)
    accepted = 0
    for _ in range(n_tries):
        (proposal,) = solver.search(landscape_with_a_step(n_examples, step), rng)
        accepted += proposal.statistics["accepted"]
    return accepted / n_tries


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_a_worse_point_is_accepted_with_probability_exp_of_minus_delta_over_t(temperature):
    expected = math.exp(-10 * 0.1 / temperature)  # Δ of M·Z is 10·0.1
    assert share_accepted(10, 0.1, temperature) == pytest.approx(expected, abs=0.04)


def test_no_worse_point_is_accepted_in_the_cold():
    assert share_accepted(10, 0.1, temperature=1e-6) == 0
    assert share_accepted(10, 1e-300, temperature=1e-320) == 0


@pytest.mark.parametrize("step", [0.0, -0.1])
def test_a_point_no_worse_is_always_accepted(step):
    assert share_accepted(10, step, temperature=1e-6) == 1


def test_a_move_gives_one_class_another_index_uniformly():
    landscape = landscape_with_a_step(10, 0.1)
    landscape.scale, points = 4, []
    evaluate = landscape.evaluate

    def watch(indices):
        points.append(tuple(int(k) for k in indices))
        return evaluate(indices)

    landscape.evaluate = watch
    solver = Anneal(1e-6, 1e-6, max_generated=3600)  # too cold to leave the start
    list(solver.search(landscape, np.random.default_rng(0)))
    start, *moves = points
    assert start == (4, 4, 4)
    goals, times = np.unique(moves, axis=0, return_counts=True)
    assert len(goals) == 3 * 3
    assert ((goals != 4).sum(axis=1) == 1).all()
    np.testing.assert_allclose(times, 400, atol=80)  # 4 standard deviations


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"t_max": 0}, "t_max must be a finite number above 0; got 0"),
        ({"t_max": 100, "t_min": 200}, "t_min must be .* at most 100; got 200"),
        ({"t_min": 0}, "t_min must be .* above 0"),
        ({"cooling": 0}, "cooling must be .* above 0"),
        ({"cooling": 1}, "cooling must be below 1; got 1"),
        ({"chain": 0}, "chain must be a finite number above 0; got 0"),
        ({"examples": 0}, "examples must be a whole number of at least 1; got 0"),
        ({"max_generated": 0}, "max_generated must be a whole number of at least 1"),
        ({"max_accepted": 2.5}, "max_accepted must be a whole number"),
    ],
)
def test_refuses_bad_settings(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Anneal(**settings)
