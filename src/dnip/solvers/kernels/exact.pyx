"""Branch and bound over boxes of weight indices: one depth-first search, from one box.

A box gives every class an interval of weights. A row is settled in it if the same class wins for
all weight vectors of the box. A row that is open between two classes a < b is a *contest*: it flips
from b to a where log ω_a - log ω_b passes log p_b - log p_a. So a contest depends on the ratio of
two weights alone, and the bounds are built on that.

Inside a box, Z (equation 2) is at least a linear function of the confusion counts. Each term has a
linear bound, and the multipliers choose among them:

- the error is linear, and so is a mean cost;
- COBias (equation 1) is the largest Σ_i v_i·A_i over all v of a permutohedron. Its corners are
  β/pairs times the permutations of (n-1, n-3, ..., 1-n). Any v in it gives a bound;
- -PMI_j is log(1 + w/(c + μ)) plus constants, for c right and w wrong predictions of class j. It is
  convex in c and concave in w, so a plane that is below it at the least and at the most w is below
  it everywhere;
- a point that misses no floor has floor - count ≤ 0 for each of them. Any price of at least 0 on
  what is missing keeps the bound below the Z of such points.

A linear function of counts is a sum over rows. An open row is a contest of two classes and depends
on the ratio of their weights alone. So the minimum over the box is at least the sum, over pairs of
classes, of the minima over their ratio. The contests of a pair are sorted by the ratio at which
they flip, so that one sweep gives the cost at every ratio.

A row with several rivals is shared out. It costs at least its cheapest wrong prediction, less what
a right one saves; and that is saved only where the true class is ahead of every rival. To ask that
of one rival alone bounds the saving from above, and so does any mean of this over the rivals. Their
parts in the mean add up to 1; each is a contest with that rival, for so much of the row.

Four things then raise the bound: subgradient steps on v, higher prices of the floors that are
missed, larger parts for the rivals that are ahead, and planes that touch at the counts of the
minima. With prices of at most 1 and nothing else, the same function bounds the least shortfall of a
box.
"""

cimport cython
from libc.math cimport INFINITY, exp, log, pow, rint, sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from dnip.solvers.kernels.values cimport Values, sum_columns
from dnip.solvers.kernels.values import MISSED

ctypedef fused number:
    int64_t
    double

cdef double FAR = MISSED
# Which class is true in a contest of a < b. With three or more candidates, a row is a *crowd*.
cdef enum:
    TRUE_A, TRUE_B, TRUE_NEITHER, TRUE_A_CROWDED, TRUE_B_CROWDED
    # the kind of a contest is one of these plus the true class times KINDS
    KINDS = 8
    # rivals that share a row out among them at most
    MOST_RIVALS = 4
    # how often a box is shaved and bounded again
    ROUNDS = 2
    # room for the open rows of all nodes, in lists of all rows; a search ends where it is full
    ROW_LISTS = 24
# Thresholds that differ by less, in logarithms, count as equal: this is far above rounding.
cdef double SAME = 1e-11
# Rivals that stand for less than this part of a crowd are left out, and those beyond the most.
cdef double LEAST_PART = 0.02
# How far the planes move toward the counts of the last minima.
cdef double PULL = 0.4
# What is left of the part of a rival that the true class beats, after a full step. No part is less
# than the smallest one, so that none is lost for ever.
cdef double FADE = 0.6, SMALLEST = 1e-4
# Boxes of at most this many points are searched point by point.
cdef double FEW_POINTS = 8.0
# Shaving that takes less off the volume, in logarithms, is not worth another bound.
cdef double WORTH_A_ROUND = 0.3


@cython.final
cdef class BoxRows:
    """Rows that are open in a box of weight vectors, as entries of a row and a candidate.

    Parameters
    ----------
    p : ndarray of shape (M, N)
    labels, counts : ndarray of shape (M,)
        Class indices, and how many examples each row counts as.
    lowest, highest : ndarray of shape (N,)
        The least and the largest weights.
    """

    cdef readonly const int64_t[::1] row_start  # (R + 1,) where each row's entries start
    cdef readonly const uint32_t[::1] row_class  # (T,) candidates, ascending within a row
    cdef readonly const double[::1] row_p, row_log_p  # (T,) their probabilities
    cdef readonly const uint32_t[::1] label  # (R,) true class
    cdef const int64_t[::1] counts  # (R,)
    cdef const int64_t[:, ::1] settled  # (N, N) counts of the other rows
    cdef readonly int64_t n_rows, n_classes

    def __init__(self, p, labels, counts, lowest, highest):
        n_rows, n_classes = p.shape
        labels, counts = (np.broadcast_to(a, n_rows) for a in (labels, counts))
        if n_rows and not 0 <= labels.min() <= labels.max() < n_classes:
            raise ValueError(f"labels must be 0..{n_classes - 1}")
        is_candidate = p * highest >= (p * lowest).max(axis=1, keepdims=True)
        n_candidates = is_candidate.sum(axis=1)
        if not n_candidates.all():
            raise ValueError("probabilities must be numbers")
        settled = np.zeros((n_classes, n_classes), np.int64)
        alone = n_candidates == 1
        np.add.at(settled, (labels[alone], is_candidate[alone].argmax(axis=1)), counts[alone])
        is_open = ~alone & (counts > 0)
        row, candidate = np.nonzero(is_candidate[is_open])
        row_p = p[is_open][row, candidate].astype(np.float64)
        self.row_start = np.concatenate(([0], np.cumsum(n_candidates[is_open])))
        self.row_class, self.row_p = candidate.astype(np.uint32), row_p
        with np.errstate(divide="ignore"):
            self.row_log_p = np.log(row_p)
        self.label, self.counts = labels[is_open].astype(np.uint32), counts[is_open].copy()
        self.settled, self.n_rows, self.n_classes = settled, self.label.shape[0], n_classes


