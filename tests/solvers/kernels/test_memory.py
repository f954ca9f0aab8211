"""Arrays of a wrong type, order or size at each compiled entry raise, and end no process.

With the kernels of `make sanitize`, a step beside an array ends these tests.
"""

import numpy as np
import pytest
from dnip.solvers.kernels.annealing import Chain
from dnip.solvers.kernels.coordinate import Descent
from dnip.solvers.kernels.exact import DepthFirst
from dnip.solvers.kernels.rows import Levels, Rows
from dnip.solvers.kernels.values import Values
from hypothesis import given, settings, strategies as st

import oracles
from cases import cases
from dnip import solve
from layouts import each_layout, take_layout, weights_of
from strategies import KINDS, random_probabilities

P = np.random.default_rng(0).dirichlet(np.ones(3), 9)
LABELS, ONES, TRUE = np.arange(9) % 3, np.ones(9, np.int64), np.full(3, 3)
LEVELS = Levels(np.arange(1.0, 7), linear=True)
HERE, ORDER, COUNTS = np.full(3, 6.0), np.arange(3), np.diag(TRUE)


def rows(sparse=False):
    return Rows(P, LABELS, ONES, LEVELS, sparse=sparse)


def descent():
    return Descent(Values(TRUE, error=1.0), LEVELS, rows())


def search(given, terms=TRUE):
    values = Values(terms, error=1.0)
    return DepthFirst(given, values, values, least_top=1, margin=0.0)


def search_box(low, high):
    found = search(rows(sparse=True))
    found.nodes[0][0], found.nodes[1][0] = low, high
    return found.search(1.0, n_boxes=9, n_steps=6)


MOVES = np.zeros(2, int), np.ones(2, int), np.zeros(2)
MISREAD = {
    "floats": lambda a: a.astype(np.float64),
    "too small": lambda a: a.astype(np.int32),
    "unsigned": lambda a: a.astype(np.uint64),
    "other end first": lambda a: a.astype(a.dtype.newbyteorder()),
    "by column": lambda a: np.asfortranarray(np.arange(9).reshape(3, 3)),
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "a list": lambda a: a.tolist(),
    "none": lambda a: None,
    "one dimension": lambda a: a[0],
    "too large": lambda a: np.zeros((4, 4), np.int64),
    "empty": lambda a: np.zeros((0, 0), np.int64),
}


@pytest.mark.parametrize("form", MISREAD)
def test_what_would_be_misread_is_refused(form):
    for takes in (Values(TRUE, error=1.0), Values(TRUE).shortfall):
        with pytest.raises((TypeError, ValueError)):
            takes(MISREAD[form](COUNTS))


def test_what_is_only_read_may_be_read_only():
    fixed = COUNTS.copy()
    fixed.flags.writeable = False
    assert Values(TRUE, error=1.0)(fixed) == 0.0


