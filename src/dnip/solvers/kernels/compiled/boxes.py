"""Boxes of weight vectors, and the rows whose prediction is still open inside one.

A box gives every class an interval of weights. A row is settled in it if the same class wins for
all weight vectors of the box. A row that is open between two classes a < b is a *contest*: it flips
from b to a where log ω_a - log ω_b passes log p_b - log p_a. So a contest depends on the ratio of
two weights alone, and the bounds are built on that (see `relaxation`).
"""

import cython

# Which class is true in a contest of a < b; see `dnip.solvers.kernels.boxes`.
TRUE_A = cython.declare(uint32_t, 0)
TRUE_B = cython.declare(uint32_t, 1)
TRUE_NEITHER = cython.declare(uint32_t, 2)
TRUE_A_CROWDED = cython.declare(uint32_t, 3)
TRUE_B_CROWDED = cython.declare(uint32_t, 4)
# The kind of a contest is one of these plus the true class times KINDS.
KINDS = cython.declare(uint32_t, 8)
# Thresholds that differ by less, in logarithms, count as equal: this is far above rounding.
SAME = cython.declare(cython.double, 1e-11)
# Rivals that stand for less than this part of a crowd are left out, and those beyond the most.
LEAST_PART = cython.declare(cython.double, 0.02)
MOST_RIVALS = cython.declare(int64_t, 4)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def narrow(
    rows: BoxRows,
    scale: Scale,
    box: Box,
    source: SmallIntegers,
    n_source: int64_t,
    kept: SmallIntegers,
    confusion: Confusion,
    contests: Contests,
) -> int64_t:
    """Count the rows of `source` that `box` settles, keep the open ones, and list their contests.

    `kept` may be the same memory as `source`. Returns how many rows are kept.
    """
    n_classes, low, high, entries = rows.n_classes, contests.low, contests.high, contests.entries
    for n in range(n_classes):
        low[n], high[n] = scale.weight[box.low[n]], scale.weight[box.high[n]]
        contests.most_correct[n] = contests.most_wrong[n] = 0
    contests.n_crowds[0] = 0
    n_kept: int64_t = 0
    n_contests: int64_t = 0
    for x in range(n_source):
        row = source[x]
        label, size = rows.label[row], rows.counts[row]
        n_open = find_open(rows, row, low, high, entries)
        if n_open == 1:
            confusion[label * n_classes + rows.row_class[entries[0]]] += size
            continue
        kept[n_kept] = row
        n_kept += 1
        true: int64_t = -1  # entry of the true class
        for i in range(n_open):
            c = rows.row_class[entries[i]]
            if c == label:
                true = entries[i]
                contests.most_correct[c] += size
            else:
                contests.most_wrong[c] += size
        one, other = entries[0], entries[1]
        if n_open == 2:
            kind = TRUE_A if one == true else (TRUE_B if other == true else TRUE_NEITHER)
        else:
            crowd = note_crowd(rows, row, entries, n_open, contests)
            if true < 0:
                contests.crowd_stray[crowd] = size
                continue
            n_contests = share_row(rows, row, entries, n_open, true, contests, n_contests)
            continue
        add_contest(rows, row, one, other, kind, size, contests, n_contests)
        n_contests += 1
    sort_contests(contests, n_contests)
    for n in range(n_classes):
        contests.most_correct[n] += confusion[n * n_classes + n]
        for i in range(n_classes):
            if i != n:
                contests.most_wrong[n] += confusion[i * n_classes + n]
    return n_kept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_open(rows: BoxRows, row: int64_t, low: Floats, high: Floats, entries: Integers) -> int64_t:
    """List the entries of a row whose class wins somewhere between `low` and `high`."""
    first, last = rows.row_start[row], rows.row_start[row + 1]
    best = -1.0
    ahead: uint32_t = 0  # the class with the best score at its lowest weight
    for e in range(first, last):
        score = low[rows.row_class[e]] * rows.row_p[e]
        if score > best:
            best = score
            ahead = rows.row_class[e]
    n_open: int64_t = 0
    for e in range(first, last):
        c = rows.row_class[e]
        score = high[c] * rows.row_p[e]
        if c == ahead or score > best or (score == best and c < ahead):
            entries[n_open] = e
            n_open += 1
    return n_open


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_crowd(
    rows: BoxRows, row: int64_t, entries: Integers, n_open: int64_t, contests: Contests
) -> int64_t:
    """List the wrong classes of a row with three or more candidates."""
    crowd = contests.n_crowds[0]
    end = contests.crowd_start[crowd]
    for i in range(n_open):
        e = entries[i]
        if rows.row_class[e] != rows.label[row]:
            contests.crowd_class[end] = rows.row_class[e]
            end += 1
    contests.n_crowds[0] = crowd + 1
    contests.crowd_start[crowd + 1] = end
    contests.crowd_stray[crowd] = 0
    contests.crowd_label[crowd] = rows.label[row]
    return crowd


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def share_row(
    rows: BoxRows,
    row: int64_t,
    entries: Integers,
    n_open: int64_t,
    true: int64_t,
    contests: Contests,
    n_contests: int64_t,
) -> int64_t:
    """Share the latest crowd out: its true class meets some rivals, each for a part of the row.

    Those are the rivals with the largest parts. Returns how many contests there are then.
    """
    part, total = contests.part, 0.0
    n_rivals: int64_t = 0
    for i in range(n_open):
        if entries[i] == true:
            entries[i] = entries[n_open - 1]
            break
    while n_rivals < n_open - 1 and n_rivals < MOST_RIVALS:
        largest = n_rivals
        for i in range(n_rivals + 1, n_open - 1):
            if part[entries[i]] > part[entries[largest]]:
                largest = i
        rival = entries[largest]
        if part[rival] < LEAST_PART * total:
            break
        entries[largest] = entries[n_rivals]
        entries[n_rivals] = rival
        total += part[rival]
        n_rivals += 1
    for i in range(n_rivals):
        rival = entries[i]
        size = rows.counts[row] * (part[rival] / total)
        if true < rival:
            add_contest(rows, row, true, rival, TRUE_A_CROWDED, size, contests, n_contests)
        else:
            add_contest(rows, row, rival, true, TRUE_B_CROWDED, size, contests, n_contests)
        contests.raw_crowd[n_contests] = contests.n_crowds[0] - 1
        contests.raw_rival[n_contests] = rival
        n_contests += 1
    return n_contests


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_contest(
    rows: BoxRows,
    row: int64_t,
    one: int64_t,
    other: int64_t,
    kind: uint32_t,
    size: cython.double,
    contests: Contests,
    x: int64_t,
) -> cython.void:
    """List a contest of two entries of a row, the lower class first."""
    contests.raw_pair[x] = rows.row_class[one] * rows.n_classes + rows.row_class[other]
    contests.raw_threshold[x] = rows.row_log_p[other] - rows.row_log_p[one]
    contests.raw_kind[x] = kind + KINDS * rows.label[row]
    contests.raw_size[x] = size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_contests(contests: Contests, n_contests: int64_t) -> cython.void:
    """Group the contests by pair, and sort those of a pair by threshold."""
    place, start = contests.place, contests.start
    n_pairs: int64_t = 0
    for x in range(n_contests):
        pair = contests.raw_pair[x]
        if place[pair] < 0:
            place[pair] = n_pairs
            contests.pair[n_pairs] = pair
            start[n_pairs] = 0
            n_pairs += 1
        start[place[pair]] += 1
    contests.n_pairs[0] = n_pairs
    total: int64_t = 0
    for q in range(n_pairs):
        n = start[q]
        start[q] = total
        place[contests.pair[q]] = total
        total += n
    start[n_pairs] = total
    for x in range(n_contests):
        at = place[contests.raw_pair[x]]
        place[contests.raw_pair[x]] = at + 1
        contests.threshold[at] = contests.raw_threshold[x]
        contests.kind[at] = contests.raw_kind[x]
        contests.size[at] = contests.raw_size[x]
        contests.crowd[at] = contests.raw_crowd[x]
        contests.rival[at] = contests.raw_rival[x]
    for q in range(n_pairs):
        place[contests.pair[q]] = -1
        shell_sort(contests, start[q], start[q + 1])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shell_sort(contests: Contests, first: int64_t, last: int64_t) -> cython.void:
    """Sort the contests from `first` to `last` - 1 by threshold."""
    stride: int64_t = 1
    while 3 * stride < last - first:
        stride = 3 * stride + 1
    while stride > 0:
        for x in range(first + stride, last):
            threshold = contests.threshold[x]
            kind, size = contests.kind[x], contests.size[x]
            crowd, rival = contests.crowd[x], contests.rival[x]
            at = x
            while at - stride >= first and contests.threshold[at - stride] > threshold:
                contests.threshold[at] = contests.threshold[at - stride]
                contests.kind[at] = contests.kind[at - stride]
                contests.size[at] = contests.size[at - stride]
                contests.crowd[at] = contests.crowd[at - stride]
                contests.rival[at] = contests.rival[at - stride]
                at -= stride
            contests.threshold[at] = threshold
            contests.kind[at] = kind
            contests.size[at] = size
            contests.crowd[at] = crowd
            contests.rival[at] = rival
        stride //= 3
