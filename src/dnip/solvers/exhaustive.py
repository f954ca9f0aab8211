"""Exhaustive search over all weight vectors. Tests compare the other solvers with it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_integer
from dnip.solvers.driver import Solver
from dnip.solvers.landscape import Landscape, Proposal


@dataclass(frozen=True)
class Exhaustive(Solver):
    """Evaluate all K^N weight vectors, by one exact line search for each choice of N - 1 indices.

    Parameters
    ----------
    max_points : int, default=50_000_000
        Refuse problems with more weight vectors than this.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solve(p, [0, 1, 0, 1], scale=10, solver=Exhaustive()).status.value
    'optimal'
    """

    max_points: int = 50_000_000

    name: ClassVar[str] = "exhaustive"
    proves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integer("max_points", self.max_points, at_least=1)

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield the best point of each line."""
        scale = landscape.scale
        *leading, last = landscape.free.tolist()
        n_points = scale ** len(landscape.free)
        if n_points > self.max_points:
            raise InvalidInputError(
                f"exhaustive search would try {scale}^{len(landscape.free)} = {n_points:.3g} "
                f"weight vectors, more than {self.max_points:,}",
                hint="Use the coordinate solver, a smaller scale, or Exhaustive(max_points=...)",
            )
        indices = landscape.equal_weights()
        line = np.array([last], np.int64)
        best = landscape.evaluate(indices)
        for choice in itertools.product(range(1, scale + 1), repeat=len(leading)):
            indices[leading] = choice
            reached = landscape.descend(indices, line)
            best = min(best, reached, key=lambda proposal: proposal.value)
            yield reached
        yield replace(best, lower_bound=best.value)
