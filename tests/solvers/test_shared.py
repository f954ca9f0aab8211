"""An opt set in shares: the same search as on all rows, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnip.base.errors import InvalidInputError
from dnip.solvers import (
    PackedFlips,
    SearchSettings,
    ShareCounts,
    SharedProblem,
    StreamedProblem,
    find_optimum,
)
from dnip.solvers.levels import levels_of
from dnip.solvers.passes import passes_over


class LocalShares:
    """Shares that lie in this process after all."""

    def __init__(self, p, labels, classes, scale, of):
        self._problems = [
            StreamedProblem(
                [(p[i::of], labels[i::of])], classes, scale=scale, memory=10**9, whole=False
            )
            for i in range(of)
        ]
        self._passes = [passes_over(problem, levels_of(scale)) for problem in self._problems]

    def measure(self):
        return [
            ShareCounts(int(each.n_examples), each.class_mass, each.n_open)
            for each in self._problems
        ]

    def count(self, indices):
        return [each.count(indices) for each in self._passes]

    def find_flips(self, indices, c):
        return [PackedFlips.of(each.find_flips(indices, c), len(indices)) for each in self._passes]


def rows_of(n_classes, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    p = rng.dirichlet(np.full(n_classes, 0.5), n_rows)
    p[np.arange(n_rows), labels] += 0.3
    return p / p.sum(axis=1, keepdims=True), labels


# Many rows are tallied, few are sorted; with many classes rows are lists of candidates.
@pytest.mark.parametrize(
    ("n_classes", "n_rows", "scale"), [(3, 900, 30), (4, 2000, "log:1000"), (30, 400, "log:1000")]
)
def test_a_search_over_shares_is_that_over_all_rows(n_classes, n_rows, scale):
    p, labels = rows_of(n_classes, n_rows)
    classes = [str(c) for c in range(n_classes)]
    settings = SearchSettings(scale=scale, solver="coordinate", seed=1)
    shares = LocalShares(p, labels, classes, scale, of=3)
    with StreamedProblem([(p, labels)], classes, scale=scale, memory=10**9) as whole:
        expected = find_optimum(whole, settings, began=0.0)
    found = find_optimum(SharedProblem(shares, classes, scale=scale), settings, began=0.0)
    assert (found.weight_indices == expected.weight_indices).all()
    assert (found.value, found.evaluations) == (expected.value, expected.evaluations)
    assert (found.confusion == expected.confusion).all()


def test_one_share_may_lack_a_class_but_not_all_of_them():
    p, labels = rows_of(2, 40)
    shares = LocalShares(p, np.sort(labels), ["a", "b"], 30, of=1)
    assert SharedProblem(shares, ["a", "b"], scale=30).n_examples == 40
    with pytest.raises(InvalidInputError, match="class"):
        SharedProblem(LocalShares(p, labels * 0, ["a", "b"], 30, of=2), ["a", "b"], scale=30)


def packed(mass):
    """Flips whose mass in each cell a dictionary holds."""
    cells = sorted(mass)
    return PackedFlips(
        np.diff(np.array(cells, np.int64), prepend=0), np.array([mass[c] for c in cells], np.int64)
    )


# Flips in near cells are tallied, others are sorted.
@pytest.mark.parametrize("n_cells", [30, 10_000])
@given(data=st.data())
def test_sums_of_flips_are_those_of_numpy(n_cells, data):
    cells = st.dictionaries(st.integers(1, n_cells - 1), st.integers(1, 300), max_size=20)
    parts = data.draw(st.lists(cells, min_size=1, max_size=5))
    expected = np.zeros(n_cells, np.int64)
    for part in parts:
        np.add.at(expected, list(part), list(part.values()))
    total = PackedFlips.sum([packed(part) for part in parts])
    assert total.cells.tolist() == np.flatnonzero(expected).tolist()
    assert total.mass.tolist() == expected[total.cells].tolist()
