"""Rows whose true class probabilities are known, and robust fits."""

from typing import NamedTuple

import numpy as np

from dnip.fitting.estimate import Estimator
from dnip.fitting.settings import fit_settings
from dnip.method.problem import Problem


class Rows(NamedTuple):
    """Rows of a made population."""

    probabilities: np.ndarray  # (M, N) what a biased classifier says
    labels: np.ndarray  # (M,)
    posterior: np.ndarray  # (M, N) the truth


def biased_rows(rng, n_rows, *, bias, sharpness=1.0, shares=None, noise=1.0):
    """Rows of a Gaussian population whose log-odds were multiplied and shifted."""
    bias = np.asarray(bias)
    n = len(bias)
    shares = np.full(n, 1 / n) if shares is None else np.asarray(shares)
    labels = rng.choice(n, n_rows, p=shares)
    features = rng.normal(0, noise, (n_rows, n))
    features[np.arange(n_rows), labels] += 1.5
    log_odds = 1.5 * features / noise**2  # equal shares
    return Rows(_softmax(sharpness * log_odds + bias), labels, _softmax(log_odds + np.log(shares)))


def few(pool, per_class, seed=0):
    """As many labelled rows of each class."""
    rng = np.random.default_rng(seed)
    classes = range(pool.posterior.shape[1])
    chosen = [rng.choice(np.flatnonzero(pool.labels == c), per_class, False) for c in classes]
    rows = np.concatenate(chosen)
    return pool.probabilities[rows], pool.labels[rows]


def _softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def solve_robustly(p, labels, objective=None, *, unlabelled=None, sample_weight=None, **settings):
    """Fit labelled rows, and rows without a label if there are any."""
    problem = Problem.of(p, labels, sample_weight=sample_weight)
    rows = np.empty((0, problem.n_classes)) if unlabelled is None else np.asarray(unlabelled)
    asked = fit_settings(objective, **settings)
    return Estimator.of(problem, asked, rows).solve(asked)
