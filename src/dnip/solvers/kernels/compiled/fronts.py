"""What searches of a whole front share: line searches that keep every point worth keeping.

A point is worth as much as its accuracy and its COBias; on the front stand those that no other
beats in both. The line search counts its K points anyway, so all of them are offered.
"""

import cython

# COBias is a sum of rounded numbers: a point is lower by more than this, or it is not.
SAME_COBIAS = cython.declare(cython.double, 1e-12)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def offer(
    cells: Cells,
    correct: int64_t,
    gap: cython.double,
    indices: Floats,
    c: int64_t,
    k: int64_t,
    n_classes: int64_t,
) -> cython.void:
    """Keep the point `indices`, class `c` standing at `k`, if it is the best of its cell."""
    cell = correct // cells.width[0]
    lower = cells.cobias[cell] - gap
    if lower > SAME_COBIAS or (lower >= -SAME_COBIAS and correct > cells.correct[cell]):
        cells.cobias[cell] = gap
        cells.correct[cell] = correct
        kept = cells.indices + cell * n_classes
        for n in range(n_classes):
            kept[n] = cython.cast(uint16_t, indices[n])
        kept[c] = cython.cast(uint16_t, k)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def visit_line(
    visit: Visit,
    flips: Flips,
    indices: Floats,
    confusion: Confusion,
    predicted: Integers,
    c: int64_t,
) -> cython.void:
    """Walk the line of class `c`, offer its points, and stop where the goal is best.

    Indices and counts change in place. A class that already stands at one of its best indices
    stays there; otherwise it goes to the lowest of them. With `stay` it stays in any case.
    """
    terms, goal = visit.terms, visit.goal
    n_classes = terms.cobias_memo.n_classes
    scale = flips.n_starts - 2
    total = terms.cobias_memo.total
    now = cython.cast(int64_t, indices[c])
    walk(flips, c, now, 1, confusion, predicted, n_classes)
    best: int64_t = 1
    best_value = INFINITY
    here = INFINITY
    now_value = INFINITY
    for k in range(1, scale + 1):
        if k == 1 or flips.start[k] < flips.start[k + 1]:
            if k > 1:
                walk(flips, c, k - 1, k, confusion, predicted, n_classes)
            correct: int64_t = 0
            for j in range(n_classes):
                correct += confusion[j * n_classes + j]
            gap = value(confusion, predicted, terms.cobias, terms.cobias_memo)
            offer(visit.cells, correct, gap, indices, c, k, n_classes)
            if visit.stay:
                continue
            error = 1.0 - correct / total
            here = goal.error * error + goal.cobias * gap
            from_error = goal.error_beyond * (error - goal.error_corner)
            from_cobias = goal.cobias_beyond * (gap - goal.cobias_corner)
            here += from_error if from_error > from_cobias else from_cobias
            if goal.tau != 0.0:
                here += goal.tau * value(confusion, predicted, terms.pmi, terms.pmi_memo)
            if here < best_value:
                best = k
                best_value = here
        if k == now:
            now_value = here
    if visit.stay or now_value <= best_value:
        best = now
    walk(flips, c, scale, best, confusion, predicted, n_classes)
    indices[c] = cython.cast(cython.double, best)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_new_line(lines: Lines, indices: Floats, c: int64_t, n_classes: int64_t) -> int64_t:
    """Say whether the line of class `c` was never visited, and note that it is now."""
    key = mix(c, 0)
    for n in range(n_classes):
        if n != c:
            key ^= mix(n, cython.cast(int64_t, indices[n]))
    slot = find(lines, key)
    if lines.key[slot] == key:
        return False
    keep(lines, slot, key, 0, 0.0)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def visit_lines(
    visit: Visit, rows: Rows, levels: Levels, workspace: Workspace, descent: Descent
) -> int64_t:
    """Visit the lines through a point, or descend from it, and return how many lines it took.

    The descent gives the point, which changes in place, the classes whose lines to visit, and room
    for counts. It goes round and round through the classes until a whole round moves none.
    """
    indices, order, n_classes = descent.indices, descent.order, descent.n_classes
    weights_at(levels, indices, n_classes, workspace.weights)
    count(rows, workspace.weights, descent.confusion)
    sum_columns(descent.confusion, n_classes, descent.predicted)
    n_lines: int64_t = 0
    unmoved: int64_t = 0
    place: int64_t = 0
    while unmoved < descent.n_order:
        c = order[place % descent.n_order]
        place += 1
        unmoved += 1
        if not is_new_line(visit.lines, indices, c, n_classes) and visit.stay:
            continue
        weights_at(levels, indices, n_classes, workspace.weights)
        find_flips(rows, workspace.weights, c, levels, workspace)
        now = indices[c]
        visit_line(visit, workspace.flips, indices, descent.confusion, descent.predicted, c)
        n_lines += 1
        if indices[c] != now:
            unmoved = 1
    return n_lines
