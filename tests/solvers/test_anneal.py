"""Simulated annealing: the schedules of the paper and of its authors' code, move by move."""

import numpy as np
import pytest

import oracles
from dnip import Constraints, CustomObjective, InvalidInputError, Objective, solve
from dnip.solvers import Anneal
from dnip.solvers.search import PAPER
from problems import KNOWN
from reproduction.methods import AuthorsAnneal


def moves_of(solution):
    """Temperature, generated, accepted and improved moves, by temperature."""
    keys = ("temperature", "generated", "accepted", "improved")
    entries = [entry.statistics for entry in solution.trace[1:] if entry.statistics]
    return [tuple(entry[key] for key in keys) for entry in entries]


def assert_same_moves(known, solver, seed=0, objective=None, **schedule):
    """Anneal, and compare every level with the plain loops."""
    rng = np.random.default_rng(seed)
    best, levels = oracles.anneal(known.p, known.labels, known.scale, rng, **schedule)
    settings = {"seed": seed, "constraints": Constraints(allow_silence=True)}
    solution = solve(known.p, known.labels, objective, scale=known.scale, solver=solver, **settings)
    assert solution.weight_indices.tolist() == list(best)
    assert moves_of(solution) == levels
    told = [entry.statistics for entry in solution.trace[1:] if entry.statistics]
    for level in told if isinstance(solver, Anneal) else ():
        assert level["acceptance_rate"] == level["accepted"] / level["generated"]
        assert level["improvement_rate"] == level["improved"] / level["generated"]
    assert solution.evaluations == 1 + 1 + sum(level["generated"] for level in told)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("chain", "share"), [(0.3, 1.0), (0.3, 0.4)])
@pytest.mark.parametrize("name", ["two classes", "three classes, ties", "four classes"])
def test_equals_the_plain_loops_move_by_move(name, chain, share, compiled):
    objective = Objective() if compiled else CustomObjective(oracles.objective)
    for seed, t_max in enumerate([200_000.0, 50.0]):
        schedule = {"t_max": t_max, "t_min": t_max / 1000, "chain": chain}
        solver = Anneal(chain_accepted=share, examples=None, **schedule)
        assert_same_moves(KNOWN[name], solver, seed, objective, share=share, **schedule)


def test_the_schedules_of_the_paper_and_of_the_authors():
    known = KNOWN["three classes, ties"]
    published = {"t_max": 200_000.0, "t_min": 0.002 * len(known.p), "chain": 3, "share": 0.5}
    assert_same_moves(known, Anneal(), **published)
    assert_same_moves(known, AuthorsAnneal(), t_max=200_000.0, t_min=200.0)
    assert PAPER.solver == Anneal()


def test_a_chain_in_parts_is_the_same_chain(monkeypatch):
    known = KNOWN["four classes"]
    solver = Anneal(t_max=50.0, t_min=5.0, chain=1.0, chain_accepted=0.6)
    settings = {"scale": known.scale, "solver": solver}
    whole = solve(known.p, known.labels, **settings)
    monkeypatch.setattr("dnip.solvers.landscape._CELLS", 2000)
    parts = solve(known.p, known.labels, **settings)
    assert (parts.weight_indices == whole.weight_indices).all()
    assert parts.evaluations == whole.evaluations
    assert moves_of(parts) == moves_of(whole)


def test_the_usual_scale_has_too_many_steps_to_anneal_on():
    with pytest.raises(InvalidInputError, match="10,000 steps"):
        solve([[0.9, 0.1], [0.6, 0.4]], [0, 1], solver="anneal")
