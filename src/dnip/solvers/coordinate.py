"""Coordinate search: exact line searches class by class, from a few starts, then with kicks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dnip.base.typing import Floats
from dnip.base.validation import check_integer, check_number
from dnip.method.scales import Spacing
from dnip.solvers.driver import Solver
from dnip.solvers.landscape import Kicks, Landscape, Proposal, is_over

# Kicks between two looks at the clock; fewer if a descent has many cells to read.
_MOST_KICKS, _CELLS = 32, 4_000_000
# The search ends after so many kicks in a row that lead only to lines that were searched before.
_FRUITLESS = 96
# The span, in nats, of which strengths of kicks are meant.
_USUAL_SPAN = 7.0
# Rows that the second start is made of, at most.
_ROWS = 2_000
# Rows of each class that the search looks at, where there are many times more.
_ROWS_PER_CLASS, _MANY_TIMES = 2_000, 10
# From so many classes on, the local optima are many: the search is so many times longer, as far as
# it does not read more cells in all. Where even the usual one reads ten times more, it is shorter.
_MANY_CLASSES, _LONGEST, _MOST_READ, _TOO_LONG = 9, 20, 200_000_000, 10
# How far the starts of further chains are moved, as a part of the scale.
_FAR = 0.1


@dataclass(frozen=True)
class Coordinate(Solver):
    """Coordinate search with the exact one-pass line search, from two starts, then with kicks.

    The starts are equal weights, and -mean ln p, which makes the classes about equally likely. From
    each, one class after another goes to its best weight, until no class alone can improve: that is
    a local optimum. Then the better one is kicked, which means that its log weights are moved at
    random, and the search starts again from there. A point that is no worse replaces it (iterated
    local search). No line is searched twice.

    From nine classes on, where local optima are many, the search is up to twenty times as long.
    Half of it are four chains from different starts, and the best of them goes on. Of very many
    rows and classes it is shorter.

    Of many rows, a sample of 2,000 of each class is searched so, and the best point is the start of
    a descent on all rows. It ends within .00002 of where the search of all rows ends.

    Parameters
    ----------
    effort : float, default=1.0
        Multiplies the number of line searches: 400 + 40·N, and from nine classes on up to twenty
        times as many, as far as the rows are few enough.
    chains : int, default=4
        From nine classes on, half of a longer search is divided among so many; 1: no search is
        longer.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solve(p, [0, 1, 0, 1], solver=Coordinate(effort=0.1)).terms["error"]
    0.0
    """

    effort: float = 1.0
    chains: int = 4

    name: ClassVar[str] = "coordinate"

    def __post_init__(self) -> None:
        check_number("effort", self.effort, above=0)
        check_integer("chains", self.chains, at_least=1)

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield one local optimum after another."""
        n_classes = landscape.n_classes
        sample = landscape.thinned(_ROWS_PER_CLASS, _MANY_TIMES, rng)
        if sample is not None:
            best = sample.evaluate(sample.equal_weights())
            for proposal in self.search(sample, rng):
                if proposal.value < best.value:
                    best = proposal
                if is_over(landscape.deadline):
                    break
            landscape.evaluations += sample.evaluations
            yield landscape.descend(best.point, rng.permutation(landscape.free))
            return
        usual, length = 400 + 40 * n_classes, 1.0
        if n_classes >= _MANY_CLASSES:
            affordable = _MOST_READ / (usual * landscape.problem.probabilities.size)
            length = min(_TOO_LONG * affordable, 1.0)
            if self.chains > 1:
                length = max(length, min(affordable, _LONGEST))
        enough = int(self.effort * length * usual)
        end = landscape.line_searches + enough

        starts, optima = (landscape.equal_weights(), _equally_likely(landscape)), list[Proposal]()
        for start in starts:
            optima.append(landscape.descend(start, rng.permutation(landscape.free)))
            yield optima[-1]
        chains = [min(optima, key=_value)]
        n_chains = min(int(length), self.chains)
        for chain in range(n_chains if n_chains > 1 else 0):
            here = chains[0]
            if chain:
                moved = starts[1] + _FAR * landscape.scale * rng.standard_normal(n_classes)
                start = np.clip(np.rint(moved), 1, landscape.scale)
                here = landscape.descend(start, rng.permutation(landscape.free))
            until = landscape.line_searches + enough // (2 * n_chains)
            chains.append((yield from _kick(landscape, here, until, rng)))
        yield from _kick(landscape, min(chains, key=_value), end, rng)


def _kick(
    landscape: Landscape, best: Proposal, end: int, rng: np.random.Generator
) -> Generator[Proposal, None, Proposal]:
    """Yield and return where kicks from a local optimum lead, until so many lines are searched."""
    n_kicks = min(max(_CELLS // landscape.problem.probabilities.size, 1), _MOST_KICKS)
    fruitless = 0
    while landscape.line_searches < end and fruitless < _FRUITLESS:
        before = landscape.line_searches
        best = landscape.explore(best, _draw_kicks(landscape, n_kicks, rng), end - before)
        yield best
        fruitless = 0 if landscape.line_searches > before else fruitless + n_kicks
    return best


def _value(proposal: Proposal) -> float:
    return proposal.value


def _equally_likely(landscape: Landscape) -> Floats:
    """Return the point with log-weights of -mean ln p, the largest at the top of the scale.

    A probability counts as no smaller than the scale reaches below the largest of its row.
    """
    problem, levels = landscape.problem, np.log(landscape.levels)
    step = len(problem.labels) // _ROWS + 1
    p, counts = problem.probabilities[::step].astype(np.float64), problem.counts[::step]
    with np.errstate(divide="ignore"):
        below = np.maximum(np.log(p / p.max(axis=1, keepdims=True)), levels[0] - levels[-1])
    mean = np.average(below, axis=0, weights=counts if counts.any() else None)
    above = np.searchsorted(levels[1:-1], levels[-1] + mean.min() - mean)
    return np.asarray(above + 1.0)


def _draw_kicks(landscape: Landscape, size: int, rng: np.random.Generator) -> Kicks:
    """Draw kicks of different strengths that change few, some or all classes.

    Predictions depend on ratios of indices alone, but higher indices express ratios more finely. So
    every other kick also scales the whole vector, and half of these kicks change nothing else.
    """
    n = landscape.n_classes
    strength = np.exp(rng.uniform(np.log(0.03), np.log(0.4), (size, 1)))
    if landscape.span is not None:  # so that p and p^k take the same steps
        strength *= landscape.span / _USUAL_SPAN
    share = rng.choice([2 / n, 0.3, 1.0], (size, 1))
    touched = rng.random((size, n)) < share
    touched[np.arange(size), rng.integers(n, size=size)] = True
    raised = rng.random(size) < 0.5
    touched[raised & (rng.random(size) < 0.5)] = False
    factors = np.exp(np.where(touched, strength * rng.standard_normal((size, n)), 0.0))
    # room for classes to rise, most of it below; weights of a linear scale are closer at its top
    half, quarter = (landscape.scale + 1) // 2, 3 * landscape.scale // 4
    lowest = half if landscape.spacing is Spacing.LINEAR else quarter
    tops = rng.integers(lowest, landscape.scale + 1, size).astype(np.float64) * raised
    orders = rng.permuted(np.tile(landscape.free, (size, 1)), axis=1)
    return Kicks(factors, tops, orders)
