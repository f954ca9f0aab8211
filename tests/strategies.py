"""Seeded input for the tests: awkward tables for hypothesis, and plain random ones."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.extra.numpy import arrays

from dnip import Objective

#: Every run tries the same examples, so that a failure is a failure for everyone.
seeded = settings(derandomize=True, deadline=None, max_examples=30)

#: Probabilities whose products with indices often tie, exactly or but for rounding.
TYING = [i / 8 for i in range(9)] + [i / 10 for i in range(1, 10)]
#: Down to the smallest number there is: quotients of such probabilities overflow.
TINY = [5e-324, 1e-323, 1e-310, 2.3e-308, 1e-300, 1e-30, 1e-9]

probability = st.one_of(st.sampled_from(TYING), st.sampled_from(TINY), st.floats(0, 1))
#: What a generator may start with.
SEEDS = st.integers(0, 2**32 - 1)


class Table(NamedTuple):
    """A kernel's input."""

    p: np.ndarray  # (M, N)
    labels: np.ndarray  # (M,)
    mass: np.ndarray  # (M,)


def scales(most):
    """Linear and geometric scales of up to so many weights."""
    sizes = st.integers(1, most)
    return st.one_of(sizes, sizes.map("log:{}".format))


@st.composite
def tables(draw, min_rows=1, max_rows=10, max_classes=12):
    """Tables that mix tied, tiny, zero and one-hot rows; some examples have no mass."""
    m, n = draw(st.integers(min_rows, max_rows)), draw(st.integers(2, max_classes))
    p = draw(arrays(np.float64, (m, n), elements=probability, fill=st.just(0.0)))
    p[p.max(axis=1) < 1e-3, draw(st.integers(0, n - 1))] = 1.0  # rows of a problem sum to 1
    labels = draw(arrays(np.int64, m, elements=st.integers(0, n - 1)))
    mass = draw(arrays(np.int64, m, elements=st.sampled_from([0, 1, 1, 1, 2, 1000])))
    return Table(p, labels, mass)


def random_probabilities(rng, n_rows, n_classes, kind="random"):
    """Rows that sum to 1 but for rounding, of one kind: see `KINDS`."""
    if kind == "mixed":
        kinds = rng.choice([k for k in KINDS if k != "mixed"], n_rows)
        return np.vstack([random_probabilities(rng, 1, n_classes, k) for k in kinds])
    if kind == "tied":
        return rng.multinomial(8, np.full(n_classes, 1 / n_classes), n_rows) / 8
    if kind == "decimal":
        return rng.multinomial(10, np.full(n_classes, 1 / n_classes), n_rows) / 10
    if kind == "one-hot":
        return np.eye(n_classes)[rng.integers(n_classes, size=n_rows)]
    p = rng.dirichlet(np.ones(n_classes), n_rows)
    if kind == "tiny":
        small = rng.random(p.shape) < 0.5
        small[np.arange(n_rows), p.argmax(axis=1)] = False
        p[small] = rng.choice(TINY, small.sum())
        p[np.arange(n_rows), p.argmax(axis=1)] += 1 - p.sum(axis=1)
    return p


KINDS = ("random", "tied", "decimal", "tiny", "one-hot", "mixed")


def labelled_rows(rng, n_rows, n_classes, kind="random"):
    """Probabilities and labels, every class among them."""
    p = random_probabilities(rng, n_rows, n_classes, kind)
    return p, np.append(np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes))


def random_problem(seed, n_classes, kind, n_rows=40):
    """Probabilities and labels of a seed."""
    return labelled_rows(np.random.default_rng(seed), n_rows, n_classes, kind)


def random_confusion(rng, n_classes, n_missing=0, size=50):
    """Counts with `n_missing` classes that have no examples."""
    confusion = rng.integers(0, size, (n_classes, n_classes))
    np.fill_diagonal(confusion, confusion.diagonal() + 1)
    confusion[rng.choice(n_classes, n_missing, replace=False)] = 0
    return confusion


#: The terms that an objective may keep; and forms of it that bounds and proofs must hold for.
ABLATIONS = [terms for size in (1, 2, 3) for terms in combinations(Objective.TERMS, size)]
OBJECTIVES = [
    Objective(),
    Objective(tau=0.2),
    Objective(tau=0.2, smoothing=1.0),
    Objective(beta=10, tau=1, smoothing=0.01),
    Objective(beta=1, tau=0),
    Objective(beta=0, tau=0.2, smoothing=4000),
    Objective(terms=("cobias",)),
    Objective(tau=0.2, smoothing=1.0, terms=("pmi",)),
    Objective(tau=0.2, gap="single"),
]
