"""Annealing under each reading of what the paper leaves open, against the proven optimum."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dnip.fitting.settings import AUTHORS
from dnip.method.objective import Objective
from dnip.solvers import Anneal, Solver, solve
from reproduction.methods import cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dnip.tables import ProbabilityTable

# Values nearer than this are the same.
_SAME = 1e-6
#: The choices of ``--preset paper``, and other solvers.
PRESET, FEW, COORDINATE = "as chosen", "authors' schedule", "coordinate (ours)"


def readings(n_examples: int) -> Mapping[str, Solver]:
    """Return annealing as ``--preset paper`` chooses, then with one choice changed at a time.

    Examples
    --------
    >>> {name: solver.t_max for name, solver in readings(4000).items() if "Z" in name}
    {'T of Z': 800000000.0}
    """
    chosen = Anneal.paper()
    return {
        PRESET: chosen,
        **{f"λ = {chain:g}": replace(chosen, chain=chain) for chain in (0.25, 1.0, 10.0)},
        "a tenth accepted": replace(chosen, chain_accepted=0.1),
        "generated alone": replace(chosen, chain_accepted=1.0),
        **{f"to {last:g}": replace(chosen, t_min=last) for last in (200.0, 2.0)},
        "T of Z": replace(chosen, t_max=chosen.t_max * n_examples),
    }


def measure_convergence(
    opt: ProbabilityTable, *, dev_share: float, scale: int, n_seeds: int, time_limit: float
) -> dict[str, Any]:
    """Return gaps to the optimum: of annealing by reading, and of other solvers.

    Parameters
    ----------
    opt : ProbabilityTable
    dev_share : float
        The share of `opt` that is the dev split, which is not used.
    scale : int
        K.
    n_seeds : int
        Runs of each.
    time_limit : float
        Seconds for the exact solver. Where it proves nothing, the best value of all runs counts as
        the optimum.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> few = bundled_table("opt").draw(60, seed=0)
    >>> found = measure_convergence(few, dev_share=0.1, scale=5, n_seeds=1, time_limit=60.0)
    >>> found["proven"], found["gaps"]["as chosen"][0] >= 0
    (True, True)
    """
    rows = cut(opt, dev_share)[0].labelled()
    assert rows.labels is not None
    run = partial(solve, rows.probabilities, rows.labels, Objective.published(), scale=scale)
    best = run(solver="exact", time_limit=time_limit)
    solvers: dict[str, str | Solver] = {
        **readings(len(rows)),
        FEW: AUTHORS.solver,
        COORDINATE: "coordinate",
    }
    values = {
        name: [run(solver=solver, seed=seed).value for seed in range(n_seeds)]
        for name, solver in solvers.items()
    }
    optimum = min(best.value, *(value for found in values.values() for value in found))
    return {
        "scale": scale,
        "variable_space": rows.n_classes * scale,
        "optimum": optimum,
        "proven": best.status.value == "optimal",
        "gaps": {
            name: [value - optimum if value - optimum > _SAME else 0.0 for value in found]
            for name, found in values.items()
        },
    }
