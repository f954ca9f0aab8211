"""The moves of the authors' public code of a later paper: six at a temperature, or three."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dnip.solvers import Landscape, Proposal, Solver

# Moves at one temperature, and moves to no worse point.
_MOST_GENERATED, _MOST_NO_WORSE = 6, 3


@dataclass(frozen=True)
class AuthorsAnneal(Solver):
    """Simulated annealing on the scale of M·Z, move by move, from T = 200,000 down to 200.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> first = solve(p, [0, 1, 0, 1], scale=30, solver=AuthorsAnneal()).trace[1].statistics
    >>> first["temperature"], first["generated"]
    (200000.0, 3)
    """

    t_max: float = 200_000.0
    t_min: float = 200.0
    cooling: float = 0.95

    name: ClassVar[str] = "authors"

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield the best point of each temperature."""
        here = best = landscape.evaluate(landscape.equal_weights())
        temperature = self.t_max
        while temperature >= self.t_min and landscape.scale > 1:
            generated = no_worse = accepted = improved = 0
            best = here
            while generated < _MOST_GENERATED and no_worse < _MOST_NO_WORSE:
                generated += 1
                point = here.point.copy()
                c, other = int(rng.choice(landscape.free)), int(rng.integers(1, landscape.scale))
                point[c] = other + (other >= point[c])
                there = landscape.evaluate(point)
                delta = landscape.problem.n_examples * (there.value - here.value)
                # the appendix's sign; the listing prints exp(Δz/T), which accepts everything
                if delta <= 0 or rng.random() < math.exp(-delta / temperature):
                    no_worse += delta <= 0
                    accepted += 1
                    improved += there.value < here.value
                    here = there
                    best = min(best, here, key=lambda proposal: proposal.value)
            counts = {"generated": generated, "accepted": accepted, "improved": improved}
            yield Proposal(best.point, best.value, {"temperature": temperature, **counts})
            temperature *= self.cooling
