"""Branch and bound over boxes: one depth-first search, from one box.

The search halves boxes and goes on with the better half. It ends after a number of boxes, or when
no box is left that could hold a better point. The caller keeps the queue and takes back what is
left.
"""

import cython

# Boxes of at most this many points are searched point by point.
FEW_POINTS = cython.declare(cython.double, 8.0)
# How often a box is shaved and bounded again.
ROUNDS = cython.declare(int64_t, 2)
# Shaving that takes less off the volume, in logarithms, is not worth another bound.
WORTH_A_ROUND = cython.declare(cython.double, 0.3)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_depth_first(instance: Instance, stack: NodeStack, n_boxes: int64_t) -> int64_t:
    """Search the box in node 0 for points better than the best value.

    Returns how many nodes are left after `n_boxes` boxes, from node 0 on.
    """
    nodes, incumbent = stack.nodes, stack.incumbent
    parent = nodes.n_nodes - 1  # the last node is room for the one that is halved
    n_rows, n_cells = instance.rows.n_rows, instance.rows.n_classes * instance.rows.n_classes
    for r in range(n_rows):
        stack.rows[r] = cython.cast(uint32_t, r)
    copy_node(stack, 0, parent)
    memcpy(stack.confusion + parent * n_cells, instance.rows.settled, n_cells * 8)
    stack.first[parent] = 0
    stack.n_rows[parent] = stack.end[parent] = n_rows
    height: int64_t = 0
    n_seen: int64_t = 0
    n_parts: int64_t = 1
    while True:
        # look at the box, or at its two halves
        base, free = height, stack.end[parent]
        source, n_source = stack.rows + stack.first[parent], stack.n_rows[parent]
        for part in range(n_parts):
            copy_node(stack, parent, height)
            if n_parts == 2:
                halve(instance, nodes, stack.split[parent], height, part == 1)
            stack.first[height] = free
            if bound_node(instance, stack, height, source, n_source):
                free += stack.n_rows[height]
                height += 1
        for d in range(base, height):
            stack.end[d] = free
        if height == base + 2 and nodes.bound[base] < nodes.bound[base + 1]:
            copy_node(stack, base, parent)
            copy_node(stack, base + 1, base)
            copy_node(stack, parent, base + 1)
        n_seen += n_parts
        n_parts = 2
        # the next box that is worth it
        while height > 0 and nodes.bound[height - 1] >= incumbent.value[0] - instance.margin:
            height -= 1
        if height == 0 or n_seen >= n_boxes or height == parent:
            break
        if stack.end[height - 1] + 2 * stack.n_rows[height - 1] > stack.room:
            break
        height -= 1
        copy_node(stack, height, parent)
    return height


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bound_node(
    instance: Instance, stack: NodeStack, d: int64_t, source: SmallIntegers, n_source: int64_t
) -> cython.bint:
    """Bound node `d` over the rows of `source`, or search it; say whether it is to be halved."""
    nodes, incumbent, memo = stack.nodes, stack.incumbent, stack.memo
    scale, terms, contests = instance.scale, instance.terms, stack.contests
    n = instance.rows.n_classes
    box: BoxRecord
    box.low, box.high = nodes.low + d * n, nodes.high + d * n
    multipliers: MultipliersRecord
    box.n_classes = multipliers.n_classes = n
    multipliers.v = nodes.multipliers + d * 3 * n
    multipliers.correct, multipliers.wrong = multipliers.v + n, multipliers.v + 2 * n
    multipliers.price = nodes.price + d * (n + 1)
    relaxation: RelaxationRecord
    relaxation.memo, relaxation.scale = memo, scale
    relaxation.contests, relaxation.relaxed = contests, stack.relaxed
    relaxation.n_steps = instance.n_steps
    confusion = stack.confusion + d * n * n
    kept = stack.rows + stack.first[d]
    rounds: int64_t = 0
    while True:
        if not reaches(cython.address(box), instance.least_top):
            return False
        n_source = narrow(
            instance.rows, scale, cython.address(box), source, n_source, kept, confusion, contests
        )
        source = kept
        stack.n_rows[d] = n_source
        few = has_few_points(cython.address(box))
        if n_source == 0 or few:
            try_points(instance, stack, cython.address(box), source, n_source, confusion)
            return False
        if terms.floors.n_floors > 0:
            missing = shortfall(contests.most_correct, terms.floors, memo.true)
            if missing > 0.0:
                raise_node(nodes, d, MISSED * (1.0 + missing))
                if nodes.bound[d] >= incumbent.value[0]:
                    return False
        goal = incumbent.value[0] - instance.margin
        infeasible: cython.bint = goal >= MISSED
        relaxation.terms, relaxation.dearest = terms, INFINITY
        if infeasible:
            least = incumbent.value[0] / MISSED - 1.0
            goal = least - (instance.margin if instance.margin < least / 2.0 else least / 2.0)
            relaxation.terms, relaxation.dearest = instance.shortfall, 1.0
        bound = raise_bound(
            cython.address(relaxation),
            cython.address(box),
            confusion,
            cython.address(multipliers),
            goal,
        )
        if not infeasible:
            raise_node(nodes, d, bound)
        elif bound > 0.0:
            raise_node(nodes, d, MISSED * (1.0 + bound))
        if bound >= goal or nodes.bound[d] >= incumbent.value[0] - instance.margin:
            return False
        shaved = shave(cython.address(relaxation), cython.address(box), bound, goal)
        if shaved == INFINITY:
            return False
        rounds += 1
        few = has_few_points(cython.address(box))
        if (shaved < WORTH_A_ROUND or rounds == ROUNDS) and not few:
            break
    stack.split[d] = choose_class(scale, cython.address(box), contests)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def raise_node(nodes: Nodes, d: int64_t, bound: cython.double) -> cython.void:
    """Raise the bound of a node, never lower it."""
    if bound > nodes.bound[d]:
        nodes.bound[d] = bound


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reaches(box: Box, least_top: int64_t) -> cython.bint:
    """Say whether some class of a box can stand as high as `least_top`."""
    for n in range(box.n_classes):
        if box.high[n] >= least_top:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_few_points(box: Box) -> cython.bint:
    """Say whether a box is to be searched point by point."""
    n_points = 1.0
    for n in range(box.n_classes):
        n_points *= box.high[n] - box.low[n] + 1
    return n_points <= FEW_POINTS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def try_points(
    instance: Instance,
    stack: NodeStack,
    box: Box,
    open_rows: SmallIntegers,
    n_open: int64_t,
    settled: Confusion,
) -> cython.void:
    """Evaluate every point of a box, or any one if no row is open."""
    rows, scale, incumbent = instance.rows, instance.scale, stack.incumbent
    n_classes, point, confusion = box.n_classes, stack.trial, stack.counts
    memcpy(point, box.high, n_classes * 8)
    while True:
        memcpy(confusion, settled, n_classes * n_classes * 8)
        for i in range(n_open):
            row = open_rows[i]
            best = -1.0
            winner: uint32_t = 0
            for e in range(rows.row_start[row], rows.row_start[row + 1]):
                c = rows.row_class[e]
                score = scale.weight[point[c]] * rows.row_p[e]
                if score > best:
                    best = score
                    winner = c
            confusion[rows.label[row] * n_classes + winner] += rows.counts[row]
        incumbent.n_points[0] += 1
        sum_columns(confusion, n_classes, stack.predicted)
        here = value(confusion, stack.predicted, instance.terms, stack.memo)
        if here < incumbent.value[0]:
            incumbent.value[0] = here
            incumbent.improved[0] = 1
            memcpy(incumbent.point, point, n_classes * 8)
        n: int64_t = 0
        while n < n_classes and (point[n] == box.low[n] or n_open == 0):
            point[n] = box.high[n]
            n += 1
        if n == n_classes:
            return
        point[n] -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def halve(
    instance: Instance, nodes: Nodes, c: int64_t, d: int64_t, upper: cython.bint
) -> cython.void:
    """Cut the interval of class `c` where it is halved, in logarithms."""
    log_weight, at = instance.scale.log_weight, d * instance.rows.n_classes + c
    low, high = nodes.low[at], nodes.high[at]
    goal = 0.5 * (log_weight[low] + log_weight[high])
    middle = low
    while middle + 1 < high and log_weight[middle + 1] <= goal:
        middle += 1
    if upper:
        nodes.low[at] = middle + 1
    else:
        nodes.high[at] = middle


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copy_node(stack: NodeStack, source: int64_t, target: int64_t) -> cython.void:
    """Copy a node with its rows and counts."""
    nodes, n = stack.nodes, stack.memo.n_classes
    memcpy(nodes.low + target * n, nodes.low + source * n, n * 8)
    memcpy(nodes.high + target * n, nodes.high + source * n, n * 8)
    memcpy(nodes.multipliers + target * 3 * n, nodes.multipliers + source * 3 * n, 3 * n * 8)
    memcpy(nodes.price + target * (n + 1), nodes.price + source * (n + 1), (n + 1) * 8)
    memcpy(stack.confusion + target * n * n, stack.confusion + source * n * n, n * n * 8)
    nodes.bound[target] = nodes.bound[source]
    stack.split[target] = stack.split[source]
    stack.first[target] = stack.first[source]
    stack.n_rows[target] = stack.n_rows[source]
    stack.end[target] = stack.end[source]
