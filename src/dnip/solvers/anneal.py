"""Simulated annealing: Algorithm 1 of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_integer, check_number
from dnip.solvers.driver import Proposal, Solver

if TYPE_CHECKING:
    from dnip.base.typing import Floats
    from dnip.solvers.landscape import Landscape


@dataclass(frozen=True)
class Anneal(Solver):
    """The published solver; the defaults are the published schedule.

    Temperatures are on the scale of M·Z, the objective in examples, as in the authors' code. A move
    gives one class another index; both are drawn uniformly. The trace has one entry per
    temperature: ``temperature``, the number of ``generated``, ``accepted`` and ``improved`` moves,
    and their rates.

    Parameters
    ----------
    t_max, t_min : float
        First temperature, and the lowest at which moves are still made.
    cooling : float
        α, the factor between two temperatures, between 0 and 1.
    max_generated, max_accepted : int
        A temperature ends when one of these numbers of moves is reached. As in the authors' code,
        an accepted move to a worse point does not count toward `max_accepted`.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solution = solve(p, [0, 1, 0, 1], solver=Anneal())
    >>> solution.trace[1].statistics["temperature"]
    200000.0
    """

    t_max: float = 200_000.0
    t_min: float = 200.0
    cooling: float = 0.95
    max_generated: int = 6
    max_accepted: int = 3

    name: ClassVar[str] = "anneal"

    def __post_init__(self) -> None:
        check_number("t_max", self.t_max, above=0)
        check_number("t_min", self.t_min, above=0, at_most=self.t_max)
        check_number("cooling", self.cooling, above=0)
        if self.cooling >= 1:
            raise InvalidInputError(f"cooling must be below 1; got {self.cooling!r}")
        check_integer("max_generated", self.max_generated, at_least=1)
        check_integer("max_accepted", self.max_accepted, at_least=1)

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield the best point of each temperature."""
        if landscape.scale == 1:
            return
        n_examples = landscape.problem.n_examples
        here = landscape.stand(np.full(landscape.n_classes, landscape.scale))  # INIT
        temperature = self.t_max
        while temperature >= self.t_min:
            best = here
            generated = accepted = no_worse = improved = 0
            while generated < self.max_generated and no_worse < self.max_accepted:
                generated += 1
                new = landscape.stand(_perturb(here.point, landscape, rng))
                delta = n_examples * (new.value - here.value)
                # the appendix's sign; the listing prints exp(Δz/T), which accepts everything
                if delta <= 0 or rng.random() < math.exp(-delta / temperature):
                    accepted += 1
                    no_worse += delta <= 0
                    improved += delta < 0
                    here = new
                    if here.value < best.value:
                        best = here
            yield Proposal(
                best.point,
                best.value,
                {
                    "temperature": temperature,
                    "generated": generated,
                    "accepted": accepted,
                    "improved": improved,
                    "acceptance_rate": accepted / generated,
                    "improvement_rate": improved / generated,
                },
            )
            temperature *= self.cooling


def _perturb(indices: Floats, landscape: Landscape, rng: np.random.Generator) -> Floats:
    """PERTURB: one free class at random goes to one of its K - 1 other indices at random."""
    new = indices.copy()
    c = rng.choice(landscape.free)
    index = rng.integers(1, landscape.scale)
    new[c] = index + (index >= indices[c])
    return new
