"""Which tables may not be fitted or scored together."""

import numpy as np
import pytest

from dnip.base.errors import InvalidInputError
from dnip.tables import ProbabilityTable
from dnip.tables.guards import check_disjoint


def table(seed=0, **parts):
    p = np.random.default_rng(seed).dirichlet(np.ones(2), 3)
    return ProbabilityTable(p, **{"source": f"t{seed}.csv", **parts})


def test_content_free_rows_may_have_the_same_ids():
    check_disjoint(
        table(ids=["content-free-0", "b", "c"]), table(1, ids=["content-free-0", "d", "e"])
    )


def test_the_same_rows_with_other_labels_are_the_same_rows():
    with pytest.raises(InvalidInputError, match=r"t0.csv and copy.csv hold the same rows"):
        check_disjoint(table(labels=[0, 1, 0]), table(labels=[1, 1, 0], source="copy.csv"))
