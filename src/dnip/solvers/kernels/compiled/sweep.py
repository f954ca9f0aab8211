"""The least cost of the contests of two classes, over the ratio of their weights.

The contests of a pair are sorted by the ratio at which they flip, so that one sweep gives the cost
at every ratio.
"""

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def price_crowds(relaxation: Relaxation) -> cython.double:
    """Price a wrong prediction of every crowd; return the cost of those that can only be wrong."""
    contests, relaxed, terms = relaxation.contests, relaxation.relaxed, relaxation.terms
    cost = 0.0
    for x in range(contests.n_crowds[0]):
        least = INFINITY
        for e in range(contests.crowd_start[x], contests.crowd_start[x + 1]):
            loss = relaxed.penalty[contests.crowd_class[e]]
            if terms.n_costs > 0:
                cell = terms.costs[
                    contests.crowd_label[x] * terms.n_costs + contests.crowd_class[e]
                ]
                loss += cell / relaxation.memo.total
            least = loss if loss < least else least
        relaxed.loss[x] = least
        cost += contests.crowd_stray[x] * least
    return cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sweep(q: int64_t, relaxation: Relaxation, box: Box) -> cython.double:
    """Minimise the cost of a pair's contests over the ratio of its weights; count there."""
    scale, contests, relaxed = relaxation.scale, relaxation.contests, relaxation.relaxed
    n_classes = box.n_classes
    a, b = contests.pair[q] // n_classes, contests.pair[q] % n_classes
    lowest = scale.log_weight[box.low[a]] - scale.log_weight[box.high[b]] - SAME
    highest = scale.log_weight[box.high[a]] - scale.log_weight[box.low[b]] + SAME
    cost = price_contests(q, a, b, lowest, relaxation)
    last = contests.start[q + 1]
    least = INFINITY
    turning = lowest  # contests with a lower threshold go to a
    x = contests.start[q]
    while x < last:
        threshold = contests.threshold[x]
        if threshold < lowest or threshold > highest:
            relaxed.new_value[x] = INFINITY
            x += 1
            continue
        # contests that flip together may each go either way
        low = flipped = cost
        end = x
        while end < last and contests.threshold[end] - threshold < SAME:
            low += relaxed.change[end] if relaxed.change[end] < 0.0 else 0.0
            flipped += relaxed.change[end]
            end += 1
        for e in range(x, end):
            relaxed.new_value[e] = low
        if low < least:
            least = low
            turning = threshold
        cost = flipped
        x = end
    least = cost if cost < least else least  # also where all thresholds are outside the box
    relaxed.new_least[q] = least
    count_contests(q, a, b, turning, contests, relaxed)
    return least


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def price_contests(
    q: int64_t, a: int64_t, b: int64_t, lowest: cython.double, relaxation: Relaxation
) -> cython.double:
    """Price every contest of a pair; return the cost of all where the ratio is lowest."""
    contests, relaxed = relaxation.contests, relaxation.relaxed
    terms, total = relaxation.terms, relaxation.memo.total
    reward, penalty = relaxed.reward, relaxed.penalty
    cost = 0.0
    for x in range(contests.start[q], contests.start[q + 1]):
        kind = contests.kind[x] % KINDS
        to_a = reward[a] if kind == TRUE_A or kind == TRUE_A_CROWDED else penalty[a]
        to_b = reward[b] if kind == TRUE_B or kind == TRUE_B_CROWDED else penalty[b]
        if terms.n_costs > 0:
            true = contests.kind[x] // KINDS
            to_a += terms.costs[true * terms.n_costs + a] / total
            to_b += terms.costs[true * terms.n_costs + b] / total
        if kind == TRUE_A_CROWDED:
            to_b = relaxed.loss[contests.crowd[x]]
            to_a = to_b if to_b < to_a else to_a
        elif kind == TRUE_B_CROWDED:
            to_a = relaxed.loss[contests.crowd[x]]
            to_b = to_a if to_a < to_b else to_b
        relaxed.change[x] = contests.size[x] * (to_a - to_b)
        cost += contests.size[x] * (to_a if contests.threshold[x] < lowest else to_b)
    return cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_contests(
    q: int64_t, a: int64_t, b: int64_t, turning: cython.double, contests: Contests, relaxed: Relaxed
) -> cython.void:
    """Count a pair's right and wrong predictions where the ratio of its weights is at `turn`."""
    for x in range(contests.start[q], contests.start[q + 1]):
        kind, size = contests.kind[x] % KINDS, contests.size[x]
        goes_a: cython.bint = contests.threshold[x] < turning + SAME
        if contests.threshold[x] >= turning:
            goes_a = goes_a and relaxed.change[x] < 0
        relaxed.held[x] = True
        if goes_a and (kind == TRUE_A or kind == TRUE_A_CROWDED):
            relaxed.correct[a] += size
        elif not goes_a and (kind == TRUE_B or kind == TRUE_B_CROWDED):
            relaxed.correct[b] += size
        else:
            relaxed.wrong[a if goes_a else b] += size
            relaxed.held[x] = False
