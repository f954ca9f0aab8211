"""Rows laid out for search: counts at one point, and where rows flip along a line.

The *span* is the largest ratio of two weights. Class n can win row m only if p_mn times the span is
at least max_j p_mj. Rounding does not matter: on a linear scale products keep their order, and on
other scales the span is a little larger. The classes that can win a row are its *candidates*. A row
with one candidate is *settled* for all weights, and counted once. The others are *open*. Real
tables have two to four candidates per row, however many classes there are.

Counts follow the prediction rule: argmax of ω_n·p_mn, the lowest class on a tie.

As the index of one class grows, each row flips at most once: from its *rival*, the best of the
other classes, to the class itself. It flips at the smallest index whose weight times p is ahead of
the rival's product. Flips in order of index give the confusion matrix at all K indices in one walk.
"""

cimport cython
from cython cimport floating
from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "vectors.h":
    void take_lead(double, const double *, uint32_t, int64_t, double *, uint32_t *) noexcept nogil
    void divide(
        const double *, const double *, const uint32_t *, uint32_t, int64_t, double, uint32_t *
    ) noexcept nogil
    void find_buckets(
        const double *, const double *, int64_t, double, double, int64_t, int64_t, uint32_t *
    ) noexcept nogil

# Room for rounding: a class that rounding may let win a row is a candidate of that row.
ROUNDING = 1 + 1e-9
# Weights farther than this from a quotient, as a ratio, win or lose in spite of rounding.
IN_DOUBT = 1 + 1e-12
# Measured cost of one line search, in ns. In the dense layout it reads every open row and class. In
# the sparse layout it reads only rows that its class can win, and only their candidates.
DENSE_ROW, DENSE_CELL = 4.0, 0.25
SPARSE_ROW, SPARSE_ENTRY = 4.0, 5.0
# Measured: listing a row and walking over it takes as long as clearing and reading this many cells
# of a tally.
CELLS_PER_ROW = 8
# Dense rows are worked on in blocks of 512, which stay in the processor's first cache.
cdef enum:
    BLOCK = 512


@cython.final
cdef class Levels:
    """The weights that a class may have, ascending; position k stands for the k-th of them.

    A weight wins a row if it is above a quotient: the rival's product divided by the class's
    probability. The quotient is rounded, so it only says where to look; products decide, under the
    tie rule of the prediction itself. On a linear scale the quotient is a position. On any other
    scale it falls into a *bucket*, the leading bits of its float64. A bucket is so narrow that only
    one weight in it is in doubt.

    Parameters
    ----------
    weights : ndarray of shape (K,)
        No two of which are nearly the same.
    linear : bool
        Whether they are 1..K.
    """

    @cython.wraparound(True)
    def __init__(self, const double[::1] weights not None, *, bint linear):
        given = np.asarray(weights)
        n = len(given)
        if not 0 < n <= 65_000 or not (given[0] > 0 and np.all(given[1:] > given[:-1])):
            raise ValueError("weights must be up to 65,000 positive numbers, ascending")
        self.size = n
        self.weights = np.concatenate(([0.0], given, [np.inf]))
        self.weight = self.weights
        if linear:
            if not np.array_equal(given, np.arange(1.0, n + 1)):
                raise ValueError("weights of a linear scale must be 1..K")
            self.span = n
            self.lowest = np.empty(0, np.uint16)
            return
        ends = given[[0, -1]].view(np.int64)
        shift = 52
        while True:
            first, last = (ends >> shift).tolist()
            edges = (np.arange(first, last + 3) << shift).view(np.float64)
            self.most = edges[-2]
            edges[0], edges[-1] = 0.0, np.inf
            lowest = np.searchsorted(given, edges[:-1] / IN_DOUBT)
            beyond = np.searchsorted(given, edges[1:] * IN_DOUBT, side="right")
            if (beyond - lowest).max() <= 1:
                break
            shift -= 1
        self.span = given[-1] / given[0] * ROUNDING
        self.lowest = (lowest + 1).astype(np.uint16)
        self.shift, self.first, self.least = shift, first, given[0]

    cdef void find_winning(
        self, const double *p, const double *rival_score, const uint32_t *rival, int64_t c,
        int64_t n, uint32_t *position
    ) noexcept nogil:
        """Write the first winning position of class `c` in each of n rows."""
        cdef int64_t i
        cdef uint32_t k
        cdef double score
        if self.lowest.shape[0] == 0:
            divide(p, rival_score, rival, c, n, self.size, position)
            return
        find_buckets(p, rival_score, n, self.least, self.most, self.shift, self.first, position)
        for i in range(n):  # one product decides: a bucket leaves one weight in doubt
            k = self.lowest[position[i]]
            score = self.weight[k] * p[i]  # not a number where p is 0, at K + 1
            position[i] = k + <uint32_t>(
                (score < rival_score[i]) | ((score == rival_score[i]) & (c >= rival[i]))
            )

    cdef double nearest(self, double weight) noexcept nogil:
        """Return the nearest position, as a float."""
        cdef double k = rint(weight), one = 1.0
        cdef uint32_t position, rival = 1
        if self.lowest.shape[0] > 0:
            self.find_winning(&one, &weight, &rival, 0, 1, &position)
            k = position
            if weight * weight < self.weight[position - 1] * self.weight[position]:
                k -= 1.0
        k = k if k > 1.0 else 1.0
        return k if k < self.size else self.size


