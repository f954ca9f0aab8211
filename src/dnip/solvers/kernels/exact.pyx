"""Branch and bound over boxes of weight indices: one depth-first search, from one box.

A box gives every class an interval of weights. It is narrowed to the rows that are open in it,
bounded, shaved and halved; the better half comes first. A row is settled in a box if the same class
wins for all weight vectors of it. A row that is open between two classes a < b is a *contest*: it
flips from b to a where log ω_a - log ω_b passes log p_b - log p_a. So a contest depends on the
ratio of two weights alone, and the bounds are built on that.

Inside a box, Z is at least a linear function of the confusion counts. Each term has a linear bound,
and the multipliers choose among them:

- the error is linear, and so are the mean recall and a mean cost;
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

A row with several rivals, a *crowd*, is shared out. It costs at least its cheapest wrong
prediction, less what a right one saves; and that is saved only where the true class is ahead of
every rival. To ask that of one rival alone bounds the saving from above, and so does any mean of
this over the rivals. Their shares in the mean add up to 1; each is a contest with that rival, for
so much of the row.

Three things then raise the bound: subgradient steps on v, higher prices of the floors that are
missed, and larger shares for the rivals that are ahead. With prices of at most 1 and nothing else,
the same function bounds the least shortfall of a box.
"""

cimport cython
from libc.math cimport INFINITY, log, pow, sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy as np

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
    # rivals that share a row out among them at most
    MOST_RIVALS = 4
# Boxes of at most this many points are searched point by point.
cdef double FEW_POINTS = 8.0
# Thresholds that differ by less, in logarithms, count as equal: this is far above rounding.
cdef double SAME = 1e-11
# Rivals that stand for less than this share of a crowd are left out, and those beyond the most.
cdef double LEAST_SHARE = 0.02
# What is left of the share of a rival that the true class beats, after a full step. No share is
# less than the smallest one, so that none is lost for ever.
cdef double FADE = 0.6, SMALLEST = 1e-4


cdef struct Box:
    # an interval of weight indices for every class, and what its bound starts from
    int64_t *low  # (N,)
    int64_t *high  # (N,)
    int64_t *confusion  # (N, N) counts of the rows that are settled in it
    double *v  # (N,) multipliers of the accuracies
    double *price  # (N + 1,) of missing the floor of each class, and of all together, in rates


cdef struct Contest:
    # of two classes a < b for a row, or for a share of one
    double threshold  # log ω_a - log ω_b at which a comes ahead of b
    double size  # how many examples it counts as
    double change  # what it adds to the cost where it flips to a
    int64_t crowd  # -1: the row has no third candidate
    uint32_t pair  # a·N + b
    uint32_t true  # the true class
    uint32_t rival  # the entry of the rival, in a crowd
    bint held  # whether the true class is ahead


cdef struct Pair:
    # the contests of two classes a < b
    int64_t a, b
    int64_t first, last  # they are contests first..last - 1, by threshold
    double least, new_least  # minimum of their cost


cdef struct Crowd:
    # a row with three or more candidates
    int64_t first, last  # its wrong classes, in `wrong_classes`
    int64_t stray  # its examples if its true class is not a candidate, 0 for others
    uint32_t true
    double loss  # the least that a wrong prediction costs
    double before, after  # room: sizes of its contests


