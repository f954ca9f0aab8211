"""scipy: differential evolution over whole numbers, and dual annealing over rounded ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.base.optional import load_optional

if TYPE_CHECKING:
    from benchmarks.race.arena import Arena
    from dnip.base.typing import Floats

_ENDLESS = 10**9


def differential_evolution(arena: Arena, seed: int) -> None:
    """Evolve a population of weight indices, one whole generation at a time."""
    optimize = load_optional("scipy.optimize", purpose="run scipy", extra="bench")

    def generation(population: Floats) -> Floats:
        # (N, S), one candidate per column; one alone where scipy tries the function
        return arena.values(np.atleast_2d(population.T))

    optimize.differential_evolution(
        generation,
        [(1, arena.scale)] * arena.n_classes,
        integrality=np.ones(arena.n_classes, bool),
        vectorized=True,
        updating="deferred",
        polish=False,
        maxiter=_ENDLESS,
        x0=arena.start,
        rng=np.random.default_rng(seed),
    )


def dual_annealing(arena: Arena, seed: int) -> None:
    """Anneal real numbers that are rounded; without local search, which needs slopes."""
    optimize = load_optional("scipy.optimize", purpose="run scipy", extra="bench")

    def value(point: Floats) -> float:
        return arena.value(np.clip(np.rint(point), 1, arena.scale))

    optimize.dual_annealing(
        value,
        [(0.5, arena.scale + 0.5)] * arena.n_classes,
        no_local_search=True,
        maxiter=_ENDLESS,
        maxfun=_ENDLESS,
        x0=arena.start.astype(float),
        rng=np.random.default_rng(seed),
    )
