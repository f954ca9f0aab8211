"""Branch and bound over boxes of weight indices: one depth-first search, from one box.

A box is narrowed to the rows that are open in it, bounded (:mod:`dnip.solvers.kernels.bounds`),
shaved and halved; the better half comes first.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from dnip.solvers.kernels.bounds cimport Bound, Box, Contests
from dnip.solvers.kernels.rows cimport Rows
from dnip.solvers.kernels.values cimport Values, sum_columns
from dnip.solvers.kernels.values import MISSED

ctypedef fused number:
    int64_t
    double

cdef double FAR = MISSED
cdef enum:
    # room for the open rows of all nodes, in lists of all rows; a search ends where it is full
    ROW_LISTS = 24
# Boxes of at most this many points are searched point by point.
cdef double FEW_POINTS = 8.0


@cython.final
cdef class DepthFirst:
    """A search that halves boxes and goes on with the better half.

    It ends after a number of boxes, or when no box is left that could hold a better point. The
    caller keeps the queue and takes back what is left.

    Parameters
    ----------
    rows : Rows
        In the sparse layout.
    values : Values
        What is minimised.
    shortage : Values
        The floors of `values` alone: minimised while no feasible point is known.
    least_top : int
        Points without an index this high are copies of others, and left out.
    margin : float
        Points that are better by less do not count.

    Attributes
    ----------
    nodes : tuple of ndarray
        The boxes that may hold a better point, the next one last: their lowest and highest
        indices (D, N) each; their bounds (D,); and the multipliers of these: v (D, N), and the
        prices (D, N + 1) of missing the floor of each class, and of all together, in rates.
    shares : ndarray of shape (T,)
        Of its row that each rival in a crowd stands for; kept between boxes.
    value : float
        The best value so far.
    point : ndarray of shape (N,)
        Its weight indices, if this search found it.
    improved : bool
        Whether it did.
    n_points : int
        Points evaluated.
    """

    cdef Rows rows
    cdef Contests contests
    cdef Bound bounds
    cdef Values z, shortage
    cdef const double[::1] log_weight  # (K + 2,)
    cdef int64_t n, least_top, n_steps
    cdef double margin
    # nodes
    cdef readonly object nodes
    cdef int64_t[:, ::1] low, high
    cdef double[::1] bound
    cdef double[:, ::1] v, price
    cdef int64_t[::1] split  # (D,) class whose interval each node halves
    cdef int64_t[:, :, ::1] confusion  # (D, N, N) settled rows of each node
    cdef int64_t[::1] first, n_rows  # (D,) where its open rows start in `open_rows`, and how many
    cdef int64_t[::1] end  # (D,) from where `open_rows` is free while the node is the next one
    cdef uint32_t[::1] open_rows
    # incumbent
    cdef readonly double value
    cdef readonly object point
    cdef int64_t[::1] best_point
    cdef readonly bint improved
    cdef readonly int64_t n_points
    # room
    cdef int64_t[::1] trial, predicted  # (N,)
    cdef int64_t[:, ::1] counts  # (N, N)
    cdef double[::1] sizes  # (N,) contests of each class

    def __init__(
        self,
        Rows rows not None,
        Values values not None,
        Values shortage not None,
        *,
        int64_t least_top,
        double margin,
    ):
        n = rows.n_classes
        if not n == values.n_classes == shortage.n_classes or rows.layout != "sparse":
            raise ValueError(f"the rows must be sparse, and the values of {n} classes")
        if values.floors.shape[0] != shortage.floors.shape[0]:
            raise ValueError("the two values must have floors alike")
        self.rows, self.z, self.shortage, self.n = rows, values, shortage, n
        self.contests = Contests(rows)
        self.bounds = Bound(self.contests)
        self.log_weight, self.least_top, self.margin = self.bounds.log_weight, least_top, margin
        depth = 2 + 2 * n * int(np.ceil(np.log2(rows.levels.size + 1)))
        d = depth + 2

        def whole(*shape):
            return np.zeros(shape, np.int64)

        self.nodes = whole(d, n), whole(d, n), np.zeros(d), np.zeros((d, n)), np.zeros((d, n + 1))
        self.low, self.high, self.bound, self.v, self.price = self.nodes
        self.split, self.confusion = whole(d), whole(d, n, n)
        self.first, self.n_rows, self.end = whole(d), whole(d), whole(d)
        self.open_rows = np.empty(min(depth, ROW_LISTS) * rows.n_rows, np.uint32)
        self.point = whole(n)
        self.best_point, self.trial, self.predicted = self.point, whole(n), whole(n)
        self.counts, self.sizes = whole(n, n), np.empty(n)

    @property
    def shares(self):
        return np.asarray(self.contests.share)

    def search(self, double best_value, int64_t n_boxes, int64_t n_steps):
        """Search the box in node 0 for points better than the best value.

        `n_steps` are those of the multipliers in a box. Returns how many nodes are left after
        `n_boxes` boxes, from node 0 on.
        """
        low, high = self.nodes[0][0], self.nodes[1][0]
        if not (1 <= low.min() and (low <= high).all() and high.max() <= self.rows.levels.size):
            raise ValueError(f"no box from {low.tolist()} to {high.tolist()} is on the scale")
        self.value, self.improved, self.n_points, self.n_steps = best_value, False, 0, n_steps
        cdef int64_t n_left
        with nogil:
            n_left = self.search_depth_first(n_boxes)
        return n_left

    # --- the search ---

    cdef int64_t search_depth_first(self, int64_t n_boxes) noexcept nogil:
        """Halve boxes, the better half first; return how many nodes are left."""
        cdef int64_t parent = self.bound.shape[0] - 1  # the last node is room for the one halved
        cdef int64_t height = 0, n_seen = 0, n_halves = 1, base, free, half, first, n_source, d, r
        for r in range(self.rows.n_rows):
            self.open_rows[r] = <uint32_t>r
        self.copy_node(0, parent)
        copy(&self.confusion[parent, 0, 0], &self.rows.settled[0, 0], self.n * self.n)
        self.first[parent] = 0
        self.n_rows[parent] = self.end[parent] = self.rows.n_rows
        while True:
            # look at the box, or at its two halves
            base, free = height, self.end[parent]
            first, n_source = self.first[parent], self.n_rows[parent]
            for half in range(n_halves):
                self.copy_node(parent, height)
                if n_halves == 2:
                    self.halve(self.split[parent], height, half == 1)
                self.first[height] = free
                if self.bound_node(height, first, n_source):
                    free += self.n_rows[height]
                    height += 1
            for d in range(base, height):
                self.end[d] = free
            if height == base + 2 and self.bound[base] < self.bound[base + 1]:
                self.copy_node(base, parent)
                self.copy_node(base + 1, base)
                self.copy_node(parent, base + 1)
            n_seen += n_halves
            n_halves = 2
            # the next box that is worth it
            while height > 0 and self.bound[height - 1] >= self.value - self.margin:
                height -= 1
            if height == 0 or n_seen >= n_boxes or height == parent:
                break
            if self.end[height - 1] + 2 * self.n_rows[height - 1] > self.open_rows.shape[0]:
                break
            height -= 1
            self.copy_node(height, parent)
        return height

    cdef bint bound_node(self, int64_t d, int64_t source, int64_t n_source) noexcept nogil:
        """Bound node `d` over some open rows, or search it; say whether it is to be halved."""
        cdef double missing, goal, least, bound
        cdef uint32_t *open_rows = &self.open_rows[0]
        cdef Box box = self.box_of(d)
        self.follow(box.low)
        self.follow(box.high)
        if not self.reaches_top(d):
            return False
        n_source = self.contests.narrow(
            &box, open_rows + source, n_source, open_rows + self.first[d]
        )
        self.n_rows[d] = n_source
        if n_source > 0 and not self.has_few_points(d):
            if self.z.floors.shape[0] > 0:
                missing = self.z.missing(&self.contests.most_correct[0])
                if missing > 0.0:
                    self.raise_node(d, FAR * (1.0 + missing))
                    if self.bound[d] >= self.value:
                        return False
            goal = self.value - self.margin
            if goal >= FAR:  # no point that misses nothing is known
                least = self.value / FAR - 1.0
                goal = least - min(self.margin, least / 2.0)
                bound = self.bounds.climb(self.shortage, 1.0, &box, goal, self.n_steps)
                if bound > 0.0:
                    self.raise_node(d, FAR * (1.0 + bound))
            else:
                bound = self.bounds.climb(self.z, INFINITY, &box, goal, self.n_steps)
                self.raise_node(d, bound)
            if bound >= goal or self.bound[d] >= self.value - self.margin:
                return False
            if self.shave(&box, bound, goal):
                return False
        if n_source == 0 or self.has_few_points(d):
            self.try_points(d, n_source)
            return False
        self.split[d] = self.choose_class(d)
        return True

    cdef Box box_of(self, int64_t d) noexcept nogil:
        """Return the box of a node."""
        cdef Box box
        box.low, box.high = &self.low[d, 0], &self.high[d, 0]
        box.confusion, box.price = &self.confusion[d, 0, 0], &self.price[d, 0]
        box.v = &self.v[d, 0]
        return box

    cdef void follow(self, int64_t *indices) noexcept nogil:
        """Move the followers to the middle of the leaders: it rises where any of these rises."""
        cdef double total = 0.0
        cdef int64_t i, c, n = self.rows.leaders.shape[0]
        for i in range(n):
            total += self.rows.levels.height(indices[self.rows.leaders[i]])
        for c in range(self.n):
            if self.rows.follows[c]:
                indices[c] = self.rows.levels.middle(total, n)

    cdef void raise_node(self, int64_t d, double bound) noexcept nogil:
        """Raise the bound of a node, never lower it."""
        if bound > self.bound[d]:
            self.bound[d] = bound

    cdef bint reaches_top(self, int64_t d) noexcept nogil:
        """Say whether some class of a box can stand as high as the least top."""
        cdef int64_t c
        for c in range(self.n):
            if self.high[d, c] >= self.least_top:
                return True
        return False

    cdef bint has_few_points(self, int64_t d) noexcept nogil:
        """Say whether a box is to be searched point by point."""
        cdef double n_points = 1.0
        cdef int64_t c
        for c in range(self.n):
            if not self.rows.follows[c]:
                n_points *= self.high[d, c] - self.low[d, c] + 1
        return n_points <= FEW_POINTS

    cdef void try_points(self, int64_t d, int64_t n_open) noexcept nogil:
        """Evaluate every point of a box, or any one if no row is open."""
        cdef int64_t i, row, e, c
        cdef uint32_t winner
        cdef double score, best, here
        copy(&self.trial[0], &self.high[d, 0], self.n)
        while True:
            self.follow(&self.trial[0])
            copy(&self.counts[0, 0], &self.confusion[d, 0, 0], self.n * self.n)
            for i in range(self.first[d], self.first[d] + n_open):
                row = self.open_rows[i]
                best = -1.0
                winner = 0
                for e in range(self.rows.row_start[row], self.rows.row_start[row + 1]):
                    score = self.rows.levels.weight[self.trial[self.rows.row_class[e]]] * self.rows.row_p[e]
                    if score > best:
                        best = score
                        winner = self.rows.row_class[e]
                self.counts[self.rows.label[row], winner] += self.rows.counts[row]
            self.n_points += 1
            sum_columns(&self.counts[0, 0], self.n, &self.predicted[0])
            here = self.z.value(&self.counts[0, 0], &self.predicted[0])
            if here < self.value:
                self.value = here
                self.improved = True
                copy(&self.best_point[0], &self.trial[0], self.n)
            c = 0
            while c < self.n and (
                self.rows.follows[c] or self.trial[c] == self.low[d, c] or n_open == 0
            ):
                self.trial[c] = self.high[d, c]
                c += 1
            if c == self.n:
                return
            self.trial[c] -= 1

    cdef void halve(self, int64_t c, int64_t d, bint upper) noexcept nogil:
        """Cut the interval of class `c` where it is halved, in logarithms."""
        cdef int64_t middle = self.low[d, c], high = self.high[d, c]
        cdef double goal = 0.5 * (self.log_weight[middle] + self.log_weight[high])
        while middle + 1 < high and self.log_weight[middle + 1] <= goal:
            middle += 1
        if upper:
            self.low[d, c] = middle + 1
        else:
            self.high[d, c] = middle

    cdef void copy_node(self, int64_t source, int64_t target) noexcept nogil:
        """Copy a node with its rows and counts."""
        if source == target:
            return
        copy(&self.low[target, 0], &self.low[source, 0], self.n)
        copy(&self.high[target, 0], &self.high[source, 0], self.n)
        copy(&self.v[target, 0], &self.v[source, 0], self.n)
        copy(&self.price[target, 0], &self.price[source, 0], self.n + 1)
        copy(&self.confusion[target, 0, 0], &self.confusion[source, 0, 0], self.n * self.n)
        self.bound[target] = self.bound[source]
        self.split[target] = self.split[source]
        self.first[target] = self.first[source]
        self.n_rows[target] = self.n_rows[source]
        self.end[target] = self.end[source]

    # --- cutting a box ---

    cdef bint shave(self, Box *box, double bound, double goal) noexcept nogil:
        """Cut off the ends of intervals where the bound reaches `goal`; say if nothing is left."""
        cdef int64_t c, end, width, n, low, high
        for c in range(self.n):
            if self.rows.follows[c]:
                continue
            for end in range(2):
                width = box.high[c] - box.low[c] + 1
                n = (width + 1) // 2
                while n > 0:
                    low, high = box.low[c], box.high[c]
                    if end == 0:
                        high = low + n - 1
                    else:
                        low = high - n + 1
                    if bound + self.bounds.gain_of(box, c, low, high) >= goal:
                        if n == width:
                            return True
                        if end == 0:
                            box.low[c] = high + 1
                        else:
                            box.high[c] = low - 1
                        break
                    n //= 2
        return False

    cdef int64_t choose_class(self, int64_t d) noexcept nogil:
        """Return the class to halve: one with many contests and a wide interval."""
        cdef int64_t c, chosen = -1
        cdef double width, most = 0.0
        for c in range(self.n):
            self.sizes[c] = 1e-9  # a class without contests is halved last
        self.contests.count_classes(&self.sizes[0])
        for c in range(self.n):
            width = self.log_weight[self.high[d, c]] - self.log_weight[self.low[d, c]]
            if self.sizes[c] * width > most and not self.rows.follows[c]:
                most = self.sizes[c] * width
                chosen = c
        return chosen


cdef inline void copy(number *target, const number *source, int64_t n) noexcept nogil:
    """Copy n numbers."""
    memcpy(target, source, n * sizeof(number))
