"""Confusion counts at one point, and where rows flip as one class goes from index 1 to K.

Counts follow the prediction rule: argmax of ω_n·p_mn, the lowest class on a tie.

As the index of one class grows, each row flips at most once: from its *rival*, the best of the
other classes, to the class itself. It flips at the smallest index whose weight times p is ahead of
the rival's product. Flips in order of index give the confusion matrix at all K indices in one walk.
"""

import cython

# Dense rows are worked on in blocks that stay in the processor's first cache.
BLOCK = cython.declare(int64_t, 512)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count(rows: Rows, weights: Floats, confusion: Confusion) -> cython.void:
    """Write the confusion counts of shape (N, N) at weights of shape (N,)."""
    memcpy(confusion, rows.settled, rows.n_classes * rows.n_classes * 8)
    if rows.n_columns > 0:
        count_dense(rows, weights, confusion)
    else:
        count_sparse(rows, weights, confusion)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_dense(rows: Rows, weights: Floats, confusion: Confusion) -> cython.void:
    """Add the open rows to the counts; branch-free over the rows of a block."""
    n_classes = rows.n_classes
    best: cython.double[512]
    winner: uint32_t[512]
    first: int64_t = 0
    while first < rows.n_rows:
        n = rows.n_rows - first if rows.n_rows - first < BLOCK else BLOCK
        for i in range(n):
            best[i] = -1.0
            winner[i] = 0
        for j in range(n_classes):
            take_lead(weights[j], rows.columns + j * rows.n_rows + first, j, n, best, winner)
        for i in range(n):
            confusion[rows.label[first + i] * n_classes + winner[i]] += rows.counts[first + i]
        first += BLOCK


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def take_lead(
    weight: cython.double,
    column: Floats,
    j: uint32_t,
    n: int64_t,
    best: Floats,
    leader: SmallIntegers,
) -> cython.void:
    """Let class `j` lead the rows where its product is above the best so far."""
    for i in range(n):
        here = weight * column[i]
        ahead = cython.cast(uint32_t, here > best[i])
        leader[i] ^= (leader[i] ^ j) & -ahead  # j where it is ahead, without a branch
        best[i] = here if here > best[i] else best[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_sparse(rows: Rows, weights: Floats, confusion: Confusion) -> cython.void:
    """Add the open rows to the counts."""
    for r in range(rows.n_rows):
        winner: uint32_t = 0
        best = -1.0
        for entry in range(rows.row_start[r], rows.row_start[r + 1]):
            score = weights[rows.row_class[entry]] * rows.row_p[entry]
            if score > best:
                best = score
                winner = rows.row_class[entry]
        confusion[rows.label[r] * rows.n_classes + winner] += rows.counts[r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_flips(
    rows: Rows, weights: Floats, c: int64_t, levels: Levels, workspace: Workspace
) -> cython.void:
    """Find the flips of class `c`, the others having weights of shape (N,)."""
    if rows.n_columns == 0:
        find_sparse_flips(rows, weights, c, levels, workspace)
    elif workspace.n_cells > 0:
        memset(workspace.tally, 0, workspace.n_cells * 8)
        tally_flips(rows, weights, c, levels, workspace)
        list_tally(workspace.tally, rows.n_classes, levels.size, workspace.flips)
    else:
        find_dense_flips(rows, weights, c, levels, workspace)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_slots(
    rows: Rows,
    weights: Floats,
    c: int64_t,
    levels: Levels,
    first: int64_t,
    n: int64_t,
    best: Floats,
    rival: SmallIntegers,
    slot: SmallIntegers,
) -> cython.void:
    """Find the rivals and flips of n dense rows from `first` on: branch-free over rows."""
    for i in range(n):
        best[i] = -1.0
        rival[i] = 0
    for j in range(rows.n_classes):
        if j != c:
            take_lead(weights[j], rows.columns + j * rows.n_rows + first, j, n, best, rival)
    column = rows.columns + c * rows.n_rows + first
    first_winning_indices(column, best, rival, c, levels, slot, n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_dense_flips(
    rows: Rows, weights: Floats, c: int64_t, levels: Levels, workspace: Workspace
) -> cython.void:
    """List the flips of dense rows."""
    flips = workspace.flips
    first: int64_t = 0
    while first < rows.n_rows:
        n = rows.n_rows - first if rows.n_rows - first < BLOCK else BLOCK
        rival, slot = workspace.rival + first, workspace.slot + first
        find_slots(rows, weights, c, levels, first, n, workspace.score, rival, slot)
        first += BLOCK
    start_flips(workspace.slot, rows.n_rows, levels.size, flips.start)
    for r in range(rows.n_rows):
        k = workspace.slot[r]
        if k <= levels.size:
            add_flip(flips, k, rows.label[r], workspace.rival[r], rows.counts[r])
    end_flips(levels.size, flips.start)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tally_flips(
    rows: Rows, weights: Floats, c: int64_t, levels: Levels, workspace: Workspace
) -> cython.void:
    """Add the flips of dense rows to the workspace's tally."""
    n_classes = rows.n_classes
    rival, slot, tally = workspace.rival, workspace.slot, workspace.tally
    first: int64_t = 0
    while first < rows.n_rows:
        n = rows.n_rows - first if rows.n_rows - first < BLOCK else BLOCK
        find_slots(rows, weights, c, levels, first, n, workspace.score, rival, slot)
        label, counts = rows.label + first, rows.counts + first
        for i in range(n):
            cell = (slot[i] * n_classes + label[i]) * n_classes + rival[i]
            tally[cell] += counts[i]
        first += BLOCK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_tally(tally: Integers, n_classes: int64_t, scale: int64_t, flips: Flips) -> cython.void:
    """List the flips in a tally of shape (K + 2, N, N) at the indices 1..K."""
    n_flips: int64_t = 0
    n_cells = n_classes * n_classes
    for k in range(1, scale + 1):
        flips.start[k] = n_flips
        here = tally + k * n_cells
        for cell in range(n_cells):
            if here[cell] > 0:
                flips.true[n_flips] = cython.cast(uint32_t, cell // n_classes)
                flips.rival[n_flips] = cython.cast(uint32_t, cell % n_classes)
                flips.counts[n_flips] = here[cell]
                n_flips += 1
    flips.start[scale + 1] = n_flips


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_sparse_flips(
    rows: Rows, weights: Floats, c: int64_t, levels: Levels, workspace: Workspace
) -> cython.void:
    """List the flips of the rows that class `c` can win."""
    flips, rival, best, slot = workspace.flips, workspace.rival, workspace.score, workspace.slot
    first = rows.class_start[c]
    n_rows = rows.class_start[c + 1] - first
    for i in range(n_rows):
        r = rows.class_row[first + i]
        row_rival: uint32_t = 0
        row_best = -1.0
        for entry in range(rows.row_start[r], rows.row_start[r + 1]):
            j = rows.row_class[entry]
            score = weights[j] * rows.row_p[entry]
            ahead: cython.bint = (score > row_best) & (j != c)
            row_rival = j if ahead else row_rival
            row_best = score if ahead else row_best
        rival[i] = row_rival
        best[i] = row_best
    first_winning_indices(rows.class_p + first, best, rival, c, levels, slot, n_rows)
    start_flips(slot, n_rows, levels.size, flips.start)
    for i in range(n_rows):
        if slot[i] <= levels.size:
            r = rows.class_row[first + i]
            add_flip(flips, slot[i], rows.label[r], rival[i], rows.counts[r])
    end_flips(levels.size, flips.start)


# A counting sort in three steps: start, add, end.


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def start_flips(slot: SmallIntegers, n: int64_t, scale: int64_t, start: Integers) -> cython.void:
    """Make `start[k]` the place of the first flip at k, for n flips at the indices `slot`."""
    memset(start, 0, (scale + 2) * 8)
    for i in range(n):
        if slot[i] <= scale:
            start[slot[i] + 1] += 1
    for k in range(2, scale + 2):
        start[k] += start[k - 1]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def add_flip(
    flips: Flips, k: int64_t, true: uint32_t, rival: uint32_t, size: int64_t
) -> cython.void:
    """Put a flip in its place, and move the start of those at k behind it."""
    at = flips.start[k]
    flips.start[k] += 1
    flips.true[at] = true
    flips.rival[at] = rival
    flips.counts[at] = size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_flips(part: Flips, scale: int64_t, flips: Flips) -> cython.void:
    """Put each flip of a part of a table in its place; ``flips.start`` must have room for it."""
    for k in range(1, scale + 1):
        for i in range(part.start[k], part.start[k + 1]):
            add_flip(flips, k, part.true[i], part.rival[i], part.counts[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def end_flips(scale: int64_t, start: Integers) -> cython.void:
    """Move each start back: filling has moved it to its end."""
    k = scale + 1
    while k > 0:
        start[k] = start[k - 1]
        k -= 1
    start[1] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk(
    flips: Flips,
    c: int64_t,
    origin: int64_t,
    target: int64_t,
    confusion: Confusion,
    predicted: Integers,
    n_classes: int64_t,
) -> cython.void:
    """Change the counts, in place, as class `c` goes from index `origin` to index `target`."""
    low, high = (origin, target) if origin < target else (target, origin)
    sign: int64_t = 1 if target > origin else -1
    gained: int64_t = 0
    for i in range(flips.start[low + 1], flips.start[high + 1]):
        true, rival, size = flips.true[i], flips.rival[i], sign * flips.counts[i]
        confusion[true * n_classes + rival] -= size
        confusion[true * n_classes + c] += size
        predicted[rival] -= size
        gained += size
    predicted[c] += gained