@cython.final
cdef class Flips:
    """Flips of one class in order of its index.

    Parameters
    ----------
    size : int
        K.
    n_classes : int
    most : int
        Flips that there is room for.
    """

    def __init__(self, int64_t size, int64_t n_classes, int64_t most):
        self.size, self.n_classes = size, n_classes
        self.starts = np.zeros(size + 2, np.int64)
        self.start = self.starts
        self.true, self.rival = np.empty(most, np.uint32), np.empty(most, np.uint32)
        self.counts = np.empty(most, np.int64)

    @property
    def room(self):
        """Flips that there is room for."""
        return self.true.shape[0]

    @cython.wraparound(True)
    def join(self, parts):
        """Take the flips of parts of a table together."""
        cdef Flips part
        cdef int64_t k, i
        starts = np.sum([(<Flips?>part).starts for part in parts], axis=0)
        if len(starts) != self.size + 2 or starts[-1] > self.true.shape[0]:
            raise ValueError(f"there is no room for {starts[-1]} flips")
        self.starts[:] = starts
        for part in parts:
            for k in range(1, self.size + 1):
                for i in range(part.start[k], part.start[k + 1]):
                    self.add(k, part.true[i], part.rival[i], part.counts[i])
        self.end()

    def move(
        self,
        int64_t c,
        int64_t origin,
        int64_t target,
        int64_t[:, ::1] confusion not None,
        int64_t[::1] predicted not None,
    ):
        """Change the counts, in place, as class `c` goes from one index to another."""
        n = self.n_classes
        if not (confusion.shape[0] == confusion.shape[1] == predicted.shape[0] == n):
            raise ValueError(f"counts must be of {n} classes")
        if not (0 <= c < n and 1 <= origin <= self.size and 1 <= target <= self.size):
            raise ValueError(f"there is no class {c}, or no index {origin} or {target}")
        self.walk(c, origin, target, &confusion[0, 0], &predicted[0])

    # a counting sort in three steps: begin, add, end

    cdef void begin(self, const uint32_t *position, int64_t n) noexcept nogil:
        """Make `start[k]` the place of the first flip at k, for n flips at the given positions."""
        cdef int64_t i, k
        memset(&self.start[0], 0, (self.size + 2) * sizeof(int64_t))
        for i in range(n):
            if position[i] <= self.size:
                self.start[position[i] + 1] += 1
        for k in range(2, self.size + 2):
            self.start[k] += self.start[k - 1]

    cdef inline void add(self, int64_t k, uint32_t true, uint32_t rival, int64_t size) noexcept nogil:
        """Put a flip in its place, and move the start of those at k behind it."""
        cdef int64_t at = self.start[k]
        self.start[k] += 1
        self.true[at] = true
        self.rival[at] = rival
        self.counts[at] = size

    cdef void end(self) noexcept nogil:
        """Move each start back: filling has moved it to its end."""
        cdef int64_t k
        for k in range(self.size + 1, 0, -1):
            self.start[k] = self.start[k - 1]
        self.start[1] = 0

    cdef void walk(
        self, int64_t c, int64_t origin, int64_t target, int64_t *confusion, int64_t *predicted
    ) noexcept nogil:
        """Change the counts as class `c` goes from index `origin` to index `target`."""
        cdef int64_t low = origin if origin < target else target
        cdef int64_t high = target if origin < target else origin
        cdef int64_t sign = 1 if target > origin else -1
        cdef int64_t i, true, rival, size, n = self.n_classes, gained = 0
        for i in range(self.start[low + 1], self.start[high + 1]):
            true, rival, size = self.true[i], self.rival[i], sign * self.counts[i]
            confusion[true * n + rival] -= size
            confusion[true * n + c] += size
            predicted[rival] -= size
            gained += size
        predicted[c] += gained