@cython.final
cdef class Contests:
    """The contests and the crowds of one box.

    Parameters
    ----------
    rows : Rows
        In the sparse layout.
    """

    cdef Rows rows
    cdef int64_t n
    cdef const double[::1] log_p  # (T,)
    cdef double[::1] share  # (T,) of its row that each rival in a crowd stands for; kept
    # at most as many contests as entries, more than rows: a row may be one with each of its rivals
    cdef int64_t n_contests, n_pairs, n_crowds
    cdef Contest *contest  # by pair and threshold
    cdef Contest *met  # in the order in which they were met
    cdef Pair *pair  # in the order in which they were met
    cdef Crowd *crowd
    cdef uint32_t[::1] wrong_classes  # (T,) of all crowds
    cdef int64_t[::1] most_correct  # (N,) examples of each class that can be predicted right
    cdef int64_t[::1] most_wrong  # (N,) examples that can be predicted as each class and are not
    cdef int64_t[::1] pair_at  # (N²,) room, -1 between two boxes
    cdef double[::1] lowest, highest  # (N,) room: weights
    cdef int64_t[::1] entries  # (N,) room

    def __cinit__(self, Rows rows not None):
        self.rows, self.n = rows, rows.n_classes
        n, n_rows, n_entries = rows.n_classes, rows.n_rows, rows.n_cells
        n_contests = min(MOST_RIVALS * n_rows, n_entries)
        self.contest = <Contest *>make_room(n_contests, sizeof(Contest))
        self.met = <Contest *>make_room(n_contests, sizeof(Contest))
        self.pair = <Pair *>make_room(n * n, sizeof(Pair))
        self.crowd = <Crowd *>make_room(n_rows, sizeof(Crowd))
        self.log_p, self.share = np.log(rows.row_p), np.clip(rows.row_p, 0.01, 1.0) ** 2
        self.wrong_classes = np.empty(n_entries, np.uint32)
        self.most_correct, self.most_wrong = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.pair_at, self.entries = np.full(n * n, -1), np.zeros(n, np.int64)
        self.lowest, self.highest = np.empty(n), np.empty(n)

    def __dealloc__(self):
        free(self.contest)
        free(self.met)
        free(self.pair)
        free(self.crowd)

    cdef int64_t narrow(
        self, Box *box, const uint32_t *source, int64_t n_source, uint32_t *target
    ) noexcept nogil:
        """Count the rows of `source` that a box settles, keep the open ones, list their contests.

        They are kept in `target`, which may be the same. Returns how many are.
        """
        cdef int64_t n_kept = 0, x, i, c, row, size, n_open, true
        cdef uint32_t label
        for c in range(self.n):
            self.lowest[c] = self.rows.levels.weight[box.low[c]]
            self.highest[c] = self.rows.levels.weight[box.high[c]]
            self.most_correct[c] = self.most_wrong[c] = 0
        self.n_contests = self.n_crowds = 0
        for x in range(n_source):
            row = source[x]
            label, size = self.rows.label[row], self.rows.counts[row]
            n_open = self.find_open(row)
            if n_open == 1:
                box.confusion[label * self.n + self.rows.row_class[self.entries[0]]] += size
                continue
            target[n_kept] = <uint32_t>row
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
                self.share_row(row, n_open, true)
            else:
                self.add(row, self.entries[0], self.entries[1], size, -1, -1)
        self.sort()
        for c in range(self.n):
            self.most_correct[c] += box.confusion[c * self.n + c]
            for i in range(self.n):
                if i != c:
                    self.most_wrong[c] += box.confusion[i * self.n + c]
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

    cdef void share_row(self, int64_t row, int64_t n_open, int64_t true) noexcept nogil:
        """List a crowd, and share it out among the rivals with the largest shares."""
        cdef int64_t i, e, rival, largest, n_rivals = 0, x = self.n_crowds
        cdef Crowd *crowd = &self.crowd[x]
        cdef double size, total = 0.0
        self.n_crowds += 1
        crowd.true, crowd.stray = self.rows.label[row], 0
        crowd.first = crowd.last = self.crowd[x - 1].last if x > 0 else 0
        for i in range(n_open):
            e = self.entries[i]
            if self.rows.row_class[e] != crowd.true:
                self.wrong_classes[crowd.last] = self.rows.row_class[e]
                crowd.last += 1
        if true < 0:
            crowd.stray = self.rows.counts[row]
            return
        for i in range(n_open):
            if self.entries[i] == true:
                self.entries[i] = self.entries[n_open - 1]
                break
        while n_rivals < n_open - 1 and n_rivals < MOST_RIVALS:
            largest = n_rivals
            for i in range(n_rivals + 1, n_open - 1):
                if self.share[self.entries[i]] > self.share[self.entries[largest]]:
                    largest = i
            rival = self.entries[largest]
            if self.share[rival] < LEAST_SHARE * total:
                break
            self.entries[largest] = self.entries[n_rivals]
            self.entries[n_rivals] = rival
            total += self.share[rival]
            n_rivals += 1
        for i in range(n_rivals):
            rival = self.entries[i]
            size = self.rows.counts[row] * (self.share[rival] / total)
            self.add(row, min(true, rival), max(true, rival), size, x, rival)

    cdef void add(
        self, int64_t row, int64_t entry, int64_t other, double size, int64_t crowd, int64_t rival
    ) noexcept nogil:
        """List a contest of two entries of a row, the lower class first."""
        cdef Contest *contest = &self.met[self.n_contests]
        self.n_contests += 1
        contest.pair = self.rows.row_class[entry] * <uint32_t>self.n + self.rows.row_class[other]
        contest.threshold = self.log_p[other] - self.log_p[entry]
        contest.true, contest.size = self.rows.label[row], size
        contest.crowd, contest.rival = crowd, <uint32_t>rival

    cdef void sort(self) noexcept nogil:
        """Group the contests by pair, and sort those of a pair by threshold."""
        cdef int64_t total = 0, x, size
        cdef uint32_t ab
        cdef Pair *pair
        self.n_pairs = 0
        for x in range(self.n_contests):
            ab = self.met[x].pair
            if self.pair_at[ab] < 0:
                self.pair_at[ab] = self.n_pairs
                pair = &self.pair[self.n_pairs]
                pair.a, pair.b, pair.last = ab // self.n, ab % self.n, 0
                self.n_pairs += 1
            self.pair[self.pair_at[ab]].last += 1
        for x in range(self.n_pairs):
            pair = &self.pair[x]
            size = pair.last
            pair.first = pair.last = total
            total += size
        for x in range(self.n_contests):
            pair = &self.pair[self.pair_at[self.met[x].pair]]
            self.contest[pair.last] = self.met[x]
            pair.last += 1
        for x in range(self.n_pairs):
            pair = &self.pair[x]
            self.pair_at[pair.a * self.n + pair.b] = -1
            self.shell_sort(pair.first, pair.last)

    cdef void shell_sort(self, int64_t first, int64_t last) noexcept nogil:
        """Sort the contests from `first` to `last` - 1 by threshold."""
        cdef int64_t x, at, stride = 1
        cdef Contest contest
        while 3 * stride < last - first:
            stride = 3 * stride + 1
        while stride > 0:
            for x in range(first + stride, last):
                contest = self.contest[x]
                at = x
                while (
                    at - stride >= first
                    and self.contest[at - stride].threshold > contest.threshold
                ):
                    self.contest[at] = self.contest[at - stride]
                    at -= stride
                self.contest[at] = contest
            stride //= 3

    cdef void share_out(self, double left) noexcept nogil:
        """Give less of a crowd to rivals that its true class beats, and so more to the others."""
        cdef int64_t x
        cdef Contest *contest
        cdef Crowd *crowd
        cdef double factor, share
        for x in range(self.n_crowds):
            self.crowd[x].before = self.crowd[x].after = 0.0
        for x in range(self.n_contests):
            contest = &self.contest[x]
            if contest.crowd >= 0:
                crowd = &self.crowd[contest.crowd]
                crowd.before += contest.size
                crowd.after += contest.size * (left if contest.held else 1.0)
        for x in range(self.n_contests):
            contest = &self.contest[x]
            # what it costs where the true class is as well off wrong does not depend on the shares
            if contest.crowd >= 0 and contest.change != 0.0:
                crowd = &self.crowd[contest.crowd]
                factor = crowd.before / crowd.after * (left if contest.held else 1.0)
                contest.size *= factor
                share = self.share[contest.rival] * factor
                self.share[contest.rival] = share if share > SMALLEST else SMALLEST

    cdef void count_classes(self, double *sizes) noexcept nogil:
        """Add the sizes of the contests of each class to `sizes` (N,)."""
        cdef int64_t q, x
        for q in range(self.n_pairs):
            for x in range(self.pair[q].first, self.pair[q].last):
                sizes[self.pair[q].a] += self.contest[x].size
                sizes[self.pair[q].b] += self.contest[x].size


