"""The objective in plain NumPy, against the objective itself."""

import numpy as np
import pytest

from benchmarks.race.plain_objective import PlainObjective
from dnip import Objective
from strategies import random_confusion


@pytest.mark.parametrize("n_missing", [0, 1])
def test_values_of_many_matrices_are_the_objective_of_each(n_missing):
    rng = np.random.default_rng(2)
    objective = Objective(1.7, 0.3, 2.5)
    first = random_confusion(rng, 4, n_missing)
    sizes = first.sum(axis=1)  # other predictions of the same examples
    matrices = [first, *(rng.multinomial(sizes, np.full(4, 0.25)) for _ in range(10))]
    values = PlainObjective(np.repeat(np.arange(4), sizes), 4, objective)(np.array(matrices))
    assert values == pytest.approx([objective(matrix) for matrix in matrices], abs=1e-12)
