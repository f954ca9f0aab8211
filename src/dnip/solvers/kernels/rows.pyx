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

Classes without examples *follow*: they stand at the geometric middle of the classes with examples,
so they rise as any of these rises, by a part of it. For a row they are one more column, the largest
p among them: it may flip to a follower first, and from there to the class of the line.

A row may be *shared*: it has a count for each class. Of shared rows only right predictions are
counted, on the diagonal, which is all that accuracies need.
"""

cimport cython
from libc.math cimport exp, log, rint
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "vectors.h":
    void take_lead(double, const double *, uint32_t, int64_t, double *, uint32_t *) noexcept nogil
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
# Rows whose candidates are found together.
ROWS_AT_ONCE = 1024
# Dense rows are worked on in blocks of 512, which stay in the processor's first cache.
cdef enum:
    BLOCK = 512


@cython.final
cdef class Levels:
    """The weights that a class may have, ascending; position k stands for the k-th of them.

    A weight wins a row if it is above a quotient: the rival's product divided by the class's
    probability. The quotient is rounded, so it only says where to look; products decide, under the
    tie rule of the prediction itself. It falls into a *bucket*, the leading bits of its float64. A
    bucket is so narrow that only one weight in it is in doubt.

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
        self.size, self.linear = n, linear
        self.weights = np.concatenate(([0.0], given, [np.inf]))
        self.weight = self.weights
        if linear and not np.array_equal(given, np.arange(1.0, n + 1)):
            raise ValueError("weights of a linear scale must be 1..K")
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
        self.span = n if linear else given[-1] / given[0] * ROUNDING
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
        if not self.linear:
            self.find_winning(&one, &weight, &rival, 0, 1, &position)
            k = position
            if weight * weight < self.weight[position - 1] * self.weight[position]:
                k -= 1.0
        k = k if k > 1.0 else 1.0
        return k if k < self.size else self.size

    cdef double height(self, double index) noexcept nogil:
        """Return what the middle is a mean of: a step, or the logarithm of a linear one."""
        return log(index) if self.linear else index

    cdef int64_t middle(self, double total, int64_t n) noexcept nogil:
        """Return the index in the middle of n others, whose heights have a sum."""
        return <int64_t>rint(exp(total / n) if self.linear else total / n)


