"""Simulated annealing: the schedules of the paper and of its authors' code, move by move."""

import numpy as np
import pytest

import oracles
from dnip import Constraints, CustomObjective, Objective, solve
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
    monkeypatch.setattr("dnip.solvers.passes._CELLS", 2000)
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
