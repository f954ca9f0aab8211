"""Simulated annealing: Algorithm 1 of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dnip.base.validation import check_integer, check_number
from dnip.solvers.driver import Solver
from dnip.solvers.kernels.annealing import Chain
from dnip.solvers.landscape import Landscape, Proposal


@dataclass(frozen=True)
class Anneal(Solver):
    """The paper's solver, with the paper's schedule.

    A move gives one class another index; both are drawn uniformly. A temperature ends by the number
    of moves that are generated or accepted. The first temperature and α are printed (appendix C).
    Chosen here: temperatures are on the scale of M·Z, the objective in examples, and the last is 20
    at 10,000 examples; a chain ends after λNK moves, or when half of them are accepted, the share
    in the authors' code. Only λ matters: docs/reproduction.md has the figures.

    The trace has an entry for each temperature: ``temperature``, the number of ``generated``,
    ``accepted`` and ``improved`` moves, and their rates.

    Parameters
    ----------
    t_max, t_min : float
        First temperature, and the lowest at which moves are still made.
    cooling : float
        α, the factor between two temperatures, between 0 and 1.
    chain : float, default=3.0
        λ: a temperature ends after λNK moves; the paper says that a chain is often several times
        NK long.
    chain_accepted : float, default=0.5
        A chain also ends when this share of its moves is accepted, to better points or worse.
    examples : int or None, default=10_000
        How many examples `t_min` is meant for: with M examples it is multiplied by M / `examples`.
        None: it is taken as it is.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> first = solve(p, [0, 1, 0, 1], scale=30, solver=Anneal()).trace[1].statistics
    >>> first["temperature"], first["generated"]
    (200000.0, 96)
    """

    t_max: float = 200_000.0
    t_min: float = 20.0
    cooling: float = 0.95
    chain: float = 3.0
    chain_accepted: float = 0.5
    examples: int | None = 10_000

    name: ClassVar[str] = "anneal"

    def __post_init__(self) -> None:
        check_number("chain", self.chain, above=0)
        check_number("chain_accepted", self.chain_accepted, above=0, at_most=1)
        check_number("t_max", self.t_max, above=0)
        check_number("t_min", self.t_min, above=0, at_most=self.t_max)
        check_number("cooling", self.cooling, above=0, below=1)
        if self.examples is not None:
            check_integer("examples", self.examples, at_least=1)

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield the best point of each temperature, and of each part of a long chain."""
        if landscape.scale == 1:
            return
        size = len(landscape.free) * landscape.scale
        last = self.t_min
        rows, n_examples = landscape.rows, landscape.problem.n_examples
        if self.examples is not None:
            last *= n_examples / self.examples
        here = landscape.evaluate(np.full(landscape.n_classes, landscape.scale))  # INIT
        temperature = self.t_max
        while temperature >= last:
            chain = Chain(here.point, here.value)
            generated, most = 0, math.ceil(self.chain * size)
            enough = math.ceil(self.chain_accepted * most)
            # the class that moves; where it goes, of its K - 1 other indices; and a number in
            # [0, 1): a worse point is accepted if its probability is above
            classes = rng.choice(landscape.free, most)
            others = rng.integers(1, landscape.scale, most)
            chances = rng.random(most)
            while generated < most and chain.accepted < enough:
                if generated:
                    yield Proposal(chain.best, chain.best_value)
                some = slice(generated, generated + landscape.most_lines)
                moves = classes[some], others[some], chances[some]
                values = landscape.values
                made = chain.walk(rows, values, *moves, n_examples, temperature, enough)
                landscape.evaluations += made
                generated += made
            accepted, improved = chain.accepted, chain.improved
            yield Proposal(
                chain.best,
                chain.best_value,
                {
                    "temperature": temperature,
                    "generated": generated,
                    "accepted": accepted,
                    "improved": improved,
                    "acceptance_rate": accepted / generated,
                    "improvement_rate": improved / generated,
                },
            )
            here = Proposal(chain.point, chain.value)
            temperature *= self.cooling
