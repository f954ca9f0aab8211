"""pycma: CMA-ES over log weights, restarted with growing populations."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.optional import load_optional

if TYPE_CHECKING:
    from dnip.studies.benchmarking.arena import Arena

# Log weights lie within ln K of one another: a start of about a quarter of that for K = 30.
_STEP = 0.8
# Each restart doubles the population (IPOP), up to this many times.
_MOST_DOUBLINGS = 6


def search(arena: Arena, seed: int) -> None:
    """Evolve log weights, first from the raw argmax, then from anywhere; the largest becomes K."""
    cma = load_optional("cma", purpose="run pycma", extra="bench")
    rng = np.random.default_rng(seed)
    n = arena.n_classes
    start = np.zeros(n)
    arena.value(arena.start)
    for restart in itertools.count():
        size = int(4 + 3 * np.log(n)) * 2 ** min(restart, _MOST_DOUBLINGS)
        settings = {"popsize": size, "verbose": -9, "verb_log": 0}
        own_seed = int(rng.integers(1, 2**31))  # 0 would be taken from the clock
        evolution = cma.CMAEvolutionStrategy(start, _STEP, {**settings, "seed": own_seed})
        while not evolution.stop():
            points = np.array(evolution.ask())
            weights = np.exp(points - points.max(axis=1, keepdims=True))
            indices = np.clip(np.rint(arena.scale * weights), 1, arena.scale)
            evolution.tell(list(points), list(arena.values(indices)))
        start = rng.uniform(-np.log(arena.scale), 0.0, n)
