"""The paper's linear adapter: two linear layers, trained toward a smooth twin of the objective."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dnip import Objective
from dnip.base.typing import Floats
from reproduction.probabilities import Rows

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
