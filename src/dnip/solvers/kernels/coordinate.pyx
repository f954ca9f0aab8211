"""Coordinate descent by exact line searches, and the local search that goes on from its end.

A line is a class and the indices of all others. Searches return to the same lines again and again,
because descents from many starts end in the same few optima. So lines are remembered, and none is
searched twice. A 64-bit hash identifies a line. If two lines ever had the same hash, a search might
end at a worse point, but would still report it right.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from dnip.solvers.kernels.rows cimport Flips, Levels, Rows, check_indices
from dnip.solvers.kernels.values cimport Values, sum_columns

# Lines to remember, a power of two; a fit of 100 classes searches 5,000.
EXPECTED_LINES = 1 << 13
# Values that depend on class accuracies alone differ if they do by more than this.
cdef double ROUNDING = 1e-12


@cython.final
cdef class Descent:
    """Descents on one problem, one after another.

    Parameters
    ----------
    values : Values
        What is minimised.
    levels : Levels
        Those of the rows.
    rows : Rows

    Attributes
    ----------
    point : ndarray of shape (N,)
        Weight indices.
    confusion, predicted : ndarray of shape (N, N) and (N,)
        Counts at the point, and their column sums; after known lines, of the point before these.
    value : float
        The objective at the point, infinite until a line is known.
    n_lines : int
        Lines that are remembered.
    """

    cdef Values values
    cdef Levels levels
    cdef Rows rows
    cdef int64_t n_classes
    # a hash table with linear probing; once half full it takes no more
    cdef uint64_t[::1] key  # 0 where empty
    cdef uint32_t[::1] best  # a best index of the line
    cdef double[::1] reached  # the objective there
    cdef readonly int64_t n_lines
    # the state of a descent
    cdef readonly object point, confusion, predicted
    cdef double[::1] indices
    cdef int64_t[:, ::1] counts
    cdef int64_t[::1] sums
    cdef int64_t[::1] order  # classes to search
    cdef uint64_t hash  # of all indices
    cdef int64_t turn  # classes looked at so far
    cdef int64_t unmoved  # how many of these did not move, without a break
    cdef bint counted  # whether the counts are those of the point
    cdef readonly double value

    def __init__(self, Values values not None, Levels levels not None, Rows rows not None):
        n = values.n_classes
        if rows.n_classes != n or rows.levels is not levels:
            raise ValueError("rows must be of these levels, and of as many classes as the values")
        self.values, self.levels, self.rows, self.n_classes = values, levels, rows, n
        capacity = 2 * EXPECTED_LINES
        self.key, self.best = np.zeros(capacity, np.uint64), np.zeros(capacity, np.uint32)
        self.reached = np.zeros(capacity)
        self.point, self.confusion = np.zeros(n), np.zeros((n, n), np.int64)
        self.predicted = np.zeros(n, np.int64)
        self.indices, self.counts, self.sums = self.point, self.confusion, self.predicted
        self.order = np.empty(0, np.int64)

    def begin(self, const double[::1] point not None, const int64_t[::1] order not None):
        """Begin at weight indices (N,), to search the classes in the given order."""
        cdef int64_t n
        check_indices(point, self.n_classes, self.levels)
        check_order(order, self.n_classes)
        self.indices[:] = point
        self.order = np.array(order)
        self.hash = 0
        for n in range(self.n_classes):
            self.hash ^= mix(n, <int64_t>self.indices[n])
        self.turn = self.unmoved = 0
        self.counted = False
        self.value = INFINITY

    def run(self, int64_t most):
        """Search the classes in turn until a whole round moves none, or `most` lines are searched.

        A class that is at one of its best indices stays there. A line that was searched before is
        not searched again. Returns how many lines were searched; fewer than `most` mean that the
        descent is at its end.
        """
        cdef int64_t n_searches
        with nogil:
            n_searches = self.descend(most)
        self.values.raise_error()
        return n_searches

    def kicked(
        self,
        const double[::1] point not None,
        const double[::1] factors not None,
        double top,
        const int64_t[::1] order not None,
    ):
        """Return a point away from a local optimum: scaled, then rounded to the scale.

        `factors` (N,) multiply the weights of the classes of `order`; the largest then gets the
        index `top`, or stays as it is where that is 0.
        """
        cdef double largest = 0.0, height = 1.0
        cdef int64_t i, c
        check_indices(point, self.n_classes, self.levels)
        check_order(order, self.n_classes)
        if factors.shape[0] != self.n_classes or not 0.0 <= top <= self.levels.size:
            raise ValueError(f"a kick takes {self.n_classes} factors and an index; got {top}")
        there = np.array(point)
        cdef double[::1] indices = there
        for i in range(order.shape[0]):
            c = order[i]
            indices[c] = self.levels.weight[<int64_t>point[c]] * factors[c]
            largest = max(largest, indices[c])
        if top > 0:
            height = self.levels.weight[<int64_t>top] / largest
        for i in range(order.shape[0]):
            c = order[i]
            indices[c] = self.levels.nearest(indices[c] * height)
        return there

    cdef int64_t descend(self, int64_t most) noexcept nogil:
        """Search lines until a whole round moves none, or `most` are searched."""
        cdef int64_t c, n_searches
        for n_searches in range(most):
            c = self.follow()
            if c < 0:
                return n_searches
            if not self.counted:
                self.rows.count_at(&self.indices[0], &self.counts[0, 0])
                sum_columns(&self.counts[0, 0], self.n_classes, &self.sums[0])
                self.counted = True
            self.rows.flip(&self.indices[0], c)
            self.search_line(self.rows.flips)
        return most

    cdef int64_t follow(self) noexcept nogil:
        """Follow the lines that were searched before; return the first class with an unknown line.

        The classes take turns in their order. When a whole round has moved none, the descent is at
        its end, and -1 is returned.
        """
        cdef int64_t c, now
        cdef uint64_t key, slot
        while self.unmoved < self.order.shape[0]:
            c = self.order[self.turn % self.order.shape[0]]
            now = <int64_t>self.indices[c]
            key = self.line(c)
            slot = self.find(key)
            if self.key[slot] != key:
                return c
            if self.reached[slot] < self.value:
                self.value = self.reached[slot]
                self.counted = self.counted and self.best[slot] == now
                self.indices[c] = self.best[slot]
            self.pass_on(c, now)
        return -1

    cdef void search_line(self, Flips flips) noexcept nogil:
        """Walk the line of the class whose turn it is, and stop at its best index.

        A class that is already at one of its best indices stays there; otherwise it goes to the
        lowest of them.
        """
        cdef int64_t c = self.order[self.turn % self.order.shape[0]]
        cdef int64_t now = <int64_t>self.indices[c], best = 1, first = 0, end, here
        cdef int64_t *counts = &self.counts[0, 0]
        cdef int64_t *sums = &self.sums[0]
        cdef double now_value = self.values.value(counts, sums), best_value, value
        cdef double rounding = ROUNDING if self.values.by_class else 0.0
        flips.walk(now, 1, counts, sums)
        best_value = self.values.value(counts, sums)
        while first < flips.n:
            here, end = flips.position[first], first + 1
            while end < flips.n and flips.position[end] == here:
                end += 1
            flips.apply(first, end, 1, counts, sums)
            value = self.values.value(counts, sums)
            if value < best_value - rounding:
                best = here
                best_value = value
            first = end
        if now_value <= best_value + rounding:
            best = now
        flips.walk(self.levels.size, best, counts, sums)
        self.note(best, self.values.value(counts, sums))

    cdef void note(self, int64_t index, double reached) noexcept nogil:
        """Remember the best index of the line of the class whose turn it is, and go there."""
        cdef int64_t c = self.order[self.turn % self.order.shape[0]]
        cdef int64_t now = <int64_t>self.indices[c]
        cdef uint64_t key = self.line(c), slot = self.find(key)
        if 2 * self.n_lines < self.key.shape[0]:
            self.key[slot] = key
            self.best[slot] = <uint32_t>index
            self.reached[slot] = reached
            self.n_lines += 1
        self.value = reached
        self.indices[c] = index
        self.pass_on(c, now)

    cdef void pass_on(self, int64_t c, int64_t before) noexcept nogil:
        """Go on to the next class; `c` was at `before`."""
        cdef int64_t index = <int64_t>self.indices[c]
        self.hash ^= mix(c, before) ^ mix(c, index)
        self.unmoved = self.unmoved + 1 if index == before else 1
        self.turn += 1

    cdef uint64_t line(self, int64_t c) noexcept nogil:
        """Return the hash of the line of a class: of all other indices, and of the class."""
        return self.hash ^ mix(c, <int64_t>self.indices[c]) ^ mix(c, 0)

    cdef uint64_t find(self, uint64_t key) noexcept nogil:
        """Return the slot of a line, or the empty slot where it would go."""
        cdef uint64_t mask = self.key.shape[0] - 1
        cdef uint64_t slot = key & mask
        while self.key[slot] != 0 and self.key[slot] != key:
            slot = (slot + 1) & mask
        return slot


cdef int check_order(const int64_t[::1] order, int64_t n_classes) except -1:
    """Raise unless all are classes."""
    cdef int64_t i
    for i in range(order.shape[0]):
        if not 0 <= order[i] < n_classes:
            raise ValueError(f"there is no class {order[i]}")
    return 0


cdef inline uint64_t mix(int64_t c, int64_t index) noexcept nogil:
    """Hash a class at an index (the finaliser of splitmix64)."""
    cdef uint64_t z = <uint64_t>(c + 1) * <uint64_t>0x9E3779B97F4A7C15 + <uint64_t>index
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)
