"""Simulated annealing: the schedules of the paper and of its authors' code, move by move."""

import math

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
@pytest.mark.parametrize(("chain", "share"), [(None, 1.0), (0.3, 1.0), (0.3, 0.4)])
@pytest.mark.parametrize("name", ["two classes", "three classes, ties", "four classes"])
def test_equals_the_plain_loops_move_by_move(name, chain, share, compiled):
    known = KNOWN[name]
    objective = Objective() if compiled else CustomObjective(oracles.objective)
    for seed, t_max in enumerate([200_000.0, 50.0]):
        rng, schedule = np.random.default_rng(seed), {"t_max": t_max, "t_min": t_max / 1000}
        schedule["chain"] = chain
        best, levels = oracles.anneal(
            known.p, known.labels, known.scale, rng, share=share, **schedule
        )
        solution = solve(
            known.p,
            known.labels,
            objective,
            scale=known.scale,
            solver=Anneal(chain_accepted=share, **schedule),
            seed=seed,
            constraints=Constraints(allow_silence=True),
        )
        assert solution.weight_indices.tolist() == list(best)
        assert moves_of(solution) == levels


def test_a_chain_in_parts_is_the_same_chain(monkeypatch):
    known = KNOWN["four classes"]
    settings = {
        "scale": known.scale,
        "solver": Anneal(t_max=50.0, t_min=5.0, chain=1.0, chain_accepted=0.6),
    }
    whole = solve(known.p, known.labels, **settings)
    monkeypatch.setattr("dnip.solvers.passes._CELLS", 2000)
    parts = solve(known.p, known.labels, **settings)
    assert (parts.weight_indices == whole.weight_indices).all()
    assert parts.evaluations == whole.evaluations
    assert moves_of(parts) == moves_of(whole)


def test_the_schedule_of_the_paper():
    known = KNOWN["three classes"]
    solution = solve(known.p, known.labels, scale=known.scale, solver=Anneal.paper())
    temperatures, generated, accepted, _ = zip(*moves_of(solution), strict=True)
    n_levels = 1 + math.floor(math.log(0.002 * len(known.p) / 200_000, 0.95))
    np.testing.assert_allclose(temperatures, 200_000 * 0.95 ** np.arange(n_levels))
    most, enough = 3 * 3 * known.scale, math.ceil(1.5 * 3 * known.scale)
    for made, taken in zip(generated, accepted, strict=True):
        assert taken == enough or (made == most and taken < enough)
    assert generated[0] == accepted[0]  # when it is hot, every move is accepted
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
