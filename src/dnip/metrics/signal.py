"""Whether probabilities tell anything about the class."""

from __future__ import annotations

import numpy as np

from dnip.base.typing import Floats, Integers, Labels, Probabilities

#: How probable it may be that chance alone is taken for a signal.
LEVEL = 0.02
#: Of twice as many rows, and so many besides the most frequent class, nothing found is a sign.
LEAST_ROWS = 20

#: Of more rows or cells a sample is taken.
MOST_ROWS, MOST_CELLS = 5_000, 1_000_000

_SHUFFLES, _SEED = 249, 0x516
_LEAST_PROBABILITY = 1e-7


def has_signal(probabilities: Probabilities, labels: Labels) -> bool | None:
    """Return whether classes are more probable on their own rows than on others, beyond chance.

    A class whose probabilities rank its own rows above the others has a positive score z, that of
    the rank-sum test (Mann and Whitney 1947). Ranks are the mean of those of p and of ln p less its
    mean over the classes, which finds more than either. The sum of max(z, 0)² over classes is
    compared with the same under shuffled labels, so the level is exact. Only the order of rows
    counts, so a model that always answers the same may have a signal.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.

    Returns
    -------
    bool or None
        None where nothing is found in fewer than 40 rows, or 20 besides the most frequent class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, y = rng.dirichlet([1, 1, 1], 300), np.arange(300) % 3
    >>> has_signal(p, y), has_signal(p, p.argmax(axis=1)), has_signal(p[:9], y[:9])
    (False, True, None)
    """
    n_classes, rng = probabilities.shape[1], np.random.default_rng(_SEED)
    n_rows = min(len(labels), MOST_ROWS, max(MOST_CELLS // n_classes, 1))
    if n_rows < len(labels):
        drawn = np.sort(rng.choice(len(labels), n_rows, replace=False))
        probabilities, labels = probabilities[drawn], labels[drawn]
    sizes = np.bincount(labels, minlength=n_classes)
    spread = np.sqrt(sizes * (n_rows - sizes) / max(n_rows - 1, 1))
    log_p = np.log(np.maximum(probabilities, _LEAST_PROBABILITY))
    scores = probabilities, log_p - log_p.mean(axis=1, keepdims=True)
    ranks = np.mean([[_ranks(column) for column in each.T] for each in scores], axis=0).T

    def strength(y: Integers) -> float:
        sums = np.bincount(y, ranks[np.arange(n_rows), y], n_classes)
        return float((np.maximum(sums[spread > 0] / spread[spread > 0], 0) ** 2).sum())

    found, n_present = strength(labels), np.count_nonzero(spread)
    # the mean of z² by chance is 1 at most, so no shuffles are needed (Markov's inequality)
    if found * LEVEL >= n_present > 0:
        return True
    as_strong = 1  # these labels themselves
    for _ in range(_SHUFFLES):
        # rounding may set equal sums apart
        as_strong += strength(rng.permutation(labels)) >= found * (1 - 1e-9)
        if as_strong > LEVEL * (_SHUFFLES + 1):
            return False if min(n_rows // 2, n_rows - sizes.max()) >= LEAST_ROWS else None
    return True


def _ranks(column: Floats) -> Floats:
    """Return ranks with mean 0 and standard deviation 1; equal values have equal ranks."""
    order = np.sort(column)
    ranks = np.searchsorted(order, column) + np.searchsorted(order, column, side="right")
    spread = ranks.std()
    return np.asarray((ranks - ranks.mean()) / (spread if spread > 0 else 1.0))
