"""The search of a front: sweep the weights of the terms, visit neighbours, fill the gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dnip.solvers.kernels.fronts import Scalarisation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.base.typing import Floats, Integers
    from dnip.fitting.pareto.explorer import Explorer

#: β of the sweep between error alone and COBias alone.
BETAS: tuple[float, ...] = tuple(float(2.0**power) for power in range(-5, 6))
#: τ of the sweep; each has a sweep of β of its own.
TAUS = (0.0, 0.05, 0.2, 1.0)

# What a Tchebycheff goal adds of the plain sum, so that no point is as good as one that beats it.
_AUGMENTED = 0.05
# Kicks between two looks around.
_KICKS = 8
# Part of the kicks that go beyond each end of the front, and what they minimise there: the other
# term only decides between equals.
_AT_ENDS = 0.1
_ENDS = (Scalarisation(1e-4, 1.0), Scalarisation(1.0, 1e-4))


@dataclass(frozen=True)
class Origin:
    """Where the search that found a point began.

    Attributes
    ----------
    start : {"raw argmax", "default optimum", "enumeration", "sweep"}
        The plain argmax, the optimum of the default objective, all weight indices, or the sweep.
    error, beta, tau : float or None
        Of a sweep: the weights of error, COBias and PMI that its descent minimised.
    """

    start: str
    error: float | None = None
    beta: float | None = None
    tau: float | None = None


def sweep_settings() -> list[Origin]:
    """Return the settings of the sweep: for each τ from error alone to COBias alone."""
    return [
        Origin("sweep", error, beta, tau)
        for tau in TAUS
        for error, beta in ((1.0, 0.0), *((1.0, beta) for beta in BETAS), (0.0, 1.0))
    ]


def sweep(explorer: Explorer, origins: list[Origin], rng: np.random.Generator) -> Iterator[None]:
    """Descend under all settings, there and back, each from where its neighbour ended."""
    chains: dict[float | None, list[int]] = {}
    for number, origin in enumerate(origins):
        if origin.start == "sweep":
            chains.setdefault(origin.tau, []).append(number)
    for chain in chains.values():
        here = explorer.equal_weights()
        for number in (*chain, *reversed(chain)):
            origin = origins[number]
            assert origin.error is not None
            assert origin.beta is not None
            assert origin.tau is not None
            goal = Scalarisation(origin.error, origin.beta, origin.tau)
            explorer.descend(here, goal, rng.permutation(explorer.free), number)
            yield


def fill(explorer: Explorer, rng: np.random.Generator) -> Iterator[None]:
    """Look around the points of the front, then kick from them, and so on without end.

    Points beside wide gaps come first. A kicked point descends into the gap, toward the corner
    that both points beside the gap span (augmented Tchebycheff). So it also finds points that
    are the best of no weighted sum.
    """
    enough = explorer.n_lines
    while True:
        yield from look_around(explorer, explorer.n_lines + max(enough, len(explorer.free)))
        before = explorer.n_lines
        front = explorer.front()
        for place in rng.choice(len(front) + 1, _KICKS, p=_shares(explorer, front)).tolist():
            beside = front[max(place - 1, 0) : place + 1].tolist()
            parent = int(rng.choice(beside))
            here = kicked(explorer, parent, rng)
            goal = into_gap(explorer, *beside) if len(beside) == 2 else _ENDS[int(place > 0)]
            explorer.descend(here, goal, rng.permutation(explorer.free), explorer.origin(parent))
            yield
        enough = explorer.n_lines - before


def look_around(explorer: Explorer, enough: float = np.inf) -> Iterator[None]:
    """Visit all lines through all points of the front until every point was looked around.

    It stops after `enough` lines in all.
    """
    while explorer.n_lines < enough:
        front = explorer.front()
        unseen = explorer.unseen(front)
        if not unseen.any():
            return
        room = gaps(explorer, front)
        beside = np.maximum(np.append(room, 0.0), np.append(0.0, room))
        waiting = np.flatnonzero(unseen)
        for place in waiting[np.argsort(-beside[waiting], kind="stable")].tolist():
            explorer.look(int(front[place]))
            yield
            if explorer.n_lines >= enough:
                return


def _shares(explorer: Explorer, front: Integers) -> Floats:
    """Return how often to kick beyond the low end, into each gap, and beyond the high end."""
    room = gaps(explorer, front)
    inside = 1 - 2 * _AT_ENDS if len(room) else 0.0
    even = np.full(len(room), 1 / max(len(room), 1))
    share = inside * (even + (room / room.sum() if room.sum() > 0 else even)) / 2
    ends = (1 - inside) / 2
    return np.concatenate([[ends], share, [ends]])


def gaps(explorer: Explorer, front: Integers) -> Floats:
    """Return the area of the rectangle between any two neighbours of a front."""
    accuracy, cobias = explorer.accuracy(front), explorer.cobias(front)
    return np.asarray(np.diff(accuracy) * np.diff(cobias))


def into_gap(explorer: Explorer, low: int, high: int) -> Scalarisation:
    """Return the goal of a gap, its corner: the accuracy of one point, the COBias of the other."""
    error = 1 - explorer.accuracy(np.array([high, low]))
    cobias = explorer.cobias(np.array([low, high]))
    width = max(float(error[1] - error[0]), 1 / explorer.total)
    height = max(float(cobias[1] - cobias[0]), 1 / explorer.total)
    return Scalarisation(
        _AUGMENTED / width,
        _AUGMENTED / height,
        0.0,
        1 / width,
        1 / height,
        float(error[0]),
        float(cobias[0]),
    )


def kicked(explorer: Explorer, cell: int, rng: np.random.Generator) -> Floats:
    """Return a point shifted in some or all log weights, and along its ray.

    Predictions depend on ratios alone, but a higher vector resolves them more finely.
    """
    levels, free = explorer.scale.levels, explorer.free
    weights = levels[explorer.indices(cell) - 1]
    strength = np.exp(rng.uniform(np.log(0.03), np.log(0.4)))
    touched = rng.random(len(weights)) < rng.choice([2 / len(weights), 0.3, 1.0])
    touched[rng.choice(free)] = True
    weights *= np.exp(np.where(touched, strength * rng.standard_normal(len(weights)), 0.0))
    if rng.random() < 0.5:
        top = levels[rng.integers((len(levels) + 1) // 2, len(levels) + 1) - 1]
        weights *= top / weights[free].max()
    nearest = np.searchsorted(np.sqrt(levels[1:] * levels[:-1]), weights) + 1
    return explorer.hold(nearest)