@cython.final
cdef class DepthFirst:
    """A search that halves boxes and goes on with the better half.

    It ends after a number of boxes, or when no box is left that could hold a better point. The
    caller keeps the queue and takes back what is left.

    Parameters
    ----------
    rows : BoxRows
    weights : ndarray of shape (K,)
        The weights that a class may have, ascending.
    values : Values
        What is minimised.
    shortage : Values
        The floors of `values` alone: minimised while no feasible point is known.
    least_top : int
        Points without a position this high are copies of others, and left out.
    margin : float
        Points that are better by less do not count.
    followers, leaders : ndarray, optional
        Classes that stand at the geometric middle of others, and those others.
    linear : bool, default=True
        Whether the weights are 1..K, so that the middle is that of the positions' logarithms.

    Attributes
    ----------
    nodes : tuple of ndarray
        The boxes that may hold a better point, the next one last: their lowest and highest
        positions (D, N) each; their bounds (D,); the multipliers of these (D, 3, N): v, and the
        right and wrong counts at which the planes below -PMI touch it; and the prices (D, N + 1) of
        missing the floor of each class, and of all together, in rates.
    part : ndarray of shape (T,)
        Of its row that each rival in a crowd stands for; kept between boxes.
    value : float
        The best value so far.
    point : ndarray of shape (N,)
        Its positions on the scale, if this search found it.
    improved : bool
        Whether it did.
    n_points : int
        Points evaluated.
    """

    cdef BoxRows rows
    cdef Values z, shortage
    cdef const double[::1] weight, log_weight  # (K,)
    cdef int64_t n, least_top, n_steps
    cdef double margin
    cdef const int64_t[::1] leaders
    cdef uint32_t[::1] follows  # (N,) whether each class stands at the middle of the leaders
    cdef bint linear
    # nodes
    cdef readonly object nodes, part
    cdef int64_t[:, ::1] low, high
    cdef double[::1] bound
    cdef double[:, :, ::1] multipliers
    cdef double[:, ::1] price
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
    cdef int64_t[::1] trial, predicted  # (N,) room
    cdef int64_t[:, ::1] counts  # (N, N) room
    # contests of one box: C at most, more than R, as a row may be a contest with each of its rivals
    cdef int64_t n_pairs
    cdef int64_t[::1] pair  # (N²,) pairs a·N + b with contests, in the order in which they were met
    cdef int64_t[::1] start  # (N² + 1,) where the contests of each such pair start
    cdef int64_t[::1] place  # (N²,) room, -1 between two boxes
    cdef double[::1] threshold, raw_threshold  # (C,) log ω_a - log ω_b at which a comes ahead of b
    cdef uint32_t[::1] kind, raw_kind  # (C,)
    cdef double[::1] size, raw_size  # (C,) how many examples each counts as
    cdef int64_t[::1] raw_pair  # (C,) raw: as the contests are met
    cdef int64_t[::1] crowd, raw_crowd  # (C,) which crowd, for a crowded contest
    cdef int64_t[::1] rival, raw_rival  # (C,) and the entry of the rival
    cdef double[::1] parts  # (T,)
    cdef int64_t n_crowds
    cdef int64_t[::1] crowd_start  # (R + 1,) where the wrong classes of each crowd start
    cdef uint32_t[::1] crowd_class  # (T,)
    cdef uint32_t[::1] crowd_label  # (R,) true class of each crowd
    cdef int64_t[::1] crowd_stray  # (R,) counts of a crowd without the true class, 0 for others
    cdef int64_t[::1] most_correct  # (N,) examples of each class that can be predicted right
    cdef int64_t[::1] most_wrong  # (N,) examples that can be predicted as each class and are not
    cdef double[::1] lowest, highest  # (N,) room: weights
    cdef int64_t[::1] entries  # (N,) room
    # the linear function with the best bound so far; new_: of the multipliers being tried
    cdef double[::1] reward, penalty  # (N,) what a right and a wrong prediction of each class costs
    cdef double[::1] least, new_least  # (N²,) minimum of each pair
    cdef double[::1] cost, new_cost  # (C,) of a pair's contests, its ratio at each threshold
    cdef double[::1] correct, wrong  # (N,) counts at the minima
    cdef double[::1] new_v, new_price  # (N,), (N + 1,)
    cdef double[::1] loss  # (R,) the least that a wrong prediction of each crowd costs
    cdef double[::1] change  # (C,) what flipping each contest adds to the cost
    cdef uint32_t[::1] held  # (C,) whether the true class is ahead in each contest
    cdef double[::1] before, after  # (R,) room: sizes of the contests of each crowd
    cdef int64_t[::1] order, block_size  # (N,) room
    cdef double[::1] block_total  # (N,) room

    def __init__(
        self,
        BoxRows rows not None,
        const double[::1] weights not None,
        Values values not None,
        Values shortage not None,
        *,
        int64_t least_top,
        double margin,
        followers=(),
        leaders=(),
        bint linear=True,
    ):
        n, n_rows, n_entries = rows.n_classes, rows.n_rows, rows.row_p.shape[0]
        if not n == values.n_classes == shortage.n_classes:
            raise ValueError(f"the values must be of {n} classes")
        if values.floors.shape[0] != shortage.floors.shape[0]:
            raise ValueError("the two values must have floors alike")
        if not (len(weights) and weights[0] > 0 and np.all(np.diff(weights) > 0)):
            raise ValueError("weights must be positive and ascending")
        self.rows, self.z, self.shortage, self.n = rows, values, shortage, n
        self.weight, self.log_weight = weights, np.log(weights)
        self.least_top, self.margin, self.linear = least_top, margin, linear
        self.leaders, self.follows = np.array(leaders, np.int64), np.zeros(n, np.uint32)
        if not set(leaders) | set(followers) <= set(range(n)) or (len(followers) and not len(leaders)):
            raise ValueError(f"followers and leaders must be classes of 0..{n - 1}")
        np.asarray(self.follows)[list(followers)] = True
        depth = 2 + 2 * n * int(np.ceil(np.log2(len(weights) + 1)))
        d, c = depth + 2, min(MOST_RIVALS * n_rows, n_entries)

        def whole(*shape):
            return np.zeros(shape, np.int64)

        self.nodes = whole(d, n), whole(d, n), np.zeros(d), np.zeros((d, 3, n)), np.zeros((d, n + 1))
        self.low, self.high, self.bound, self.multipliers, self.price = self.nodes
        self.split, self.confusion = whole(d), whole(d, n, n)
        self.first, self.n_rows, self.end = whole(d), whole(d), whole(d)
        self.open_rows = np.empty(min(depth, ROW_LISTS) * n_rows, np.uint32)
        self.point = whole(n)
        self.best_point, self.trial, self.predicted = self.point, whole(n), whole(n)
        self.counts = whole(n, n)
        self.pair, self.start, self.place = whole(n * n), whole(n * n + 1), np.full(n * n, -1)
        self.threshold, self.raw_threshold = np.empty(c), np.empty(c)
        self.kind, self.raw_kind = np.empty(c, np.uint32), np.empty(c, np.uint32)
        self.size, self.raw_size, self.raw_pair = np.empty(c), np.empty(c), whole(c)
        self.crowd, self.raw_crowd, self.rival, self.raw_rival = (whole(c) for _ in range(4))
        self.part = np.clip(rows.row_p, 0.01, 1.0) ** 2
        self.parts = self.part
        self.crowd_start, self.crowd_class = whole(n_rows + 1), np.empty(n_entries, np.uint32)
        self.crowd_label, self.crowd_stray = np.empty(n_rows, np.uint32), whole(n_rows)
        self.most_correct, self.most_wrong, self.entries = whole(n), whole(n), whole(n)
        self.lowest, self.highest = np.empty(n), np.empty(n)
        self.reward, self.penalty = np.empty(n), np.empty(n)
        self.least, self.new_least = np.empty(n * n), np.empty(n * n)
        self.cost, self.new_cost = np.empty(c), np.empty(c)
        self.correct, self.wrong = np.empty(n), np.empty(n)
        self.new_v, self.new_price = np.empty(n), np.empty(n + 1)
        self.loss, self.change, self.held = np.empty(n_rows), np.empty(c), np.empty(c, np.uint32)
        self.before, self.after = np.empty(n_rows), np.empty(n_rows)
        self.order, self.block_total, self.block_size = whole(n), np.empty(n), whole(n)

    def search(self, double best_value, *, int64_t n_boxes, int64_t n_steps):
        """Search the box in node 0 for points better than the best value.

        `n_steps` are those of the multipliers in a box. Returns how many nodes are left after
        `n_boxes` boxes, from node 0 on.
        """
        low, high = self.nodes[0][0], self.nodes[1][0]
        if not (0 <= low.min() and (low <= high).all() and high.max() < self.weight.shape[0]):
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
        cdef int64_t height = 0, n_seen = 0, n_parts = 1, base, free, part, first, n_source, d, r
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
            for part in range(n_parts):
                self.copy_node(parent, height)
                if n_parts == 2:
                    self.halve(self.split[parent], height, part == 1)
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
            n_seen += n_parts
            n_parts = 2
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
        cdef int64_t rounds = 0
        cdef double missing, goal, least, bound, shaved
        cdef bint infeasible
        while True:
            self.follow(&self.low[d, 0])
            self.follow(&self.high[d, 0])
            if not self.reaches_top(d):
                return False
            n_source = self.narrow(d, source, n_source)
            source = self.first[d]
            self.n_rows[d] = n_source
            if n_source == 0 or self.has_few_points(d):
                self.try_points(d, n_source)
                return False
            if self.z.floors.shape[0] > 0:
                missing = self.z.missing(&self.most_correct[0])
                if missing > 0.0:
                    self.raise_node(d, FAR * (1.0 + missing))
                    if self.bound[d] >= self.value:
                        return False
            goal = self.value - self.margin
            infeasible = goal >= FAR
            if infeasible:
                least = self.value / FAR - 1.0
                goal = least - min(self.margin, least / 2.0)
                bound = self.raise_bound(self.shortage, 1.0, d, goal)
                if bound > 0.0:
                    self.raise_node(d, FAR * (1.0 + bound))
            else:
                bound = self.raise_bound(self.z, INFINITY, d, goal)
                self.raise_node(d, bound)
            if bound >= goal or self.bound[d] >= self.value - self.margin:
                return False
            shaved = self.shave(d, bound, goal)
            if shaved == INFINITY:
                return False
            rounds += 1
            if (shaved < WORTH_A_ROUND or rounds == ROUNDS) and not self.has_few_points(d):
                break
        self.split[d] = self.choose_class(d)
        return True

    cdef void follow(self, int64_t *positions) noexcept nogil:
        """Move the followers to the middle of the leaders: it rises where any of these rises."""
        cdef double mean = 0.0
        cdef int64_t i, c, n = self.leaders.shape[0]
        for i in range(n):
            c = self.leaders[i]
            mean += self.log_weight[positions[c]] if self.linear else positions[c] + 1.0
        mean = exp(mean / n) if self.linear else mean / n
        for c in range(self.n):
            if self.follows[c]:
                positions[c] = <int64_t>rint(mean) - 1

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
            if not self.follows[c]:
                n_points *= self.high[d, c] - self.low[d, c] + 1
        return n_points <= FEW_POINTS

    cdef void try_points(self, int64_t d, int64_t n_open) noexcept nogil:
        """Evaluate every point of a box, or any one if no row is open."""
        cdef int64_t i, row, e, c
        cdef uint32_t winner
        cdef double score, best, here
        copy(&self.trial[0], &self.high[d, 0], self.n)
        while True:
            copy(&self.counts[0, 0], &self.confusion[d, 0, 0], self.n * self.n)
            for i in range(self.first[d], self.first[d] + n_open):
                row = self.open_rows[i]
                best = -1.0
                winner = 0
                for e in range(self.rows.row_start[row], self.rows.row_start[row + 1]):
                    score = self.weight[self.trial[self.rows.row_class[e]]] * self.rows.row_p[e]
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
                self.follows[c] or self.trial[c] == self.low[d, c] or n_open == 0
            ):
                self.trial[c] = self.high[d, c]
                c += 1
            if c == self.n:
                return
            self.trial[c] -= 1
            self.follow(&self.trial[0])

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
        copy(&self.multipliers[target, 0, 0], &self.multipliers[source, 0, 0], 3 * self.n)
        copy(&self.price[target, 0], &self.price[source, 0], self.n + 1)
        copy(&self.confusion[target, 0, 0], &self.confusion[source, 0, 0], self.n * self.n)
        self.bound[target] = self.bound[source]
        self.split[target] = self.split[source]
        self.first[target] = self.first[source]
        self.n_rows[target] = self.n_rows[source]
        self.end[target] = self.end[source]

    # --- contests of a box ---

    cdef int64_t narrow(self, int64_t d, int64_t source, int64_t n_source) noexcept nogil:
        """Count the rows that a box settles, keep the open ones, and list their contests.

        The rows are those from `source` on in the list of open rows; they are kept in the place of
        the node, which may be the same. Returns how many are.
        """
        cdef int64_t n_kept = 0, n_contests = 0, x, i, c, row, size, n_open, true, kept = self.first[d]
        cdef uint32_t label, kind
        for c in range(self.n):
            self.lowest[c] = self.weight[self.low[d, c]]
            self.highest[c] = self.weight[self.high[d, c]]
            self.most_correct[c] = self.most_wrong[c] = 0
        self.n_crowds = 0
        for x in range(source, source + n_source):
            row = self.open_rows[x]
            label, size = self.rows.label[row], self.rows.counts[row]
            n_open = self.find_open(row)
            if n_open == 1:
                self.confusion[d, label, self.rows.row_class[self.entries[0]]] += size
                continue
            self.open_rows[kept + n_kept] = <uint32_t>row
            n_kept += 1
            true = -1  # entry of the true class
            for i in range(n_open):
                c = self.rows.row_class[self.entries[i]]
                if c == label:
                    true = self.entries[i]
                    self.most_correct[c] += size
                else:
                    self.most_wrong[c] += size
            if n_open > 2:
                n_contests = self.share_row(row, n_open, true, n_contests)
                continue
            kind = TRUE_NEITHER
            if self.entries[0] == true:
                kind = TRUE_A
            elif self.entries[1] == true:
                kind = TRUE_B
            self.add_contest(row, self.entries[0], self.entries[1], kind, size, n_contests)
            n_contests += 1
        self.sort_contests(n_contests)
        for c in range(self.n):
            self.most_correct[c] += self.confusion[d, c, c]
            for i in range(self.n):
                if i != c:
                    self.most_wrong[c] += self.confusion[d, i, c]
        return n_kept

    cdef int64_t find_open(self, int64_t row) noexcept nogil:
        """List the entries of a row whose class wins somewhere in the box."""
        cdef int64_t e, n_open = 0, first = self.rows.row_start[row]
        cdef int64_t last = self.rows.row_start[row + 1]
        cdef uint32_t c, ahead = 0  # the class with the best score at its lowest weight
        cdef double score, best = -1.0
        for e in range(first, last):
            score = self.lowest[self.rows.row_class[e]] * self.rows.row_p[e]
            if score > best:
                best = score
                ahead = self.rows.row_class[e]
        for e in range(first, last):
            c = self.rows.row_class[e]
            score = self.highest[c] * self.rows.row_p[e]
            if c == ahead or score > best or (score == best and c < ahead):
                self.entries[n_open] = e
                n_open += 1
        return n_open

    cdef int64_t share_row(
        self, int64_t row, int64_t n_open, int64_t true, int64_t n_contests
    ) noexcept nogil:
        """List a crowd, and share it out: its true class meets some rivals, each for a part.

        Those are the rivals with the largest parts. Returns how many contests there are then.
        """
        cdef int64_t i, e, rival, largest, n_rivals = 0, crowd = self.n_crowds
        cdef int64_t end = self.crowd_start[crowd]
        cdef double size, total = 0.0
        for i in range(n_open):
            e = self.entries[i]
            if self.rows.row_class[e] != self.rows.label[row]:
                self.crowd_class[end] = self.rows.row_class[e]
                end += 1
        self.n_crowds += 1
        self.crowd_start[crowd + 1] = end
        self.crowd_stray[crowd] = 0
        self.crowd_label[crowd] = self.rows.label[row]
        if true < 0:
            self.crowd_stray[crowd] = self.rows.counts[row]
            return n_contests
        for i in range(n_open):
            if self.entries[i] == true:
                self.entries[i] = self.entries[n_open - 1]
                break
        while n_rivals < n_open - 1 and n_rivals < MOST_RIVALS:
            largest = n_rivals
            for i in range(n_rivals + 1, n_open - 1):
                if self.parts[self.entries[i]] > self.parts[self.entries[largest]]:
                    largest = i
            rival = self.entries[largest]
            if self.parts[rival] < LEAST_PART * total:
                break
            self.entries[largest] = self.entries[n_rivals]
            self.entries[n_rivals] = rival
            total += self.parts[rival]
            n_rivals += 1
        for i in range(n_rivals):
            rival = self.entries[i]
            size = self.rows.counts[row] * (self.parts[rival] / total)
            if true < rival:
                self.add_contest(row, true, rival, TRUE_A_CROWDED, size, n_contests)
            else:
                self.add_contest(row, rival, true, TRUE_B_CROWDED, size, n_contests)
            self.raw_crowd[n_contests] = crowd
            self.raw_rival[n_contests] = rival
            n_contests += 1
        return n_contests

    cdef void add_contest(
        self, int64_t row, int64_t one, int64_t other, uint32_t kind, double size, int64_t x
    ) noexcept nogil:
        """List a contest of two entries of a row, the lower class first."""
        self.raw_pair[x] = self.rows.row_class[one] * self.n + self.rows.row_class[other]
        self.raw_threshold[x] = self.rows.row_log_p[other] - self.rows.row_log_p[one]
        self.raw_kind[x] = kind + KINDS * self.rows.label[row]
        self.raw_size[x] = size

    cdef void sort_contests(self, int64_t n_contests) noexcept nogil:
        """Group the contests by pair, and sort those of a pair by threshold."""
        cdef int64_t n_pairs = 0, total = 0, x, q, pair, size, at
        for x in range(n_contests):
            pair = self.raw_pair[x]
            if self.place[pair] < 0:
                self.place[pair] = n_pairs
                self.pair[n_pairs] = pair
                self.start[n_pairs] = 0
                n_pairs += 1
            self.start[self.place[pair]] += 1
        self.n_pairs = n_pairs
        for q in range(n_pairs):
            size = self.start[q]
            self.start[q] = total
            self.place[self.pair[q]] = total
            total += size
        self.start[n_pairs] = total
        for x in range(n_contests):
            at = self.place[self.raw_pair[x]]
            self.place[self.raw_pair[x]] = at + 1
            self.threshold[at] = self.raw_threshold[x]
            self.kind[at] = self.raw_kind[x]
            self.size[at] = self.raw_size[x]
            self.crowd[at] = self.raw_crowd[x]
            self.rival[at] = self.raw_rival[x]
        for q in range(n_pairs):
            self.place[self.pair[q]] = -1
            self.shell_sort(self.start[q], self.start[q + 1])

    cdef void shell_sort(self, int64_t first, int64_t last) noexcept nogil:
        """Sort the contests from `first` to `last` - 1 by threshold."""
        cdef int64_t x, at, crowd, rival, stride = 1
        cdef double threshold, size
        cdef uint32_t kind
        while 3 * stride < last - first:
            stride = 3 * stride + 1
        while stride > 0:
            for x in range(first + stride, last):
                threshold, kind, size = self.threshold[x], self.kind[x], self.size[x]
                crowd, rival = self.crowd[x], self.rival[x]
                at = x
                while at - stride >= first and self.threshold[at - stride] > threshold:
                    self.threshold[at] = self.threshold[at - stride]
                    self.kind[at] = self.kind[at - stride]
                    self.size[at] = self.size[at - stride]
                    self.crowd[at] = self.crowd[at - stride]
                    self.rival[at] = self.rival[at - stride]
                    at -= stride
                self.threshold[at], self.kind[at], self.size[at] = threshold, kind, size
                self.crowd[at], self.rival[at] = crowd, rival
            stride //= 3

    # --- the bound of a box ---

    cdef double raise_bound(
        self, Values terms, double dearest, int64_t d, double goal
    ) noexcept nogil:
        """Bound Z over a box from below; improve the multipliers until the bound reaches `goal`.

        Points that miss floors are left out of it. No price of a missed floor goes above `dearest`.
        """
        cdef double bound, best = -INFINITY, stride = 1.0, single = 0.0
        cdef int64_t c, step
        copy(&self.new_v[0], &self.multipliers[d, 0, 0], self.n)
        for c in range(self.n + 1):
            self.new_price[c] = min(self.price[d, c], dearest)
        if terms.single > 0:
            single = terms.single * self.least_single(d)
        for step in range(self.n_steps):
            bound = single + self.relax(terms, d)
            if bound > best:
                best = bound
                self.keep_multipliers(d)
            else:
                stride *= 1.0 - 1.0 / sqrt(2.0 * self.n_steps)
            if best >= goal:
                break
            self.share_out(pow(FADE, stride))
            if terms.cobias > 0 or terms.floors.shape[0] > 0:
                self.take_step(terms, dearest, stride * (goal - bound))
            if terms.tau > 0:
                for c in range(self.n):
                    self.multipliers[d, 1, c] += PULL * (self.correct[c] - self.multipliers[d, 1, c])
                    self.multipliers[d, 2, c] += PULL * (self.wrong[c] - self.multipliers[d, 2, c])
        return best

    cdef void keep_multipliers(self, int64_t d) noexcept nogil:
        """Keep the multipliers of the best bound so far, and its parts contest by contest."""
        copy(&self.multipliers[d, 0, 0], &self.new_v[0], self.n)
        copy(&self.price[d, 0], &self.new_price[0], self.n + 1)
        copy(&self.least[0], &self.new_least[0], self.n_pairs)
        copy(&self.cost[0], &self.new_cost[0], self.start[self.n_pairs])

    cdef double relax(self, Values terms, int64_t d) noexcept nogil:
        """Minimise the linear function of the new multipliers over the box, pair by pair."""
        cdef double bound = terms.error, slope, lower, upper
        cdef int64_t c, i, q, right, wrong
        if terms.costs.shape[0] > 0:
            bound += terms.cost(&self.confusion[d, 0, 0]) / self.z.total
        for c in range(self.n):
            right = self.confusion[d, c, c]
            self.reward[c] = -terms.error / self.z.total
            self.penalty[c] = 0.0
            if terms.cobias > 0 and self.z.true[c] > 0:
                self.reward[c] += self.new_v[c] / self.z.true[c]
            if terms.floors.shape[0] > 0:
                self.reward[c] -= self.new_price[self.n] / self.z.total
                if self.z.true[c] > 0:
                    self.reward[c] -= self.new_price[c] / self.z.true[c]
                    bound += self.new_price[c] * (<double>terms.floors[c] / self.z.true[c])
            if terms.tau > 0:
                wrong = 0
                for i in range(self.n):
                    if i != c:
                        wrong += self.confusion[d, i, c]
                slope = slope_of(
                    between(self.multipliers[d, 1, c], right, self.most_correct[c]) + terms.smoothing,
                    between(self.multipliers[d, 2, c], wrong, self.most_wrong[c]),
                )
                lower = below(slope, wrong, right, self.most_correct[c], terms.smoothing)
                if self.most_wrong[c] > wrong:
                    upper = below(
                        slope, self.most_wrong[c], right, self.most_correct[c], terms.smoothing
                    )
                    self.penalty[c] = terms.tau * (upper - lower) / (self.most_wrong[c] - wrong)
                self.reward[c] += terms.tau * slope
                bound += terms.tau * (lower - self.z.pmi_constant[c])
                self.wrong[c] = wrong
            self.correct[c] = right
            bound += self.reward[c] * right
        if terms.floors.shape[0] > 0:
            bound += self.new_price[self.n] * (terms.floor / self.z.total)
        bound += self.price_crowds(terms)
        for q in range(self.n_pairs):
            bound += self.sweep(terms, q, d)
        return bound

    cdef double price_crowds(self, Values terms) noexcept nogil:
        """Price a wrong prediction of every crowd; return the cost of those only ever wrong."""
        cdef double loss, least, cost = 0.0
        cdef int64_t x, e
        for x in range(self.n_crowds):
            least = INFINITY
            for e in range(self.crowd_start[x], self.crowd_start[x + 1]):
                loss = self.penalty[self.crowd_class[e]]
                if terms.costs.shape[0] > 0:
                    loss += terms.costs[self.crowd_label[x], self.crowd_class[e]] / self.z.total
                least = loss if loss < least else least
            self.loss[x] = least
            cost += self.crowd_stray[x] * least
        return cost

    cdef double sweep(self, Values terms, int64_t q, int64_t d) noexcept nogil:
        """Minimise the cost of a pair's contests over the ratio of its weights; count there."""
        cdef int64_t a = self.pair[q] // self.n, b = self.pair[q] % self.n
        cdef int64_t e, end, x = self.start[q], last = self.start[q + 1]
        cdef double lowest = self.log_weight[self.low[d, a]] - self.log_weight[self.high[d, b]] - SAME
        cdef double highest = self.log_weight[self.high[d, a]] - self.log_weight[self.low[d, b]] + SAME
        cdef double cost = self.price_contests(terms, q, a, b, lowest), least = INFINITY
        cdef double threshold, low, flipped, turning = lowest  # lower thresholds go to a
        while x < last:
            threshold = self.threshold[x]
            if threshold < lowest or threshold > highest:
                self.new_cost[x] = INFINITY
                x += 1
                continue
            # contests that flip together may each go either way
            low = flipped = cost
            end = x
            while end < last and self.threshold[end] - threshold < SAME:
                low += self.change[end] if self.change[end] < 0.0 else 0.0
                flipped += self.change[end]
                end += 1
            for e in range(x, end):
                self.new_cost[e] = low
            if low < least:
                least = low
                turning = threshold
            cost = flipped
            x = end
        least = cost if cost < least else least  # also where all thresholds are outside the box
        self.new_least[q] = least
        self.count_contests(q, a, b, turning)
        return least

    cdef double price_contests(
        self, Values terms, int64_t q, int64_t a, int64_t b, double lowest
    ) noexcept nogil:
        """Price every contest of a pair; return the cost of all where the ratio is lowest."""
        cdef double to_a, to_b, cost = 0.0
        cdef int64_t x
        cdef uint32_t kind, true
        for x in range(self.start[q], self.start[q + 1]):
            kind = self.kind[x] % KINDS
            to_a = self.reward[a] if kind == TRUE_A or kind == TRUE_A_CROWDED else self.penalty[a]
            to_b = self.reward[b] if kind == TRUE_B or kind == TRUE_B_CROWDED else self.penalty[b]
            if terms.costs.shape[0] > 0:
                true = self.kind[x] // KINDS
                to_a += terms.costs[true, a] / self.z.total
                to_b += terms.costs[true, b] / self.z.total
            if kind == TRUE_A_CROWDED:
                to_b = self.loss[self.crowd[x]]
                to_a = to_b if to_b < to_a else to_a
            elif kind == TRUE_B_CROWDED:
                to_a = self.loss[self.crowd[x]]
                to_b = to_a if to_a < to_b else to_b
            self.change[x] = self.size[x] * (to_a - to_b)
            cost += self.size[x] * (to_a if self.threshold[x] < lowest else to_b)
        return cost

    cdef void count_contests(self, int64_t q, int64_t a, int64_t b, double turning) noexcept nogil:
        """Count a pair's right and wrong predictions where its ratio is at `turning`."""
        cdef int64_t x
        cdef uint32_t kind
        cdef double size
        cdef bint goes_a
        for x in range(self.start[q], self.start[q + 1]):
            kind, size = self.kind[x] % KINDS, self.size[x]
            goes_a = self.threshold[x] < turning + SAME
            if self.threshold[x] >= turning:
                goes_a = goes_a and self.change[x] < 0
            self.held[x] = True
            if goes_a and (kind == TRUE_A or kind == TRUE_A_CROWDED):
                self.correct[a] += size
            elif not goes_a and (kind == TRUE_B or kind == TRUE_B_CROWDED):
                self.correct[b] += size
            else:
                self.wrong[a if goes_a else b] += size
                self.held[x] = False

    cdef void share_out(self, double left) noexcept nogil:
        """Give less of a crowd to rivals that its true class beats, and so more to the others."""
        cdef int64_t x, crowd, rival, n_contests = self.start[self.n_pairs]
        cdef double factor, part
        for crowd in range(self.n_crowds):
            self.before[crowd] = self.after[crowd] = 0.0
        for x in range(n_contests):
            if self.kind[x] % KINDS >= TRUE_A_CROWDED:
                self.before[self.crowd[x]] += self.size[x]
                self.after[self.crowd[x]] += self.size[x] * (left if self.held[x] else 1.0)
        for x in range(n_contests):
            # what it costs where the true class is as well off wrong does not depend on the parts
            if self.kind[x] % KINDS >= TRUE_A_CROWDED and self.change[x] != 0.0:
                crowd, rival = self.crowd[x], self.rival[x]
                factor = self.before[crowd] / self.after[crowd] * (left if self.held[x] else 1.0)
                self.size[x] *= factor
                part = self.parts[rival] * factor
                self.parts[rival] = part if part > SMALLEST else SMALLEST

    cdef double least_single(self, int64_t d) noexcept nogil:
        """Bound COBias_single: no class is nearer to an odd one than their intervals are."""
        cdef int64_t i, j, n = self.n
        cdef double above, under, closest, total = 0.0
        if self.z.n_present < n:
            return 0.0  # an odd class without examples takes its class out of the mean
        for i in range(n):
            if self.most_correct[i] == self.z.true[i]:
                continue  # it may have no error, and so no odd class
            closest = INFINITY
            for j in range(n):
                if j != i:
                    above = self.rate(self.confusion[d, i, i], i) - self.rate(self.most_correct[j], j)
                    under = self.rate(self.confusion[d, j, j], j) - self.rate(self.most_correct[i], i)
                    closest = min(closest, max(above, under, 0.0))
            total += closest
        return total / n

    cdef double rate(self, int64_t count, int64_t c) noexcept nogil:
        """Divide a count by the examples of a class."""
        return <double>count / self.z.true[c]

    cdef void take_step(self, Values terms, double dearest, double deficit) noexcept nogil:
        """Take Polyak's subgradient step: as far as closes the deficit of a linear bound."""
        cdef int64_t c, x, n = self.z.n_present
        cdef double missing, raised, off, mean = 0.0, square = 1e-12
        if terms.cobias > 0:
            for x in range(n):
                c = self.z.ranking[x]
                mean += self.correct[c] / self.z.true[c] / n
            for x in range(n):
                c = self.z.ranking[x]
                off = self.correct[c] / self.z.true[c] - mean
                square += off * off
        if terms.floors.shape[0] > 0:
            for c in range(self.n + 1):
                missing = self.missing_of(terms, c)
                if missing > 0 or self.new_price[c] > 0:
                    square += missing * missing
            for c in range(self.n + 1):
                raised = self.new_price[c] + deficit / square * self.missing_of(terms, c)
                self.new_price[c] = between(raised, 0.0, dearest)
        if terms.cobias > 0:
            for x in range(n):
                c = self.z.ranking[x]
                self.new_v[c] += deficit / square * (self.correct[c] / self.z.true[c] - mean)
            self.project(terms.cobias / (n * (n - 1) / 2.0))

    cdef double missing_of(self, Values terms, int64_t c) noexcept nogil:
        """Return by what rate the relaxed counts miss the floor of a class, or that of all."""
        cdef double correct = 0.0
        cdef int64_t i
        if c == self.n:
            for i in range(self.n):
                correct += self.correct[i]
            return (terms.floor - correct) / self.z.total
        if self.z.true[c] == 0:
            return 0.0
        return (terms.floors[c] - self.correct[c]) / self.z.true[c]

    cdef void project(self, double radius) noexcept nogil:
        """Project v onto the permutohedron: isotonic regression of v, sorted, minus its corner."""
        cdef int64_t x, at, block, last, i, n = self.z.n_present, n_blocks = 0
        for x in range(n):  # v descending
            at = x
            while at > 0 and self.new_v[self.order[at - 1]] < self.new_v[self.z.ranking[x]]:
                self.order[at] = self.order[at - 1]
                at -= 1
            self.order[at] = self.z.ranking[x]
        for x in range(n):
            self.block_total[n_blocks] = self.new_v[self.order[x]] - radius * (n - 1 - 2 * x)
            self.block_size[n_blocks] = 1
            while (
                n_blocks > 0
                and self.block_total[n_blocks - 1] * self.block_size[n_blocks]
                <= self.block_total[n_blocks] * self.block_size[n_blocks - 1]
            ):
                n_blocks -= 1
                self.block_total[n_blocks] += self.block_total[n_blocks + 1]
                self.block_size[n_blocks] += self.block_size[n_blocks + 1]
            n_blocks += 1
        at = 0
        for block in range(n_blocks):
            for i in range(self.block_size[block]):
                self.new_v[self.order[at]] -= self.block_total[block] / self.block_size[block]
                at += 1

    # --- cutting a box ---

    cdef double shave(self, int64_t d, double bound, double goal) noexcept nogil:
        """Cut off the ends of intervals where the bound reaches `goal`.

        Returns the logarithm of what the volume shrank by, infinite if nothing is left.
        """
        cdef int64_t c, end, width, n, low, high
        cdef double shaved = 0.0
        for c in range(self.n):
            if self.follows[c]:
                continue
            for end in range(2):
                width = self.high[d, c] - self.low[d, c] + 1
                n = (width + 1) // 2
                while n > 0:
                    low, high = self.low[d, c], self.high[d, c]
                    if end == 0:
                        high = low + n - 1
                    else:
                        low = high - n + 1
                    if bound + self.gain_of(d, c, low, high) >= goal:
                        if n == width:
                            return INFINITY
                        shaved += log(<double>width / (width - n))
                        if end == 0:
                            self.low[d, c] = high + 1
                        else:
                            self.high[d, c] = low - 1
                        break
                    n //= 2
        return shaved

    cdef double gain_of(self, int64_t d, int64_t c, int64_t low, int64_t high) noexcept nogil:
        """Return how much the bound rises when class `c` is held between `low` and `high`."""
        cdef int64_t q, a, b, x, first, last, inside
        cdef double lowest, highest, least, gain = 0.0
        for q in range(self.n_pairs):
            a, b = self.pair[q] // self.n, self.pair[q] % self.n
            if c != a and c != b:
                continue
            if a == c:
                lowest = self.log_weight[low] - self.log_weight[self.high[d, b]]
                highest = self.log_weight[high] - self.log_weight[self.low[d, b]]
            else:
                lowest = self.log_weight[self.low[d, a]] - self.log_weight[high]
                highest = self.log_weight[self.high[d, a]] - self.log_weight[low]
            first, last = self.start[q], self.start[q + 1]
            x = first
            while x < last and self.threshold[x] < lowest - SAME:
                x += 1
            least = INFINITY
            inside = x
            while x < last and self.threshold[x] <= highest + SAME:
                least = self.cost[x] if self.cost[x] < least else least
                x += 1
            if x == inside:
                # between two thresholds, where the cost is no less than at either of them
                least = self.least[q]
                if x > first and self.cost[x - 1] < INFINITY:
                    least = self.cost[x - 1] if self.cost[x - 1] > least else least
                if x < last and self.cost[x] < INFINITY:
                    least = self.cost[x] if self.cost[x] > least else least
            if least < INFINITY:
                gain += least - self.least[q]
        return gain

    cdef int64_t choose_class(self, int64_t d) noexcept nogil:
        """Return the class to halve: one with many contests and a wide interval."""
        cdef int64_t c, q, x, chosen = -1
        cdef double width, most = 0.0
        for c in range(self.n):
            self.lowest[c] = 1e-9  # a class without contests is halved last
        for q in range(self.n_pairs):
            for x in range(self.start[q], self.start[q + 1]):
                self.lowest[self.pair[q] // self.n] += self.size[x]
                self.lowest[self.pair[q] % self.n] += self.size[x]
        for c in range(self.n):
            width = self.log_weight[self.high[d, c]] - self.log_weight[self.low[d, c]]
            if self.lowest[c] * width > most and not self.follows[c]:
                most = self.lowest[c] * width
                chosen = c
        return chosen


cdef inline void copy(number *target, const number *source, int64_t n) noexcept nogil:
    """Copy n numbers."""
    memcpy(target, source, n * sizeof(number))


cdef inline double between(double x, double low, double high) noexcept nogil:
    """Return the number from `low` to `high` that is nearest to x."""
    x = x if x > low else low
    return x if x < high else high


cdef double slope_of(double correct, double wrong) noexcept nogil:
    """Return the derivative of log(1 + wrong/correct) by `correct`."""
    return -wrong / (correct * (correct + wrong))


cdef double below(
    double slope, double wrong, double least, double most, double smoothing
) noexcept nogil:
    """Return the minimum of log(1 + wrong/(c + μ)) - slope·c over c from `least` to `most`."""
    cdef double c = most
    if wrong > 0 and slope < 0:
        # where the derivative is `slope`: (c + μ)² + wrong·(c + μ) + wrong/slope = 0
        c = 0.5 * (sqrt(wrong * wrong - 4 * wrong / slope) - wrong) - smoothing
    elif slope < 0:
        c = least
    c = between(c, least, most)
    return log((c + wrong + smoothing) / (c + smoothing)) - slope * c