@cython.final
cdef class Rows:
    """The rows of a table, in the layout that is searched fastest, and room to search.

    Parameters
    ----------
    p : ndarray of shape (M, N)
        float64 or float32.
    labels : ndarray of shape (M,)
        Class indices.
    counts : ndarray of shape (M,)
        How many examples each row counts as.
    levels : Levels
        The weights that a class may have.

    Attributes
    ----------
    flips : Flips
        Those of the last line.
    n_rows, n_cells : int
        Open rows, and how many probabilities of them are kept.
    """

    def __init__(
        self,
        p,
        const int64_t[:] labels not None,
        const int64_t[:] counts not None,
        Levels levels not None,
    ):
        if np.ndim(p) != 2 or not len(p) == labels.shape[0] == counts.shape[0]:
            raise ValueError("p must have a row for each label and count")
        n = p.shape[1]
        if n == 0 or len(p) and not 0 <= np.min(labels) <= np.max(labels) < n:
            raise ValueError(f"labels must be 0..{n - 1}")
        self.levels, self.n_classes = levels, n
        self.weight = np.empty(n)
        self.settled = np.zeros((n, n), np.int64)
        is_open, class_size = np.zeros(len(p), np.bool_), np.zeros(n, np.int64)
        if p.dtype == np.float32:
            survey[float](self, p, labels, counts, is_open.view(np.uint8), class_size)
        else:
            survey[double](self, p, labels, counts, is_open.view(np.uint8), class_size)
        self.label = np.asarray(labels)[is_open].astype(np.uint32)
        self.counts = np.asarray(counts)[is_open]
        self.n_rows, self.n_cells = self.label.shape[0], class_size.sum()
        per_row = SPARSE_ROW + SPARSE_ENTRY * self.n_cells / max(self.n_rows, 1)
        if self.n_rows * (DENSE_ROW + DENSE_CELL * n) <= self.n_cells / n * per_row:
            self._lay_out_dense(p, is_open)
        else:
            self._lay_out_sparse(p, is_open, class_size)

    cdef _lay_out_dense(self, p, is_open):
        columns = np.empty((self.n_classes, self.n_rows))
        for n in range(self.n_classes):  # a copy of the rows would take as much memory again
            columns[n] = p[is_open, n]
        self.columns, self.n_cells = columns, columns.size
        # flips are tallied where that is faster than to list them one by one
        cells = (self.levels.size + 2) * self.n_classes**2
        if cells <= CELLS_PER_ROW * self.n_rows:
            self.tally = np.zeros(cells, np.int64)
            self._make_room(min(self.n_rows, cells), BLOCK)
        else:
            self.tally = np.empty(0, np.int64)
            self._make_room(self.n_rows, self.n_rows)

    cdef _lay_out_sparse(self, p, is_open, class_size):
        self.columns, self.tally = np.empty((0, 0)), np.empty(0, np.int64)
        self.row_start = np.zeros(self.n_rows + 1, np.int64)
        self.row_class, self.row_p = np.empty(self.n_cells, np.uint32), np.empty(self.n_cells)
        self.class_start = np.concatenate(([0], np.cumsum(class_size)))
        self.class_row, self.class_p = np.empty(self.n_cells, np.uint32), np.empty(self.n_cells)
        class_end = np.array(self.class_start[: self.n_classes])
        if p.dtype == np.float32:
            list_candidates[float](self, p, is_open.view(np.uint8), class_end)
        else:
            list_candidates[double](self, p, is_open.view(np.uint8), class_end)
        self._make_room(class_size.max(), class_size.max())

    cdef _make_room(self, int64_t n_flips, int64_t n_found):
        self.flips = Flips(self.levels.size, self.n_classes, n_flips)
        self.rival, self.position = np.empty(n_found, np.uint32), np.empty(n_found, np.uint32)
        self.score = np.empty(n_found)

    @property
    def layout(self):
        """How the rows lie: "dense", "dense, listed" or "sparse"."""
        if self.columns.shape[0] == 0:
            return "sparse"
        return "dense" if self.tally.shape[0] > 0 else "dense, listed"

    def count(self, const double[::1] indices not None):
        """Return the counts (N, N) at weight indices (N,)."""
        check_indices(indices, self.n_classes, self.levels)
        counts = np.empty((self.n_classes, self.n_classes), np.int64)
        cdef int64_t[:, ::1] confusion = counts
        with nogil:
            self.count_at(&indices[0], &confusion[0, 0])
        return counts

    def find_flips(self, const double[::1] indices not None, int64_t c):
        """Return where rows flip as class `c` goes from 1 to K, the others at `indices` (N,).

        The next call uses the same memory.
        """
        check_indices(indices, self.n_classes, self.levels)
        if not 0 <= c < self.n_classes:
            raise ValueError(f"there is no class {c}")
        with nogil:
            self.flip(&indices[0], c)
        return self.flips

    cdef void weigh(self, const double *indices) noexcept nogil:
        """Look the weights up."""
        cdef int64_t n
        for n in range(self.n_classes):
            self.weight[n] = self.levels.weight[<int64_t>indices[n]]

    cdef void count_at(self, const double *indices, int64_t *confusion) noexcept nogil:
        """Write the counts at weight indices."""
        cdef int64_t first, i, j, n, r, entry, n_classes = self.n_classes
        cdef double best, score
        cdef uint32_t winner
        self.weigh(indices)
        memcpy(confusion, &self.settled[0, 0], n_classes * n_classes * sizeof(int64_t))
        if self.columns.shape[0] == 0:
            for r in range(self.n_rows):
                winner = 0
                best = -1.0
                for entry in range(self.row_start[r], self.row_start[r + 1]):
                    score = self.weight[self.row_class[entry]] * self.row_p[entry]
                    if score > best:
                        best = score
                        winner = self.row_class[entry]
                confusion[self.label[r] * n_classes + winner] += self.counts[r]
            return
        for first in range(0, self.n_rows, 512):
            n = min(self.n_rows - first, <int64_t>BLOCK)
            self.lead(-1, first, n, 0)
            for i in range(n):
                confusion[self.label[first + i] * n_classes + self.rival[i]] += self.counts[first + i]

    cdef void flip(self, const double *indices, int64_t c) noexcept nogil:
        """Find the flips of class `c`, the others at `indices`."""
        self.weigh(indices)
        if self.columns.shape[0] == 0:
            self.flip_sparse(c)
        elif self.tally.shape[0] > 0:
            self.flip_tallied(c)
        else:
            self.flip_dense(c)

    cdef void lead(self, int64_t c, int64_t first, int64_t n, int64_t at) noexcept nogil:
        """Find the best of the other classes in n dense rows from `first` on: rivals from `at`."""
        cdef int64_t i, j
        for i in range(n):
            self.score[i] = -1.0
            self.rival[at + i] = 0
        for j in range(self.n_classes):
            if j != c:
                take_lead(
                    self.weight[j], &self.columns[j, first], j, n, &self.score[0], &self.rival[at]
                )

    cdef void find_positions(self, int64_t c, int64_t first, int64_t n, int64_t at) noexcept nogil:
        """Find the rivals and flips of n dense rows from `first` on."""
        self.lead(c, first, n, at)
        self.levels.find_winning(
            &self.columns[c, first], &self.score[0], &self.rival[at], c, n, &self.position[at]
        )

    cdef void flip_dense(self, int64_t c) noexcept nogil:
        """List the flips of dense rows."""
        cdef int64_t first, r
        for first in range(0, self.n_rows, 512):
            self.find_positions(c, first, min(self.n_rows - first, <int64_t>BLOCK), first)
        self.flips.begin(&self.position[0], self.n_rows)
        for r in range(self.n_rows):
            if self.position[r] <= self.levels.size:
                self.flips.add(self.position[r], self.label[r], self.rival[r], self.counts[r])
        self.flips.end()

    cdef void flip_tallied(self, int64_t c) noexcept nogil:
        """Tally the flips of dense rows, and list the sums."""
        cdef int64_t first, n, i, k, cell, here, n_flips = 0, n_classes = self.n_classes
        cdef int64_t n_cells = n_classes * n_classes
        memset(&self.tally[0], 0, self.tally.shape[0] * sizeof(int64_t))
        for first in range(0, self.n_rows, 512):
            n = min(self.n_rows - first, <int64_t>BLOCK)
            self.find_positions(c, first, n, 0)
            for i in range(n):
                cell = (self.position[i] * n_classes + self.label[first + i]) * n_classes
                self.tally[cell + self.rival[i]] += self.counts[first + i]
        for k in range(1, self.levels.size + 1):
            self.flips.start[k] = n_flips
            for cell in range(n_cells):
                here = self.tally[k * n_cells + cell]
                if here > 0:
                    self.flips.true[n_flips] = <uint32_t>(cell // n_classes)
                    self.flips.rival[n_flips] = <uint32_t>(cell % n_classes)
                    self.flips.counts[n_flips] = here
                    n_flips += 1
        self.flips.start[self.levels.size + 1] = n_flips

    cdef void flip_sparse(self, int64_t c) noexcept nogil:
        """List the flips of the rows that class `c` can win."""
        cdef int64_t i, r, entry, first = self.class_start[c]
        cdef int64_t n = self.class_start[c + 1] - first
        cdef uint32_t j, rival
        cdef double score, best
        cdef bint ahead
        for i in range(n):
            r = self.class_row[first + i]
            rival = 0
            best = -1.0
            for entry in range(self.row_start[r], self.row_start[r + 1]):
                j = self.row_class[entry]
                score = self.weight[j] * self.row_p[entry]
                ahead = (score > best) & (j != c)
                rival = j if ahead else rival
                best = score if ahead else best
            self.rival[i] = rival
            self.score[i] = best
        self.levels.find_winning(
            &self.class_p[first], &self.score[0], &self.rival[0], c, n, &self.position[0]
        )
        self.flips.begin(&self.position[0], n)
        for i in range(n):
            if self.position[i] <= self.levels.size:
                r = self.class_row[first + i]
                self.flips.add(self.position[i], self.label[r], self.rival[i], self.counts[r])
        self.flips.end()


cdef void survey(
    Rows rows,
    const floating[:, :] p,
    const int64_t[:] labels,
    const int64_t[:] counts,
    uint8_t[::1] is_open,
    int64_t[::1] class_size,
):
    """Mark open rows, add their candidates to the class sizes, and count the settled rows."""
    cdef int64_t m, n, top, n_candidates
    cdef double span = rows.levels.span
    with nogil:
        for m in range(p.shape[0]):
            top = 0
            for n in range(1, rows.n_classes):
                if p[m, n] > p[m, top]:
                    top = n
            n_candidates = 0
            for n in range(rows.n_classes):
                n_candidates += span * p[m, n] >= p[m, top]
            is_open[m] = n_candidates > 1 and counts[m] > 0
            if n_candidates == 1:
                rows.settled[labels[m], top] += counts[m]
            elif counts[m] > 0:
                for n in range(rows.n_classes):
                    class_size[n] += span * p[m, n] >= p[m, top]


cdef void list_candidates(
    Rows rows, const floating[:, :] p, const uint8_t[::1] is_open, int64_t[::1] class_end
):
    """Fill in the entries of the open rows; `class_end` says where each class goes on."""
    cdef int64_t m, n, filled = 0, entry = 0
    cdef double top, span = rows.levels.span
    with nogil:
        for m in range(p.shape[0]):
            if not is_open[m]:
                continue
            top = p[m, 0]
            for n in range(1, rows.n_classes):
                top = p[m, n] if p[m, n] > top else top
            for n in range(rows.n_classes):
                if span * p[m, n] >= top:
                    rows.row_class[entry] = <uint32_t>n
                    rows.row_p[entry] = p[m, n]
                    rows.class_row[class_end[n]] = <uint32_t>filled
                    rows.class_p[class_end[n]] = p[m, n]
                    class_end[n] += 1
                    entry += 1
            filled += 1
            rows.row_start[filled] = entry


cdef int check_indices(const double[::1] indices, int64_t n_classes, Levels levels) except -1:
    """Raise unless there is a weight index of 1..K for each class."""
    cdef int64_t n
    if indices.shape[0] != n_classes:
        raise ValueError(f"there must be {n_classes} weight indices")
    for n in range(n_classes):
        if not 1.0 <= indices[n] <= levels.size:
            raise ValueError(f"{indices[n]} is no weight index of 1..{levels.size}")
    return 0
