"""What experiments compare: each method reads opt rows and predicts test rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

import dnip
from dnip import DNIPError, DNIPWarning, InvalidInputError, Objective, Solution
from dnip.base.typing import Floats, Integers
from dnip.metrics import confusion_matrix, scores
from dnip.solvers import Landscape, Proposal, Solver
from dnip.solvers.search import PRESETS
from reproduction.probabilities import Cell, Rows

RAW, DNIP, PUBLISHED, FIT = "raw", "DNIP", "published settings", "dnip fit"
FOLLOWED, BATCH, ADAPTER = "dnip fit, where it says apply", "batch calibration", "linear adapter"

#: β = 2.7, τ = 0.2, K = 30 as printed; μ = 4000 as in the authors' later code.
PAPER = Objective(2.7, 0.2, 4000.0)
SCALE = 30
# What is chosen on dev. The paper prints no grid. Without the PMI term μ changes nothing.
BETAS, TAUS, SMOOTHINGS, SCALES = (0.5, 2.7, 10.0), (0.0, 0.2), (4000.0, 1.0), (30, 100, 300)
# COBias within two points of the lowest is similar; then accuracy decides (section 5.5).
SIMILAR = 0.02
# 5 % of the 10,000 rows of the paper are dev; so few of a small pool would be none of some classes.
LARGE, DEV_SHARE, DEV_SHARE_OF_FEW = 4000, 0.05, 0.2


class Found(NamedTuple):
    """Predictions (M,) of the test rows by one method, and what else is told of it."""

    method: str
    predicted: Integers
    notes: dict[str, Any]


@contextmanager
def naming(cell: Cell) -> Iterator[None]:
    """Keep back warnings of small classes, and name the cell in an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        try:
            yield
        except DNIPError as error:
            where = f"{cell.task}, {cell.shots} shots, seed {cell.seed}"
            raise InvalidInputError(f"{where}: {error.message}", hint=error.hint) from error


def decide(p: Floats, weights: Floats | Integers | float = 1.0) -> Integers:
    """Return the class of the highest weighted probability; a tie goes to the first."""
    return np.asarray((p * weights).argmax(axis=1))


def anneal(rows: Rows, seed: int, objective: Objective = PAPER, scale: int = SCALE) -> Solution:
    """Minimise an objective by the paper's annealing."""
    solver = PRESETS["paper"].solver
    return dnip.solve(rows.p, rows.y, objective, scale=scale, solver=solver, seed=seed)


def divide(rows: Rows) -> tuple[Rows, Rows]:
    """Return opt and dev, in which every class has the same shares."""
    share = DEV_SHARE if len(rows.y) >= 0.95 * LARGE else DEV_SHARE_OF_FEW
    rng, position = np.random.default_rng(0), np.empty(len(rows.y))
    for c in np.unique(rows.y):  # its rows are spread evenly from 0 to 1
        of_class = np.flatnonzero(rows.y == c)
        places = np.arange(len(of_class)) + rng.random()
        position[rng.permutation(of_class)] = places / len(of_class)
    n_opt = math.floor((1 - share) * len(rows.y) + 0.5)
    parts = np.split(np.argsort(position, kind="stable"), [n_opt])
    opt, dev = map(np.sort, parts)
    return take(rows, opt), take(rows, dev)


def take(rows: Rows, chosen: Integers) -> Rows:
    """Return some of the rows."""
    return Rows(rows.p[chosen], *(part[chosen] for part in rows[1:]))


def tuned(rows: Rows, seed: int) -> tuple[Solution, str]:
    """Return DNIP as in the paper: annealing, with β, τ, μ and then K chosen on dev.

    The lowest COBias on dev comes first; among settings within two points of it, the highest
    accuracy. K is chosen last, for the β, τ and μ that are best at K = 30.
    """
    opt, dev = divide(rows)

    def best(settings: list[tuple[Objective, int]]) -> tuple[Solution, Objective, int]:
        tried = []
        for objective, scale in settings:
            found = anneal(opt, seed, objective, scale)
            counts = confusion_matrix(dev.y, decide(dev.p, found.weight_indices), dev.p.shape[1])
            score = scores(counts, with_counts=False)
            tried.append((score["cobias"], -score["accuracy"], (found, objective, scale)))
        lowest = min(cobias for cobias, *_ in tried)
        near = [one for one in tried if one[0] <= lowest + SIMILAR]
        return min(near, key=lambda one: one[:2][::-1])[2]

    objectives = [
        Objective(beta, tau, mu)
        for beta, tau, mu in product(BETAS, TAUS, SMOOTHINGS)
        if tau or mu == SMOOTHINGS[0]
    ]
    _, objective, _ = best([(one, SCALES[0]) for one in objectives])
    found, objective, scale = best([(objective, scale) for scale in SCALES])
    mu = f", μ = {objective.smoothing:g}" if objective.tau else ""
    return found, f"β = {objective.beta:g}, τ = {objective.tau:g}{mu}, K = {scale}"


