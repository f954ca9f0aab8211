"""The methods that are compared, and the settings that they are given."""

import numpy as np
import pytest

from dnip import InvalidInputError, ProbabilityTable
from dnip.studies.reproduction.methods import choose_on_dev, cut


def test_settings_are_not_chosen_on_rows_of_one_class():
    labels = np.arange(20) % 4
    pool = ProbabilityTable(np.full((20, 4), 0.25), labels, source="few.csv")
    grid = {"beta": [2.7], "tau": [0.0], "scale": [30], "smoothing": [1.0]}
    with pytest.raises(InvalidInputError, match=r"few.csv: 1 of 20 rows are dev.*dev_share"):
        choose_on_dev("optimum", *cut(pool, 0.05), grid, seed=0)
    settings, _ = choose_on_dev("optimum", *cut(pool, 0.2), grid, seed=0)
    assert settings["beta"] == 2.7