@cython.final
cdef class Flips:
    """Flips along the line of one class, in order of its index.

    Parameters
    ----------
    n_classes : int
    most : int
        Flips that there is room for.
    shared : bool, default=False
        Whether they are of shared rows.

    Attributes
    ----------
    n : int
        Flips on the line.
    fields : list of ndarray
        Of each flip, the index, the true class, the class that it leaves and that it goes to, and
        how many examples it counts as; of shared rows, of the winner, and then of the rival.
    """

    def __init__(self, int64_t n_classes, int64_t most, bint shared=False):
        self.n_classes, self.n, self.shared = n_classes, 0, shared
        self.fields = [*np.empty((4, most), np.uint32), np.empty(most, np.int64)]
        self.fields += [np.empty(most, np.int64)] if shared else []
        self.position, self.true, self.rival, self.winner, self.gain = self.fields[:5]
        self.loss = self.fields[5] if shared else np.empty(0, np.int64)

    cdef void walk(
        self, int64_t origin, int64_t target, int64_t *confusion, int64_t *predicted
    ) noexcept nogil:
        """Change the counts as the class of the line goes from `origin` to `target`."""
        if origin < target:
            self.apply(self.beyond(origin), self.beyond(target), 1, confusion, predicted)
        else:
            self.apply(self.beyond(target), self.beyond(origin), -1, confusion, predicted)

    cdef int64_t beyond(self, int64_t index) noexcept nogil:
        """Return how many flips are at an index or before."""
        cdef int64_t low = 0, high = self.n, middle
        while low < high:
            middle = (low + high) // 2
            if self.position[middle] <= index:
                low = middle + 1
            else:
                high = middle
        return low

    cdef void apply(
        self, int64_t first, int64_t end, int64_t sign, int64_t *confusion, int64_t *predicted
    ) noexcept nogil:
        """Change the counts by flips, or take them back where `sign` is -1."""
        cdef int64_t i, true, rival, winner, size, n = self.n_classes
        if self.shared:
            for i in range(first, end):
                rival, winner = self.rival[i], self.winner[i]
                confusion[rival * n + rival] -= sign * self.loss[i]
                confusion[winner * n + winner] += sign * self.gain[i]
            return
        for i in range(first, end):
            true, rival, winner = self.true[i], self.rival[i], self.winner[i]
            size = sign * self.gain[i]
            confusion[true * n + rival] -= size
            confusion[true * n + winner] += size
            predicted[rival] -= size
            predicted[winner] += size


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
    shares : ndarray of shape (M, N), optional
        How many examples of each class a row counts as, `counts` in all; labels do not matter then.
    followers, leaders : sequence of int, optional
        Classes that stand at the geometric middle of others, and those others.
    sparse : bool, default=False
        Whether to list the candidates of each row, even where that is slower to search.

    Attributes
    ----------
    flips : Flips
        Those of the last line.
    n_rows, n_cells : int
        Open rows, and how many probabilities of them are kept.
    is_dense : bool
        Whether these are all probabilities of the open rows, or those of candidates alone.
    """

    def __init__(
        self,
        p,
        const int64_t[:] labels not None,
        const int64_t[:] counts not None,
        Levels levels not None,
        shares=None,
        followers=(),
        leaders=(),
        bint sparse=False,
    ):
        if np.ndim(p) != 2 or not len(p) == labels.shape[0] == counts.shape[0]:
            raise ValueError("p must have a row for each label and count")
        n = p.shape[1]
        if n == 0 or len(p) and not 0 <= np.min(labels) <= np.max(labels) < n:
            raise ValueError(f"labels must be 0..{n - 1}")
        self.levels, self.n_classes = levels, n
        self.weight, self.follows = np.empty(n), np.zeros(n, np.uint8)
        if not set(leaders) | set(followers) <= set(range(n)) or (len(followers) and not len(leaders)):
            raise ValueError(f"followers and leaders must be classes of 0..{n - 1}")
        np.asarray(self.follows)[list(followers)] = 1
        self.leaders = np.array(leaders, np.int64)
        self.n_followers = len(followers)
        self.middle_weight = np.empty(levels.size + 2 if self.n_followers else 0)
        self.is_shared = shares is not None
        given = np.zeros((len(p), 0), np.int64) if shares is None else np.asarray(shares, np.int64)
        if shares is not None and not (
            given.shape == p.shape and np.array_equal(given.sum(axis=1), counts)
        ):
            raise ValueError("the shares of a row must add up to its count")
        self.settled = settled = np.zeros((n, n), np.int64)
        is_open, class_size = np.zeros(len(p), np.bool_), np.zeros(n, np.int64)
        true, mass = np.asarray(labels), np.asarray(counts)
        for block, _, can_win in find_candidates(p, levels.span):
            n_candidates = can_win.sum(axis=0)
            is_open[block] = (n_candidates > 1) & (mass[block] > 0)
            class_size += can_win[:, is_open[block]].sum(axis=1)
            alone = np.flatnonzero(n_candidates == 1)
            winner = can_win[:, alone].argmax(axis=0)
            if self.is_shared:
                np.add.at(settled, (winner, winner), given[block][alone, winner])
            else:
                np.add.at(settled, (true[block][alone], winner), mass[block][alone])
        self.label, self.counts = true[is_open].astype(np.uint32), mass[is_open]
        self.shares = np.ascontiguousarray(given[is_open])
        self.n_rows, self.n_cells = self.label.shape[0], class_size.sum()
        per_row = SPARSE_ROW + SPARSE_ENTRY * self.n_cells / max(self.n_rows, 1)
        is_cheaper = self.n_rows * (DENSE_ROW + DENSE_CELL * n) <= self.n_cells / n * per_row
        self.is_dense = is_cheaper and not sparse and self.n_followers == 0
        if self.is_dense:
            self._lay_out_dense(p, is_open)
        else:
            self._lay_out_sparse(p, is_open, class_size)

    cdef _lay_out_dense(self, p, is_open):
        columns = np.empty((self.n_classes, self.n_rows))
        for n in range(self.n_classes):  # a copy of the rows would take as much memory again
            columns[n] = p[is_open, n]
        self.columns, self.n_cells = columns, columns.size
        self._make_room(self.n_rows)

    cdef _lay_out_sparse(self, p, is_open, class_size):
        row_size, row_class, row_p = [], [], []
        for block, columns, can_win in find_candidates(p, self.levels.span):
            here = can_win[:, is_open[block]].T
            row_size.append(here.sum(axis=1))
            row_class.append(np.nonzero(here)[1].astype(np.uint32))
            row_p.append(columns[:, is_open[block]].T[here])
        row_size, row_class, row_p = map(np.concatenate, (row_size, row_class, row_p))
        by_class = np.argsort(row_class, kind="stable")
        self.row_start = np.concatenate(([0], np.cumsum(row_size)))
        self.row_class, self.row_p = row_class, row_p
        self.class_start = np.concatenate(([0], np.cumsum(class_size)))
        self.class_row = np.repeat(np.arange(self.n_rows, dtype=np.uint32), row_size)[by_class]
        self.class_p = row_p[by_class]
        n_flips = class_size.max()
        if self.n_followers:  # two for each row, or a few more where a middle is rounded to K steps
            n_flips = self.n_rows * min(self.levels.size, 8)
        self._make_room(n_flips)

    cdef _make_room(self, int64_t n_flips):
        self.flips = Flips(self.n_classes, n_flips, self.is_shared)
        self.rival, self.position = np.empty(n_flips, np.uint32), np.empty(n_flips, np.uint32)
        self.score = np.empty(n_flips)
        self.target = np.empty(n_flips if self.n_followers else 0, np.uint32)
        self.code = np.empty(n_flips, np.uint64)
        # scores are read no more when flips are sorted
        self.spare = np.asarray(self.score).view(np.uint64)

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
        """Look the weights up; those of followers are at the middle of the leaders."""
        cdef int64_t n
        cdef double middle
        for n in range(self.n_classes):
            self.weight[n] = self.levels.weight[<int64_t>indices[n]]
        if self.n_followers:
            n = self.levels.middle(self.total(indices, -1), self.leaders.shape[0])
            middle = self.levels.weight[n]
            for n in range(self.n_classes):
                if self.follows[n]:
                    self.weight[n] = middle

    cdef double total(self, const double *indices, int64_t but) noexcept nogil:
        """Sum the heights of the leaders, but of one class."""
        cdef double total = 0.0
        cdef int64_t i, c
        for i in range(self.leaders.shape[0]):
            c = self.leaders[i]
            if c != but:
                total += self.levels.height(indices[c])
        return total

    cdef void count_at(self, const double *indices, int64_t *confusion) noexcept nogil:
        """Write the counts at weight indices."""
        cdef int64_t first, n, r, entry, n_classes = self.n_classes
        cdef double best, score
        cdef uint32_t winner
        self.weigh(indices)
        memcpy(confusion, &self.settled[0, 0], n_classes * n_classes * sizeof(int64_t))
        if not self.is_dense:
            for r in range(self.n_rows):
                winner = 0
                best = -1.0
                for entry in range(self.row_start[r], self.row_start[r + 1]):
                    score = self.weight[self.row_class[entry]] * self.row_p[entry]
                    if score > best:
                        best = score
                        winner = self.row_class[entry]
                self.put(r, winner, confusion)
            return
        for first in range(0, self.n_rows, 512):
            n = min(self.n_rows - first, <int64_t>BLOCK)
            self.lead(-1, first, n)
            for r in range(first, first + n):
                self.put(r, self.rival[r], confusion)

    cdef inline void put(self, int64_t r, int64_t winner, int64_t *confusion) noexcept nogil:
        """Count a row that a class wins."""
        if self.is_shared:
            confusion[winner * self.n_classes + winner] += self.shares[r, winner]
        else:
            confusion[self.label[r] * self.n_classes + winner] += self.counts[r]

    cdef void flip(self, const double *indices, int64_t c) noexcept nogil:
        """Find the flips of class `c`, the others at `indices`."""
        self.weigh(indices)
        if self.n_followers:
            self.flip_following(indices, c)
        elif self.is_dense:
            self.flip_dense(c)
        else:
            self.flip_sparse(c)

    cdef void lead(self, int64_t c, int64_t first, int64_t n) noexcept nogil:
        """Find the best of the other classes in n dense rows from `first` on."""
        cdef int64_t i, j
        for i in range(n):
            self.score[i] = -1.0
            self.rival[first + i] = 0
        for j in range(self.n_classes):
            if j != c:
                take_lead(
                    self.weight[j], &self.columns[j, first], j, n, &self.score[0], &self.rival[first]
                )

    cdef void flip_dense(self, int64_t c) noexcept nogil:
        """List the flips of dense rows."""
        cdef int64_t first, n, r
        for first in range(0, self.n_rows, 512):
            n = min(self.n_rows - first, <int64_t>BLOCK)
            self.lead(c, first, n)
            self.levels.find_winning(
                &self.columns[c, first], &self.score[0], &self.rival[first], c, n,
                &self.position[first],
            )
        for r in range(self.n_rows):
            self.code[r] = <uint64_t>self.position[r] << 32 | r
        self.sort(self.n_rows)
        for r in range(self.flips.n):
            self.fill(r, <uint32_t>self.code[r], self.rival[<uint32_t>self.code[r]], c)

    cdef void sort(self, int64_t n) noexcept nogil:
        """Sort codes by their first half, a position, without those that no class reaches."""
        cdef int64_t ends[512]
        cdef int64_t i, at, kept = 0
        cdef uint64_t position, last = self.levels.size
        memset(ends, 0, sizeof(ends))
        for i in range(n):
            position = self.code[i] >> 32
            if 1 < position <= last:
                self.spare[kept] = self.code[i]
                kept += 1
                ends[position & 255] += 1
                ends[256 + (position >> 8)] += 1
        for i in range(1, 256):
            ends[i] += ends[i - 1]
            ends[256 + i] += ends[255 + i]
        for i in range(kept - 1, -1, -1):
            at = (self.spare[i] >> 32) & 255
            ends[at] -= 1
            self.code[ends[at]] = self.spare[i]
        for i in range(kept - 1, -1, -1):
            at = 256 + (self.code[i] >> 40)
            ends[at] -= 1
            self.spare[ends[at]] = self.code[i]
        self.code, self.spare = self.spare, self.code
        self.flips.n = kept

    cdef inline void fill(self, int64_t i, int64_t r, uint32_t rival, uint32_t winner) noexcept nogil:
        """Write the i-th flip, of a row from its rival to a winner."""
        self.flips.position[i] = <uint32_t>(self.code[i] >> 32)
        self.flips.rival[i] = rival
        self.flips.winner[i] = winner
        if self.is_shared:
            self.flips.gain[i] = self.shares[r, winner]
            self.flips.loss[i] = self.shares[r, rival]
        else:
            self.flips.true[i] = self.label[r]
            self.flips.gain[i] = self.counts[r]

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
        for i in range(n):
            self.code[i] = <uint64_t>self.position[i] << 32 | i
        self.sort(n)
        for i in range(self.flips.n):
            entry = <uint32_t>self.code[i]
            self.fill(i, self.class_row[first + entry], self.rival[entry], c)

    cdef void flip_following(self, const double *indices, int64_t c) noexcept nogil:
        """List the flips of rows in which followers rise with class `c`."""
        cdef int64_t k, r, entry, n = 0, low, high, size = self.levels.size
        cdef bint rises = False
        cdef double score, others = self.total(indices, c)
        cdef Standing row
        for k in range(self.leaders.shape[0]):
            rises = rises or self.leaders[k] == c
        for k in range(1, size + 1):
            score = others + (self.levels.height(k) if rises else 0.0)
            self.middle_weight[k] = self.levels.weight[self.levels.middle(score, self.leaders.shape[0])]
        for r in range(self.n_rows):
            row.rival = row.follower = 0
            row.best = row.p_follower = row.p = -1.0
            for entry in range(self.row_start[r], self.row_start[r + 1]):
                k = self.row_class[entry]
                if k == c:
                    row.p = self.row_p[entry]
                elif self.follows[k]:
                    if self.row_p[entry] > row.p_follower:
                        row.p_follower = self.row_p[entry]
                        row.follower = k
                else:
                    score = self.weight[k] * self.row_p[entry]
                    if score > row.best:
                        row.best = score
                        row.rival = k
            # from the rival to the follower, to the class; rounding of a linear scale's middle may
            # turn a step back, so there every index is tried
            k = 1
            while k < size:
                low, high = k, k + 1
                if not self.levels.linear:
                    high = size + 1
                    while low + 1 < high:
                        if self.winner_at((low + high) // 2, c, &row) == self.winner_at(k, c, &row):
                            low = (low + high) // 2
                        else:
                            high = (low + high) // 2
                k = high
                if k <= size and n < self.code.shape[0] and self.winner_at(k, c, &row) != self.winner_at(low, c, &row):
                    self.code[n] = <uint64_t>k << 32 | n
                    self.position[n] = <uint32_t>r
                    self.rival[n] = <uint32_t>self.winner_at(low, c, &row)
                    self.target[n] = <uint32_t>self.winner_at(k, c, &row)
                    n += 1
        self.sort(n)
        for k in range(self.flips.n):
            entry = <uint32_t>self.code[k]
            self.fill(k, self.position[entry], self.rival[entry], self.target[entry])

    cdef int64_t winner_at(self, int64_t k, int64_t c, const Standing *row) noexcept nogil:
        """Return the class that wins a row where class `c` has the index k."""
        cdef double best = row.best, score = self.middle_weight[k] * row.p_follower
        cdef int64_t winner = row.rival
        if row.p_follower >= 0 and (score > best or (score == best and row.follower < winner)):
            best = score
            winner = row.follower
        score = self.levels.weight[k] * row.p
        if row.p >= 0 and (score > best or (score == best and c < winner)):
            winner = c
        return winner


def find_candidates(p, double span):
    """Yield slices of rows, their probabilities (N, B), and whether a class can win a row (N, B)."""
    for first in range(0, max(len(p), 1), ROWS_AT_ONCE):
        block = slice(first, first + ROWS_AT_ONCE)
        columns = p[block].T.astype(np.float64, order="C")
        yield block, columns, span * columns >= columns.max(axis=0)


cdef int check_indices(const double[::1] indices, int64_t n_classes, Levels levels) except -1:
    """Raise unless there is a weight index of 1..K for each class."""
    cdef int64_t n
    if indices.shape[0] != n_classes:
        raise ValueError(f"there must be {n_classes} weight indices")
    for n in range(n_classes):
        if not 1.0 <= indices[n] <= levels.size:
            raise ValueError(f"{indices[n]} is no weight index of 1..{levels.size}")
    return 0
