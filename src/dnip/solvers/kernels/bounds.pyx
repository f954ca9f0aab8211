"""A lower bound of Z (equation 2) over a box of weight indices.

A box gives every class an interval of weights. A row is settled in it if the same class wins for
all weight vectors of the box. A row that is open between two classes a < b is a *contest*: it flips
from b to a where log ω_a - log ω_b passes log p_b - log p_a. So a contest depends on the ratio of
two weights alone, and the bounds are built on that.

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
from dnip.solvers.kernels.values cimport Values

cdef enum:
    # rivals that share a row out among them at most
    MOST_RIVALS = 4
# Thresholds that differ by less, in logarithms, count as equal: this is far above rounding.
cdef double SAME = 1e-11
# Rivals that stand for less than this share of a crowd are left out, and those beyond the most.
cdef double LEAST_SHARE = 0.02
# What is left of the share of a rival that the true class beats, after a full step. No share is
# less than the smallest one, so that none is lost for ever.
cdef double FADE = 0.6, SMALLEST = 1e-4


@cython.final
cdef class Contests:
    """The contests and the crowds of one box.

    Parameters
    ----------
    rows : Rows
        In the sparse layout.
    """

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
        cdef double bound = terms.error + terms.recall, slope, lower, upper
        cdef int64_t c, i, q, right, wrong, most_correct, most_wrong
        if terms.costs.shape[0] > 0:
            bound += terms.cost(box.confusion) / terms.total
        for c in range(self.n):
            right = box.confusion[c * self.n + c]
            self.reward[c] = -terms.error / terms.total
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