@cython.final
cdef class Bound:
    """The bound of a box, from its contests; it rises with its multipliers.

    Parameters
    ----------
    contests : Contests
    """

    cdef Contests contests
    cdef const double[::1] log_weight  # (K + 2,)
    cdef int64_t n
    # the linear function with the best bound so far; new_: of the multipliers being tried
    cdef double[::1] reward, penalty  # (N,) what a right and a wrong prediction of each class costs
    cdef double[::1] cost, new_cost  # (C,) of a pair's contests, its ratio at each threshold
    cdef double[::1] correct  # (N,) right counts at the minima
    cdef double[::1] new_v, new_price  # (N,), (N + 1,)
    cdef int64_t[::1] order, block_size  # (N,) room
    cdef double[::1] block_total  # (N,) room

    def __init__(self, Contests contests not None):
        n, n_contests = contests.n, min(MOST_RIVALS * contests.rows.n_rows, contests.rows.n_cells)
        self.contests, self.n = contests, n
        self.log_weight = np.concatenate(([-np.inf], np.log(contests.rows.levels.weights[1:])))
        self.reward, self.penalty = np.empty(n), np.empty(n)
        self.cost, self.new_cost = np.empty(n_contests), np.empty(n_contests)
        self.correct, self.new_v, self.new_price = np.empty(n), np.empty(n), np.empty(n + 1)
        self.order, self.block_size = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.block_total = np.empty(n)

    cdef double climb(
        self, Values terms, double dearest, Box *box, double goal, int64_t n_steps
    ) noexcept nogil:
        """Bound Z over a box from below; improve the multipliers until the bound reaches `goal`.

        Points that miss floors are left out of it. No price of a missed floor goes above `dearest`.
        """
        cdef double bound, best = -INFINITY, stride = 1.0, single = 0.0
        cdef int64_t c, step
        memcpy(&self.new_v[0], box.v, self.n * sizeof(double))
        for c in range(self.n + 1):
            self.new_price[c] = min(box.price[c], dearest)
        if terms.single > 0:
            single = terms.single * self.least_single(terms, box)
        for step in range(n_steps):
            bound = single + self.relax(terms, box)
            if bound > best:
                best = bound
                self.keep_multipliers(box)
            else:
                stride *= 1.0 - 1.0 / sqrt(2.0 * n_steps)
            if best >= goal:
                break
            self.contests.share_out(pow(FADE, stride))
            if terms.cobias > 0 or terms.floors.shape[0] > 0:
                self.take_step(terms, dearest, stride * (goal - bound))
        return best

    cdef double gain_of(self, Box *box, int64_t c, int64_t low, int64_t high) noexcept nogil:
        """Return how much the bound rises when class `c` is held between `low` and `high`."""
        cdef int64_t q, x, inside
        cdef Pair *pair
        cdef Contest *contest = self.contests.contest
        cdef double lowest, highest, least, gain = 0.0
        for q in range(self.contests.n_pairs):
            pair = &self.contests.pair[q]
            if c != pair.a and c != pair.b:
                continue
            if pair.a == c:
                lowest = self.log_weight[low] - self.log_weight[box.high[pair.b]]
                highest = self.log_weight[high] - self.log_weight[box.low[pair.b]]
            else:
                lowest = self.log_weight[box.low[pair.a]] - self.log_weight[high]
                highest = self.log_weight[box.high[pair.a]] - self.log_weight[low]
            x = pair.first
            while x < pair.last and contest[x].threshold < lowest - SAME:
                x += 1
            least = INFINITY
            inside = x
            while x < pair.last and contest[x].threshold <= highest + SAME:
                least = self.cost[x] if self.cost[x] < least else least
                x += 1
            if x == inside:
                # between two thresholds, where the cost is no less than at either of them
                least = pair.least
                if x > pair.first and self.cost[x - 1] < INFINITY:
                    least = max(least, self.cost[x - 1])
                if x < pair.last and self.cost[x] < INFINITY:
                    least = max(least, self.cost[x])
            if least < INFINITY:
                gain += least - pair.least
        return gain

    cdef void keep_multipliers(self, Box *box) noexcept nogil:
        """Keep the multipliers of the best bound so far, and its costs contest by contest."""
        cdef int64_t q
        memcpy(box.v, &self.new_v[0], self.n * sizeof(double))
        memcpy(box.price, &self.new_price[0], (self.n + 1) * sizeof(double))
        memcpy(&self.cost[0], &self.new_cost[0], self.contests.n_contests * sizeof(double))
        for q in range(self.contests.n_pairs):
            self.contests.pair[q].least = self.contests.pair[q].new_least

    cdef double relax(self, Values terms, Box *box) noexcept nogil:
        """Minimise the linear function of the new multipliers over the box, pair by pair."""
        cdef double bound = terms.error_rate + terms.recall, slope, lower, upper
        cdef int64_t c, i, q, right, wrong, most_correct, most_wrong
        if terms.costs.shape[0] > 0:
            bound += terms.cost(box.confusion) / terms.total
        for c in range(self.n):
            right = box.confusion[c * self.n + c]
            self.reward[c] = -terms.error_rate / terms.total
            self.penalty[c] = 0.0
            if terms.recall > 0 and terms.true[c] > 0:
                self.reward[c] -= terms.recall / terms.n_present / terms.true[c]
            if terms.cobias > 0 and terms.true[c] > 0:
                self.reward[c] += self.new_v[c] / terms.true[c]
            if terms.floors.shape[0] > 0:
                self.reward[c] -= self.new_price[self.n] / terms.total
                if terms.true[c] > 0:
                    self.reward[c] -= self.new_price[c] / terms.true[c]
                    bound += self.new_price[c] * (<double>terms.floors[c] / terms.true[c])
            if terms.tau > 0:
                wrong = 0
                for i in range(self.n):
                    if i != c:
                        wrong += box.confusion[i * self.n + c]
                most_correct = self.contests.most_correct[c]
                most_wrong = self.contests.most_wrong[c]
                # the planes touch in the middle of the box
                slope = slope_of(
                    0.5 * (right + most_correct) + terms.smoothing, 0.5 * (wrong + most_wrong)
                )
                lower = below(slope, wrong, right, most_correct, terms.smoothing)
                if most_wrong > wrong:
                    upper = below(slope, most_wrong, right, most_correct, terms.smoothing)
                    self.penalty[c] = terms.tau * (upper - lower) / (most_wrong - wrong)
                self.reward[c] += terms.tau * slope
                bound += terms.tau * (lower - terms.pmi_constant[c])
            self.correct[c] = right
            bound += self.reward[c] * right
        if terms.floors.shape[0] > 0:
            bound += self.new_price[self.n] * (terms.floor / terms.total)
        bound += self.price_crowds(terms)
        for q in range(self.contests.n_pairs):
            bound += self.sweep(terms, &self.contests.pair[q], box)
        return bound

    cdef double price_crowds(self, Values terms) noexcept nogil:
        """Price a wrong prediction of every crowd; return the cost of those only ever wrong."""
        cdef double loss, cost = 0.0
        cdef int64_t x, e
        cdef uint32_t c
        cdef Crowd *crowd
        for x in range(self.contests.n_crowds):
            crowd = &self.contests.crowd[x]
            crowd.loss = INFINITY
            for e in range(crowd.first, crowd.last):
                c = self.contests.wrong_classes[e]
                loss = self.penalty[c]
                if terms.costs.shape[0] > 0:
                    loss += terms.costs[crowd.true, c] / terms.total
                crowd.loss = loss if loss < crowd.loss else crowd.loss
            cost += crowd.stray * crowd.loss
        return cost

    cdef double sweep(self, Values terms, Pair *pair, Box *box) noexcept nogil:
        """Minimise the cost of a pair's contests over the ratio of its weights; count there."""
        cdef int64_t e, end, a = pair.a, b = pair.b, x = pair.first
        cdef double lowest = self.log_weight[box.low[a]] - self.log_weight[box.high[b]] - SAME
        cdef double highest = self.log_weight[box.high[a]] - self.log_weight[box.low[b]] + SAME
        cdef double cost = self.price_contests(terms, pair, lowest), least = INFINITY
        cdef double threshold, low, flipped, turning = lowest  # lower thresholds go to a
        cdef Contest *contest = self.contests.contest
        while x < pair.last:
            threshold = contest[x].threshold
            if threshold < lowest or threshold > highest:
                self.new_cost[x] = INFINITY
                x += 1
                continue
            # contests that flip together may each go either way
            low = flipped = cost
            end = x
            while end < pair.last and contest[end].threshold - threshold < SAME:
                low += contest[end].change if contest[end].change < 0.0 else 0.0
                flipped += contest[end].change
                end += 1
            for e in range(x, end):
                self.new_cost[e] = low
            if low < least:
                least = low
                turning = threshold
            cost = flipped
            x = end
        pair.new_least = cost if cost < least else least  # where all thresholds are outside, too
        self.count_contests(pair, turning)
        return pair.new_least

    cdef double price_contests(self, Values terms, Pair *pair, double lowest) noexcept nogil:
        """Price every contest of a pair; return the cost of all where the ratio is lowest."""
        cdef double to_a, to_b, cost = 0.0
        cdef int64_t x, a = pair.a, b = pair.b
        cdef Contest *contest
        for x in range(pair.first, pair.last):
            contest = &self.contests.contest[x]
            to_a = self.reward[a] if contest.true == a else self.penalty[a]
            to_b = self.reward[b] if contest.true == b else self.penalty[b]
            if terms.costs.shape[0] > 0:
                to_a += terms.costs[contest.true, a] / terms.total
                to_b += terms.costs[contest.true, b] / terms.total
            if contest.crowd >= 0:
                if contest.true == a:
                    to_b = self.contests.crowd[contest.crowd].loss
                    to_a = to_b if to_b < to_a else to_a
                else:
                    to_a = self.contests.crowd[contest.crowd].loss
                    to_b = to_a if to_a < to_b else to_b
            contest.change = contest.size * (to_a - to_b)
            cost += contest.size * (to_a if contest.threshold < lowest else to_b)
        return cost

    cdef void count_contests(self, Pair *pair, double turning) noexcept nogil:
        """Count a pair's right predictions where its ratio is at `turning`."""
        cdef int64_t x, a = pair.a, b = pair.b
        cdef Contest *contest
        cdef bint goes_a
        for x in range(pair.first, pair.last):
            contest = &self.contests.contest[x]
            goes_a = contest.threshold < turning + SAME
            if contest.threshold >= turning:
                goes_a = goes_a and contest.change < 0
            contest.held = contest.true == (a if goes_a else b)
            if contest.held:
                self.correct[contest.true] += contest.size

    cdef double least_single(self, Values terms, Box *box) noexcept nogil:
        """Bound COBias_single: no class is nearer to an odd one than their intervals are."""
        cdef int64_t i, j, n = self.n
        cdef int64_t *right = box.confusion
        cdef double above, under, closest, total = 0.0
        if terms.n_present < n:
            return 0.0  # an odd class without examples takes its class out of the mean
        for i in range(n):
            if self.contests.most_correct[i] == terms.true[i]:
                continue  # it may have no error, and so no odd class
            closest = INFINITY
            for j in range(n):
                if j != i:
                    above = <double>right[i * n + i] / terms.true[i]
                    above -= <double>self.contests.most_correct[j] / terms.true[j]
                    under = <double>right[j * n + j] / terms.true[j]
                    under -= <double>self.contests.most_correct[i] / terms.true[i]
                    closest = min(closest, max(above, under, 0.0))
            total += closest
        return total / n

    cdef void take_step(self, Values terms, double dearest, double deficit) noexcept nogil:
        """Take Polyak's subgradient step: as far as closes the deficit of a linear bound."""
        cdef int64_t c, x, n = terms.n_present
        cdef double missing, raised, off, mean = 0.0, square = 1e-12
        if terms.cobias > 0:
            for x in range(n):
                c = terms.ranking[x]
                mean += self.correct[c] / terms.true[c] / n
            for x in range(n):
                c = terms.ranking[x]
                off = self.correct[c] / terms.true[c] - mean
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
                c = terms.ranking[x]
                self.new_v[c] += deficit / square * (self.correct[c] / terms.true[c] - mean)
            self.project(terms, terms.cobias / (n * (n - 1) / 2.0))

    cdef double missing_of(self, Values terms, int64_t c) noexcept nogil:
        """Return by what rate the relaxed counts miss the floor of a class, or that of all."""
        cdef double correct = 0.0
        cdef int64_t i
        if c == self.n:
            for i in range(self.n):
                correct += self.correct[i]
            return (terms.floor - correct) / terms.total
        if terms.true[c] == 0:
            return 0.0
        return (terms.floors[c] - self.correct[c]) / terms.true[c]

    cdef void project(self, Values terms, double radius) noexcept nogil:
        """Project v onto the permutohedron: isotonic regression of v, sorted, minus its corner."""
        cdef int64_t x, at, block, last, i, n = terms.n_present, n_blocks = 0
        for x in range(n):  # v descending
            at = x
            while at > 0 and self.new_v[self.order[at - 1]] < self.new_v[terms.ranking[x]]:
                self.order[at] = self.order[at - 1]
                at -= 1
            self.order[at] = terms.ranking[x]
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
        if not n == values.n_classes == shortage.n_classes or rows.is_dense:
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


cdef void *make_room(int64_t n, size_t size) except NULL:
    """Return room for n structures, all zero."""
    cdef void *room = calloc(max(n, 1), size)
    if room == NULL:
        raise MemoryError()
    return room


cdef inline double between(double x, double low, double high) noexcept nogil:
    """Return the number from `low` to `high` that is nearest to x."""
    return min(max(x, low), high)


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
