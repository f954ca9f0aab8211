import numpy as np
import pytest

from dnip.tables import ProbabilityTable


@pytest.fixture
def assert_same():
    """Compare two tables exactly, all but their sources."""

    def compare(first, second):
        np.testing.assert_array_equal(first.probabilities, second.probabilities)
        for name in ("labels", "ids"):
            ours, theirs = getattr(first, name), getattr(second, name)
            assert (ours is None) == (theirs is None), name
            if ours is not None:
                np.testing.assert_array_equal(ours, theirs)
        assert first.classes == second.classes
        assert first.data_hash == second.data_hash

    return compare


@pytest.fixture
def table():
    """A table with everything: names, ids, and some unlabelled rows."""
    rng = np.random.default_rng(0)
    p, labels = rng.dirichlet(np.ones(3), size=40), rng.integers(-1, 3, size=40)
    ids = np.array([f"row {i}" for i in range(40)])
    return ProbabilityTable(p, labels, ids, ("bad", "so, so", 'go"od'))
