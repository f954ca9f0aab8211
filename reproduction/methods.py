"""What experiments compare: each method reads opt rows and predicts test rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import dnip
from dnip import DNIPError, DNIPWarning, InvalidInputError, Objective, Solution
from dnip.base.typing import Floats, Integers
from dnip.metrics import confusion_matrix, scores
from dnip.solvers.search import PRESETS
from reproduction.linear_adapter import adapt
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