@cases(
    lambda: Values(TRUE, costs=np.zeros((2, 2))),
    lambda: Values(TRUE, floors=np.zeros(2, int)),
    lambda: Values(TRUE.astype(float)),
    lambda: Levels(np.array([2.0, 1.0]), linear=False),
    lambda: Levels(np.empty(0), linear=True),
    lambda: Levels(np.array([1.0, 3.0]), linear=True),
    lambda: Levels(np.array([0.0, 1.0]), linear=False),
    lambda: Rows(P, LABELS + 1, ONES, LEVELS),
    lambda: Rows(P, LABELS - 1, ONES, LEVELS),
    lambda: Rows(P, LABELS[:5], ONES, LEVELS),
    lambda: Rows(P, LABELS, ONES[:5], LEVELS),
    lambda: Rows(P[:, 0], LABELS, ONES, LEVELS),
    lambda: Rows(P, LABELS, ONES, np.arange(6.0)),
    lambda: rows().count(np.full(2, 1.0)),
    lambda: rows().count(np.full(3, 7.0)),
    lambda: rows().count(np.full(3, 0.0)),
    lambda: rows().count(np.full(3, np.nan)),
    lambda: rows().count(np.full(3, 1)),
    lambda: rows().find_flips(HERE, 3),
    lambda: rows().find_flips(HERE, -1),
    lambda: Rows(P, LABELS, ONES, LEVELS, None, [0], []),
    lambda: Rows(P, LABELS, ONES, LEVELS, None, [3], [0]),
    lambda: Rows(P, LABELS, ONES, LEVELS, np.ones((9, 3), int)),
    lambda: Rows(P, LABELS, ONES, LEVELS, np.ones((9, 1), int)),
    lambda: Descent(Values(TRUE[:2]), LEVELS, rows()),
    lambda: Descent(Values(TRUE), Levels(np.arange(1.0, 7), linear=True), rows()),
    lambda: Descent(None, LEVELS, rows()),
    lambda: Descent(Values(TRUE), LEVELS, None),
    lambda: descent().begin(np.full(3, 9.0), ORDER),
    lambda: descent().begin(HERE, ORDER + 1),
    lambda: descent().begin(HERE[:2], ORDER),
    lambda: descent().kicked(HERE, np.ones(2), 0.0, ORDER),
    lambda: descent().kicked(HERE, np.ones(3), 9.0, ORDER),
    lambda: descent().kicked(HERE, np.ones(3), 0.0, ORDER + 1),
    lambda: Chain(HERE + 1, 0.0).walk(rows(), Values(TRUE), *MOVES, 9.0, 1.0, 9),
    lambda: Chain(HERE, 0.0).walk(rows(), Values(TRUE[:2]), *MOVES, 9.0, 1.0, 9),
    lambda: Chain(HERE, 0.0).walk(rows(), Values(TRUE), MOVES[0] + 3, *MOVES[1:], 9.0, 1.0, 9),
    lambda: Chain(HERE, 0.0).walk(
        rows(), Values(TRUE), MOVES[0], MOVES[1] + 5, MOVES[2], 9.0, 1.0, 9
    ),
    lambda: Chain(HERE, 0.0).walk(None, Values(TRUE), *MOVES, 9.0, 1.0, 9),
    lambda: search(rows()),
    lambda: search(rows(sparse=True), TRUE[:2]),
    lambda: search_box(7, 7),
    lambda: search_box(1, 7),
    lambda: search_box(0, 6),
    lambda: search_box(5, 4),
)
def test_wrong_sizes_and_numbers_are_refused(call):
    with pytest.raises((TypeError, ValueError)):
        call()


# --- sizes at the edges of what compiled code reads and writes ---
#: Rows, classes and scale: few and many of each, and blocks of 512 rows that are full or not.
SIZES = [(2, 2, 1), (2, 2, 10_000), (3, 130, "log:2"), (511, 3, "log:500"), (512, 2, "log:10000")]
SIZES += [(513, 17, 2), (1025, 65, 30)]
each_size = pytest.mark.parametrize(("n_rows", "n_classes", "scale"), SIZES)
few = settings(derandomize=True, deadline=None, max_examples=4)
each_table = given(kind=st.sampled_from(KINDS), seed=st.integers(0, 99))


def random_table(n_rows, n_classes, kind, seed):
    rng = np.random.default_rng(seed)
    labels, mass = rng.integers(n_classes, size=n_rows), rng.integers(0, 3, n_rows)
    labels[:2], mass[:2] = [0, n_classes - 1], 1
    return random_probabilities(rng, n_rows, n_classes, kind), labels, mass


@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")  # classes without rows
@each_size
@each_layout
@pytest.mark.parametrize("solver", ["coordinate", "anneal", "exact"])
@few
@each_table
def test_solutions_count_what_their_weights_predict(
    layout, solver, n_rows, n_classes, scale, kind, seed
):
    p, labels, mass = random_table(n_rows, n_classes, kind, seed)
    with pytest.MonkeyPatch.context() as patch:
        take_layout(patch, layout)
        found = solve(p, labels, scale=scale, solver=solver, sample_weight=mass, time_limit=0.01)
    weights = weights_of(scale, found.weight_indices)
    recount = oracles.confusion_at(p, labels, weights, mass)
    np.testing.assert_array_equal(found.confusion, recount)