def debias(cell: Cell) -> list[Found]:
    """Predict the test rows by every method; all read the same labelled rows."""
    opt, test, seed = cell.opt, cell.test, cell.seed
    with naming(cell):
        dnip_found, chosen = tuned(opt, seed)
        published = anneal(opt, seed)
        fit = dnip.fit(opt.p, opt.y, seed=seed)
        adapted = adapt(opt, PAPER, seed)
    none, fitted = np.ones(test.p.shape[1]), fit.coefficients.weights
    weights = {
        RAW: (none, ""),
        DNIP: (dnip_found.weight_indices, chosen),
        PUBLISHED: (published.weight_indices, ""),
        FIT: (fitted, fit.verdict),
        FOLLOWED: (fitted if fit.verdict == "apply" else none, fit.verdict),
        BATCH: (1 / test.p.mean(axis=0), ""),
    }
    found = []
    for name, (w, told) in weights.items():
        weighted = test.p * w
        of_true = weighted[np.arange(len(test.y)), test.y] / weighted.sum(axis=1)
        notes = {"settings": told, "weights": (w / np.max(w)).tolist(), "of_true": of_true}
        found.append(Found(name, decide(test.p, w), notes))
    return [*found, Found(ADAPTER, decide(adapted(test.p)), {})]


# --- the moves of the authors' public code of a later paper: six at a temperature, or three ---
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


# --- the paper's linear adapter: two layers, trained toward a smooth twin of the objective ---
#: Of the layer between (section 5.4).
WIDTH = 64
# Adam's step and decays, and when training ends; none of it is printed.
RATE, DECAYS, STEPS, PATIENCE, LEAST_GAIN = 0.01, (0.9, 0.999), 2000, 100, 1e-6
# Every so-manieth row is watched, and not trained on.
WATCHED = 5


def adapt(rows: Rows, objective: Objective, seed: int) -> Callable[[Floats], Floats]:
    """Train on rows and return the function that gives scores (M, N) of probabilities (M, N).

    Input, width and objective are printed in the paper. The rest is chosen: the layers stand beside
    a skip connection, ln p + p·A + b, and start as none, so that training starts from the raw
    argmax; each row counts toward every class as far as the softmax of its scores says so; Adam
    trains on all rows at once, and what counts is the lowest objective of a fifth of them.
    """
    n = rows.p.shape[1]
    rng = np.random.default_rng(seed)
    watched = np.zeros(len(rows.y), bool)
    watched[rng.permutation(len(rows.y))[::WATCHED]] = True
    if set(rows.y[watched]) != set(rows.y) or set(rows.y[~watched]) != set(rows.y):
        watched[:] = True  # some class has too few rows to be in both
    trained = ~watched | watched.all()
    own, own_y = rows.p[trained], rows.y[trained]
    shapes = [(n, WIDTH), (WIDTH,), (WIDTH, n), (n,)]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    weights = np.zeros(ends[-1] + n)
    weights[: ends[0]] = rng.uniform(-(n**-0.5), n**-0.5, ends[0])
    mean, square = np.zeros((2, len(weights)))
    lowest, waited, kept = np.inf, 0, (np.zeros((n, n)), np.zeros(n))
    for step in range(1, STEPS + 1):
        parts = zip(np.split(weights, ends), shapes, strict=True)
        first, first_bias, second, second_bias = (part.reshape(shape) for part, shape in parts)
        matrix, bias = first @ second, first_bias @ second + second_bias
        value, _ = smooth(rows.p[watched], rows.y[watched], matrix, bias, objective)
        if value < lowest - LEAST_GAIN:
            lowest, waited, kept = value, 0, (matrix, bias)
        waited += 1
        if waited > PATIENCE:
            break
        _, slope = smooth(own, own_y, matrix, bias, objective)
        to_matrix, to_bias = own.T @ slope, slope.sum(axis=0)
        to_second = first.T @ to_matrix + np.outer(first_bias, to_bias)
        to_all = to_matrix @ second.T, second @ to_bias, to_second, to_bias
        g = np.concatenate([one.ravel() for one in to_all])
        mean = DECAYS[0] * mean + (1 - DECAYS[0]) * g
        square = DECAYS[1] * square + (1 - DECAYS[1]) * g**2
        rate = RATE * np.sqrt(1 - DECAYS[1] ** step) / (1 - DECAYS[0] ** step)
        weights = weights - rate * mean / (np.sqrt(square) + 1e-8)
    return lambda p: np.asarray(_log(p) + p @ kept[0] + kept[1])


def smooth(
    p: Floats, y: np.ndarray, matrix: Floats, bias: Floats, objective: Objective
) -> tuple[float, Floats]:
    """Return Z of soft confusion counts, and its slope by the scores (M, N).

    Of whole counts it is Z itself.
    """
    scores = _log(p) + p @ matrix + bias
    soft = np.exp(scores - scores.max(axis=1, keepdims=True))
    soft /= soft.sum(axis=1, keepdims=True)
    total, n = soft.shape
    counts = np.zeros((n, n))
    np.add.at(counts, y, soft)
    true, predicted, right = counts.sum(axis=1), counts.sum(axis=0), counts.diagonal()
    here = np.flatnonzero(true)
    rates = right[here] / true[here]
    ranks = 2 * np.argsort(np.argsort(rates)) - len(here) + 1
    pairs = len(here) * (len(here) - 1) / 2
    mu = float(objective.smoothing or 0.4 * total)
    joint = (right + mu) / (total + mu * n**2)
    chance = (predicted + mu) * (true + mu) / (total + mu * n) ** 2
    value = 1 - right.sum() / total + objective.beta * (ranks @ rates) / pairs
    value -= objective.tau * np.log(joint / chance).sum()
    slope = np.tile(objective.tau / (predicted + mu), (n, 1))  # ∂Z/∂counts
    of_right = np.full(n, -1 / total) - objective.tau / (right + mu)
    of_right[here] += objective.beta * ranks / (pairs * true[here])
    slope[np.diag_indices(n)] += of_right
    of_row = slope[y]
    return float(value), soft * (of_row - (soft * of_row).sum(axis=1, keepdims=True))


def _log(p: Floats) -> Floats:
    return np.log(np.maximum(p, 1e-30))
