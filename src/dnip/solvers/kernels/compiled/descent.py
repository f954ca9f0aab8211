"""Exact line searches, coordinate descent, and the local search that goes on from its end.

A line is a class and the indices of all others. Searches return to the same lines again and again,
because descents from many starts end in the same few optima. So lines are remembered, and none is
searched twice. A 64-bit hash identifies a line. If two lines ever had the same hash, a search might
end at a worse point, but would still report it right.
"""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def mix(c: int64_t, index: int64_t) -> uint64_t:
    """Hash a class at an index (the finaliser of splitmix64)."""
    z = cython.cast(uint64_t, c + 1) * cython.cast(uint64_t, 0x9E3779B97F4A7C15)
    z += cython.cast(uint64_t, index)
    z = (z ^ (z >> 30)) * cython.cast(uint64_t, 0xBF58476D1CE4E5B9)
    z = (z ^ (z >> 27)) * cython.cast(uint64_t, 0x94D049BB133111EB)
    return z ^ (z >> 31)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find(lines: Lines, key: uint64_t) -> int64_t:
    """Return the slot of a line, or the empty slot where it would go."""
    mask = cython.cast(uint64_t, lines.capacity - 1)
    slot = key & mask
    while lines.key[slot] != 0 and lines.key[slot] != key:
        slot = (slot + 1) & mask
    return cython.cast(int64_t, slot)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep(
    lines: Lines, slot: int64_t, key: uint64_t, index: int64_t, reached: cython.double
) -> cython.void:
    """Put a line into the empty slot that `find` gave, while there is room."""
    if 2 * lines.size[0] < lines.capacity:
        lines.key[slot] = key
        lines.best[slot] = cython.cast(uint32_t, index)
        lines.value[slot] = reached
        lines.size[0] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def settle(
    flips: Flips,
    terms: Terms,
    memo: Memo,
    indices: Floats,
    confusion: Confusion,
    predicted: Integers,
    c: int64_t,
    scale: int64_t,
) -> cython.double:
    """Walk the line of class `c`, stop at its best index, and return the objective there.

    Indices and counts change in place. A class that is already at one of its best indices stays
    there; otherwise it goes to the lowest of them.
    """
    n_classes = memo.n_classes
    now = cython.cast(int64_t, indices[c])
    walk(flips, c, now, 1, confusion, predicted, n_classes)
    best: int64_t = 1
    best_value = value(confusion, predicted, terms, memo)
    here = best_value
    now_value = best_value
    for k in range(2, scale + 1):
        if flips.start[k] < flips.start[k + 1]:
            walk(flips, c, k - 1, k, confusion, predicted, n_classes)
            here = value(confusion, predicted, terms, memo)
            if here < best_value:
                best = k
                best_value = here
        if k == now:
            now_value = here
    if now_value <= best_value:
        best = now
    walk(flips, c, scale, best, confusion, predicted, n_classes)
    indices[c] = cython.cast(cython.double, best)
    return best_value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin(descent: Descent) -> cython.void:
    """Begin a descent from its indices."""
    descent.hash[0] = 0
    for n in range(descent.n_classes):
        descent.hash[0] ^= mix(n, cython.cast(int64_t, descent.indices[n]))
    descent.turn[0] = descent.unmoved[0] = descent.counted[0] = 0
    descent.value[0] = INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_class(descent: Descent, lines: Lines) -> int64_t:
    """Follow the lines that were searched before; return the first class with an unknown line.

    The classes take turns in their order. When a whole round has moved none, the descent is at its
    end, and -1 is returned.
    """
    indices, order = descent.indices, descent.order
    while descent.unmoved[0] < descent.n_order:
        c = order[descent.turn[0] % descent.n_order]
        now = cython.cast(int64_t, indices[c])
        key = others(descent, c) ^ mix(c, 0)
        slot = find(lines, key)
        if lines.key[slot] != key:
            return c
        if lines.value[slot] < descent.value[0]:
            descent.value[0] = lines.value[slot]
            descent.counted[0] = descent.counted[0] and lines.best[slot] == now
            indices[c] = cython.cast(cython.double, lines.best[slot])
        turn(descent, c, now)
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_class(descent: Descent, lines: Lines, now: int64_t, reached: cython.double) -> cython.void:
    """Record the line that `next_class` asked for: its class has gone from `now` to its best."""
    c = descent.order[descent.turn[0] % descent.n_order]
    index = cython.cast(int64_t, descent.indices[c])
    descent.indices[c] = cython.cast(cython.double, now)
    key = others(descent, c) ^ mix(c, 0)
    keep(lines, find(lines, key), key, index, reached)
    descent.value[0] = reached
    descent.indices[c] = cython.cast(cython.double, index)
    turn(descent, c, now)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def others(descent: Descent, c: int64_t) -> uint64_t:
    """Hash of all indices but that of `c`."""
    return descent.hash[0] ^ mix(c, cython.cast(int64_t, descent.indices[c]))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def turn(descent: Descent, c: int64_t, before: int64_t) -> cython.void:
    """Go on to the next class."""
    index = cython.cast(int64_t, descent.indices[c])
    descent.hash[0] ^= mix(c, before) ^ mix(c, index)
    descent.unmoved[0] = descent.unmoved[0] + 1 if index == before else 1
    descent.turn[0] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sum_columns(confusion: Confusion, n_classes: int64_t, predicted: Integers) -> cython.void:
    """Write how often each class is predicted."""
    memset(predicted, 0, n_classes * 8)
    for i in range(n_classes):
        for j in range(n_classes):
            predicted[j] += confusion[i * n_classes + j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def descend(setup: Setup, descent: Descent, most: int64_t) -> int64_t:
    """Search the classes in turn until a whole round moves none, or `most` lines are searched.

    A class that is at one of its best indices stays there. A line that was searched before is not
    searched again. Returns how many lines were searched; fewer than `most` mean that the descent
    is at its end.
    """
    levels, workspace, indices = setup.levels, setup.workspace, descent.indices
    n_classes = descent.n_classes
    for n_searches in range(most):
        c = next_class(descent, setup.lines)
        if c < 0:
            return n_searches
        weights_at(levels, indices, n_classes, workspace.weights)
        if not descent.counted[0]:
            count(setup.rows, workspace.weights, descent.confusion)
            sum_columns(descent.confusion, n_classes, descent.predicted)
            descent.counted[0] = 1
        find_flips(setup.rows, workspace.weights, c, levels, workspace)
        now = cython.cast(int64_t, indices[c])
        reached = settle(
            workspace.flips,
            setup.terms,
            setup.memo,
            indices,
            descent.confusion,
            descent.predicted,
            c,
            levels.size,
        )
        pass_class(descent, setup.lines, now, reached)
    return most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def kick(
    indices: Floats,
    factors: Floats,
    top: cython.double,
    order: Integers,
    n_order: int64_t,
    levels: Levels,
    n_classes: int64_t,
    kicked: Floats,
) -> cython.void:
    """Move the classes of `order` away from a local optimum: scaled, then rounded to the scale."""
    largest = 0.0
    memcpy(kicked, indices, n_classes * 8)
    for i in range(n_order):
        c = order[i]
        kicked[c] = levels.weight[cython.cast(int64_t, indices[c])] * factors[c]
        largest = kicked[c] if kicked[c] > largest else largest
    height = levels.weight[cython.cast(int64_t, top)] / largest if top > 0 else 1.0
    for i in range(n_order):
        c = order[i]
        kicked[c] = nearest(kicked[c] * height, levels)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def explore(
    setup: Setup,
    trial: Descent,
    indices: Floats,
    reached: Floats,
    factors: Floats,
    tops: Floats,
    orders: Integers,
    n_kicks: int64_t,
    enough: int64_t,
) -> int64_t:
    """Kick and descend again and again; a point that is no worse is the next to be kicked.

    `trial` is room for the descents. Returns how many lines had to be searched.
    """
    n_classes, n_order = trial.n_classes, trial.n_order
    n_searches: int64_t = 0
    for b in range(n_kicks):
        order = orders + b * n_order
        kick(
            indices,
            factors + b * n_classes,
            tops[b],
            order,
            n_order,
            setup.levels,
            n_classes,
            trial.indices,
        )
        memcpy(trial.order, order, n_order * 8)
        begin(trial)
        n_searches += descend(setup, trial, cython.cast(int64_t, 1) << 62)
        if trial.value[0] <= reached[0]:
            reached[0] = trial.value[0]
            memcpy(indices, trial.indices, n_classes * 8)
        if n_searches >= enough:
            break
    return n_searches
