"""A chain of annealing: moves of one class at a time, at one temperature."""

cimport cython
from libc.math cimport exp
from libc.stdint cimport int64_t
from libc.string cimport memcpy

import numpy as np

from dnip.solvers.kernels.rows cimport Rows, check_indices
from dnip.solvers.kernels.values cimport Values, sum_columns


@cython.final
cdef class Chain:
    """Moves from a point, one after another.

    Parameters
    ----------
    point : ndarray of shape (N,)
        Weight indices.
    value : float
        The objective there.

    Attributes
    ----------
    point, best : ndarray of shape (N,)
        Where the chain stands, and the best point so far.
    value, best_value : float
        The objective there.
    accepted, improved : int
        Moves that were accepted, and those that led to a better point.
    """

    cdef readonly object point, best
    cdef double[::1] indices, best_indices
    cdef readonly double value, best_value
    cdef readonly int64_t accepted, improved

    def __init__(self, const double[::1] point not None, double value):
        self.point, self.best = np.array(point), np.array(point)
        self.indices, self.best_indices = self.point, self.best
        self.value = self.best_value = value

    def walk(
        self,
        Rows rows not None,
        Values values not None,
        const int64_t[::1] classes not None,
        const int64_t[::1] others not None,
        const double[::1] chances not None,
        double n_examples,
        double temperature,
        int64_t most_accepted,
    ):
        """Make moves until so many are accepted in all; return how many were made.

        Parameters
        ----------
        classes, others, chances : ndarray of shape (L,)
            The class that moves; where it goes, of its K - 1 other indices: 1..K-1; and a number in
            [0, 1): a worse point is accepted if its probability is above.
        n_examples, temperature : float
            The temperature is on the scale of M·Z.
        """
        cdef int64_t i, c, made = 0, n = rows.n_classes
        cdef double before, reached, delta
        cdef int64_t[:, ::1] confusion = np.empty((n, n), np.int64)
        cdef int64_t[::1] predicted = np.empty(n, np.int64)
        check_indices(self.indices, n, rows.levels)
        if values.n_classes != n:
            raise ValueError(f"the values must be of {n} classes")
        if not classes.shape[0] == others.shape[0] == chances.shape[0]:
            raise ValueError("there must be a class, an index and a chance for each move")
        for i in range(classes.shape[0]):
            if not (0 <= classes[i] < n and 1 <= others[i] < rows.levels.size):
                raise ValueError(f"class {classes[i]} cannot move to {others[i]}")
        with nogil:
            while made < classes.shape[0] and self.accepted < most_accepted:
                c = classes[made]
                before = self.indices[c]
                self.indices[c] = others[made] + (1 if others[made] >= before else 0)
                rows.count_at(&self.indices[0], &confusion[0, 0])
                sum_columns(&confusion[0, 0], n, &predicted[0])
                reached = values.value(&confusion[0, 0], &predicted[0])
                delta = n_examples * (reached - self.value)
                # the appendix's sign; the listing prints exp(Δz/T), which accepts everything
                if delta <= 0.0 or chances[made] < exp(-delta / temperature):
                    self.accepted += 1
                    self.improved += reached < self.value
                    self.value = reached
                    if reached < self.best_value:
                        self.best_value = reached
                        memcpy(&self.best_indices[0], &self.indices[0], n * sizeof(double))
                else:
                    self.indices[c] = before
                made += 1
        values.raise_error()
        return made
