"""Cutting a box: the ends where no better point can be, and the class to halve."""

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shave(
    relaxation: Relaxation, box: Box, bound: cython.double, goal: cython.double
) -> cython.double:
    """Cut off the ends of intervals where the bound reaches `goal`.

    Returns the logarithm of what the volume shrank by, infinite if nothing is left.
    """
    shaved = 0.0
    for c in range(box.n_classes):
        for end in range(2):
            width = box.high[c] - box.low[c] + 1
            n = (width + 1) // 2
            while n > 0:
                low, high = box.low[c], box.high[c]
                if end == 0:
                    high = low + n - 1
                else:
                    low = high - n + 1
                if bound + gain_of(relaxation, box, c, low, high) >= goal:
                    if n == width:
                        return INFINITY
                    shaved += log(cython.cast(cython.double, width) / (width - n))
                    if end == 0:
                        box.low[c] = high + 1
                    else:
                        box.high[c] = low - 1
                    break
                n //= 2
    return shaved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gain_of(
    relaxation: Relaxation, box: Box, c: int64_t, low: int64_t, high: int64_t
) -> cython.double:
    """How much the bound rises when class `c` is held between `low` and `high`."""
    scale, contests, relaxed = relaxation.scale, relaxation.contests, relaxation.relaxed
    n_classes = box.n_classes
    gain = 0.0
    for q in range(contests.n_pairs[0]):
        a, b = contests.pair[q] // n_classes, contests.pair[q] % n_classes
        if c != a and c != b:
            continue
        if a == c:
            lowest = scale.log_weight[low] - scale.log_weight[box.high[b]]
            highest = scale.log_weight[high] - scale.log_weight[box.low[b]]
        else:
            lowest = scale.log_weight[box.low[a]] - scale.log_weight[high]
            highest = scale.log_weight[box.high[a]] - scale.log_weight[low]
        first, last = contests.start[q], contests.start[q + 1]
        x = first
        while x < last and contests.threshold[x] < lowest - SAME:
            x += 1
        least = INFINITY
        inside = x
        while x < last and contests.threshold[x] <= highest + SAME:
            least = relaxed.value[x] if relaxed.value[x] < least else least
            x += 1
        if x == inside:
            # between two thresholds, where the cost is no less than at either of them
            least = relaxed.least[q]
            if x > first and relaxed.value[x - 1] < INFINITY:
                least = relaxed.value[x - 1] if relaxed.value[x - 1] > least else least
            if x < last and relaxed.value[x] < INFINITY:
                least = relaxed.value[x] if relaxed.value[x] > least else least
        if least < INFINITY:
            gain += least - relaxed.least[q]
    return gain


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose_class(scale: Scale, box: Box, contests: Contests) -> int64_t:
    """Return the class to halve: one with many contests and a wide interval."""
    n_classes = box.n_classes
    weight = contests.low
    for c in range(n_classes):
        weight[c] = 1e-9  # a class without contests is halved last
    for q in range(contests.n_pairs[0]):
        a, b = contests.pair[q] // n_classes, contests.pair[q] % n_classes
        for x in range(contests.start[q], contests.start[q + 1]):
            weight[a] += contests.size[x]
            weight[b] += contests.size[x]
    chosen: int64_t = -1
    most = 0.0
    for c in range(n_classes):
        width = scale.log_weight[box.high[c]] - scale.log_weight[box.low[c]]
        if weight[c] * width > most:
            most = weight[c] * width
            chosen = c
    return chosen
