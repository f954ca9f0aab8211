"""Coordinate search: exact line searches class by class, from many starts, then kicked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dnip.solvers.driver import Proposal
from dnip.validation import check_number

if TYPE_CHECKING:
    from dnip.solvers.landscape import Landscape, Position
    from dnip.typing import Floats


@dataclass(frozen=True)
class Coordinate:
    """Multi-start coordinate search with the exact one-pass line search.

    Each start is searched class by class until no class can improve by itself. The best local
    optimum is then kicked, in log weights, and searched again; what is no worse takes its place
    (iterated local search). The number of line searches grows linearly with the classes.

    Parameters
    ----------
    effort : float, default=1.0
        Multiplies the number of line searches, 600 + 100·N (fewer where N = 2).

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solve(p, [0, 1, 0, 1], solver=Coordinate(effort=0.1)).terms["error"]
    0.0
    """

    effort: float = 1.0

    name: ClassVar[str] = "coordinate"
    proves_optimality: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("effort", self.effort, above=0)

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield one local optimum after another."""
        n_free, scale = len(landscape.free), landscape.scale
        n_lines = scale ** (n_free - 1)  # a space of few lines needs few searches
        n_searches = max(1, int(self.effort * min(600 + 100 * n_free, 10 * n_lines)))
        n_starts = min(max(80 // n_free, 4), 20)

        best: Position | None = None
        done = 0
        start: Floats = np.full(landscape.n_classes, float(scale))
        for n_tried in range(n_searches):
            position = landscape.stand(start)
            done += _descend(landscape, position, rng)
            yield Proposal(position.indices, position.value)
            if best is None or position.value <= best.value:
                best = position
            if done >= n_searches:
                return
            if n_tried < n_starts:
                start = rng.integers(1, scale + 1, landscape.n_classes).astype(np.float64)
            else:
                start = _kick(best.indices, scale, rng)


def _descend(landscape: Landscape, position: Position, rng: np.random.Generator) -> int:
    """Search class after class until a whole round moves none; return the line searches."""
    order = rng.permutation(landscape.free).tolist()
    unmoved = 0
    done = 0
    while unmoved < len(order):
        moved = landscape.line_search(position, order[done % len(order)])
        done += 1
        unmoved = 1 if moved else unmoved + 1
    return done


def _kick(indices: Floats, scale: int, rng: np.random.Generator) -> Floats:
    """Shift some or all log weights a little, and every other time the whole vector's height.

    Predictions depend on ratios of indices alone, but a higher vector resolves them more finely:
    moving along the ray of one solution opens ratios that its own height cannot express.
    """
    n = len(indices)
    share = rng.choice([2 / n, 0.3, 1.0])
    size = np.exp(rng.uniform(np.log(0.05), np.log(0.5)))
    chosen = rng.random(n) < share
    chosen[rng.integers(n)] = True
    log_weights = np.log(indices) + np.where(chosen, rng.normal(0.0, size, n), 0.0)
    if rng.random() < 0.5:
        top = rng.integers((scale + 1) // 2, scale + 1)
        log_weights += np.log(top) - log_weights.max()
    return np.asarray(np.clip(np.rint(np.exp(log_weights)), 1, scale))
