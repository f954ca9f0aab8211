"""The curvature of the smooth estimator's loss, whole and by its products."""

import time

import numpy as np
import pytest

from dnip.fitting.robust import shift
from dnip.fitting.robust.shift import Curvature


def draw(n_rows, n_classes, *, held):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(n_classes), n_rows)
    weighted = rng.uniform(0.5, 2.0, (n_rows, 1)) * q
    scores = rng.normal(size=(n_rows, n_classes))
    apart = scores - (q * scores).sum(axis=1)[:, None]
    return Curvature(
        (weighted * apart**2).sum() + 1.0,
        (weighted * apart).sum(axis=0),
        weighted.sum(axis=0) + 3.0,
        weighted,
        q,
        held=held,
    )


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(5, 40), (60, 20)])
def test_products_solve_what_the_matrix_solves(monkeypatch, n_rows, n_classes, held):
    given = draw(n_rows, n_classes, held=held)
    gradient = np.random.default_rng(1).normal(size=n_classes + 1)
    whole, determinant = given.solve(gradient), given.log_determinant()
    monkeypatch.setattr(shift, "_MOST_CLASSES", 1)
    np.testing.assert_allclose(given.solve(gradient), whole, rtol=1e-6, atol=1e-9)
    assert given.log_determinant() == pytest.approx(determinant, rel=1e-9)
    cut = given.solve(gradient, time.perf_counter())
    assert cut @ gradient > 0
