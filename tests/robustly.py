"""Robust fits of arrays, as tests give them."""

import numpy as np

from dnip.fitting.robust import fit_robustly
from dnip.fitting.settings import FitSettings
from dnip.method.problem import Problem


def solve_robustly(
    p, labels, objective=None, *, unlabelled=None, sample_weight=None, progress=None, **settings
):
    """Fit labelled rows, and rows without a label if there are any."""
    problem = Problem.of(p, labels, sample_weight=sample_weight)
    rows = np.empty((0, problem.n_classes)) if unlabelled is None else np.asarray(unlabelled)
    return fit_robustly(problem, FitSettings(objective, **settings), rows, progress=progress)
