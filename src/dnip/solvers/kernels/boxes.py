"""Boxes of weight vectors, and the rows whose prediction is still open inside one.

A box gives every class an interval of weights. A row is settled in it if the same class wins for
all weight vectors of the box. A row that is open between two classes a < b is a *contest*: it flips
from b to a where log ω_a - log ω_b passes log p_b - log p_a. So a contest depends on the ratio of
two weights alone, and the bounds are built on that (see `relaxation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import inner, jit

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities, SmallIntegers

#: Which class is true in a contest of a < b. A crowded contest has more candidates: the true class
#: may then lose to a third class as well.
TRUE_A, TRUE_B, TRUE_NEITHER, TRUE_A_CROWDED, TRUE_B_CROWDED = range(5)
#: The kind of a contest is one of these plus the true class times KINDS.
KINDS = 8
#: Thresholds that differ by less, in logarithms, count as equal: this is far above rounding.
SAME = 1e-11


class BoxRows(NamedTuple):
    """Rows that are open in the box of all weight vectors, as (row, candidate) entries by row."""

    row_start: Integers  # (R + 1,) where each row's entries start
    row_class: SmallIntegers  # (T,) candidates, ascending within a row
    row_p: Floats  # (T,) their probabilities
    row_log_p: Floats  # (T,)
    label: SmallIntegers  # (R,) true class
    counts: Integers  # (R,) how many examples the row counts as
    settled: Confusion  # (N, N) counts of the settled rows


class Box(NamedTuple):
    """Intervals of weights, one per class, ends included."""

    low: Integers  # (N,) positions on the scale, 0..K-1
    high: Integers  # (N,)


class Scale(NamedTuple):
    """The weights that a class may have, ascending."""

    weight: Floats  # (K,)
    log_weight: Floats  # (K,)


class Contests(NamedTuple):
    """The open rows of one box, by pair of classes and by the ratio at which they flip."""

    n_pairs: Integers  # (1,)
    pair: Integers  # (N²,) pairs a·N + b with contests, in the order in which they were met
    start: Integers  # (N² + 1,) where the contests of each such pair start
    threshold: Floats  # (R,) log ω_a - log ω_b at which a comes ahead of b
    kind: SmallIntegers  # (R,)
    counts: Integers  # (R,)
    place: Integers  # (N²,) room, -1 between two boxes
    raw_pair: Integers  # (R,) room: the pair of each contest as it is met
    raw_threshold: Floats  # (R,) room
    raw_kind: SmallIntegers  # (R,) room
    raw_counts: Integers  # (R,) room
    crowd: Integers  # (R,) which crowd, for a crowded contest
    raw_crowd: Integers  # (R,) room
    n_crowds: Integers  # (1,)
    crowd_start: (
        Integers  # (R + 1,) rows with three or more candidates: where their wrong ones start
    )
    crowd_class: SmallIntegers  # (T,)
    crowd_label: SmallIntegers  # (R,) true class of each crowd
    crowd_stray: Integers  # (R,) examples of a crowd without the true class, 0 for others
    most_correct: Integers  # (N,) examples of each class that can be predicted right
    most_wrong: Integers  # (N,) examples that can be predicted as each class and are not


def new_contests(n_rows: int, n_entries: int, n_classes: int) -> Contests:
    """Make room for the contests of any box."""
    n_cells = n_classes**2
    return Contests(
        n_pairs=np.zeros(1, np.int64),
        pair=np.empty(n_cells, np.int64),
        start=np.empty(n_cells + 1, np.int64),
        threshold=np.empty(n_rows),
        kind=np.empty(n_rows, np.uint32),
        counts=np.empty(n_rows, np.int64),
        place=np.full(n_cells, -1, np.int64),
        raw_pair=np.empty(n_rows, np.int64),
        raw_threshold=np.empty(n_rows),
        raw_kind=np.empty(n_rows, np.uint32),
        raw_counts=np.empty(n_rows, np.int64),
        crowd=np.empty(n_rows, np.int64),
        raw_crowd=np.empty(n_rows, np.int64),
        n_crowds=np.zeros(1, np.int64),
        crowd_start=np.zeros(n_rows + 1, np.int64),
        crowd_class=np.empty(n_entries, np.uint32),
        crowd_label=np.empty(n_rows, np.uint32),
        crowd_stray=np.empty(n_rows, np.int64),
        most_correct=np.empty(n_classes, np.int64),
        most_wrong=np.empty(n_classes, np.int64),
    )


def lay_out_boxes(
    p: Probabilities, labels: Labels, counts: Integers, lowest: Floats, highest: Floats
) -> BoxRows:
    """Settle the rows that one class wins for all weights from `lowest` to `highest`, (N,) each."""
    n_rows, n_classes = p.shape
    counts = np.broadcast_to(counts, n_rows)
    is_candidate = p * highest >= (p * lowest).max(axis=1, keepdims=True)
    n_candidates = is_candidate.sum(axis=1)
    settled = np.zeros((n_classes, n_classes), np.int64)
    alone = n_candidates == 1
    np.add.at(settled, (labels[alone], is_candidate[alone].argmax(axis=1)), counts[alone])
    is_open = ~alone & (counts > 0)
    row, candidate = np.nonzero(is_candidate[is_open])
    row_p = p[is_open][row, candidate].astype(np.float64)
    return BoxRows(
        row_start=np.concatenate(([0], np.cumsum(n_candidates[is_open]))),
        row_class=candidate.astype(np.uint32),
        row_p=row_p,
        row_log_p=np.log(row_p),
        label=labels[is_open].astype(np.uint32),
        counts=counts[is_open].copy(),
        settled=settled,
    )


@jit
def narrow(
    rows: BoxRows,
    scale: Scale,
    box: Box,
    source: SmallIntegers,
    kept: SmallIntegers,
    confusion: Confusion,
    contests: Contests,
) -> int:
    """Count the rows of `source` that `box` settles, keep the open ones, and list their contests.

    `kept` may be the same memory as `source`. Returns how many rows are kept.
    """
    n_classes = len(box.low)
    low, high = np.empty(n_classes), np.empty(n_classes)
    for n in range(n_classes):
        low[n], high[n] = scale.weight[box.low[n]], scale.weight[box.high[n]]
        contests.most_correct[n] = contests.most_wrong[n] = 0
    entries = np.empty(n_classes, np.int64)
    contests.n_crowds[0] = 0
    n_kept = n_contests = 0
    for x in range(len(source)):
        row = source[x]
        label, n = rows.label[row], rows.counts[row]
        n_open = find_open(rows, row, low, high, entries)
        if n_open == 1:
            confusion[label, rows.row_class[entries[0]]] += n
            continue
        kept[n_kept] = row
        n_kept += 1
        true = -1  # entry of the true class
        for i in range(n_open):
            c = rows.row_class[entries[i]]
            if c == label:
                true = entries[i]
                contests.most_correct[c] += n
            else:
                contests.most_wrong[c] += n
        one, other = entries[0], entries[1]
        if n_open == 2:
            kind = TRUE_A if one == true else (TRUE_B if other == true else TRUE_NEITHER)
        else:
            crowd = _note_crowd(rows, row, entries[:n_open], contests)
            if true < 0:
                contests.crowd_stray[crowd] = n
                continue
            contests.raw_crowd[n_contests] = crowd
            rival = _strongest_rival(rows, scale, box, entries[:n_open], true)
            one, other = min(true, rival), max(true, rival)
            kind = TRUE_A_CROWDED if one == true else TRUE_B_CROWDED
        contests.raw_pair[n_contests] = rows.row_class[one] * n_classes + rows.row_class[other]
        contests.raw_threshold[n_contests] = rows.row_log_p[other] - rows.row_log_p[one]
        contests.raw_kind[n_contests] = kind + KINDS * label
        contests.raw_counts[n_contests] = n
        n_contests += 1
    _sort(contests, n_contests)
    for n in range(n_classes):
        contests.most_correct[n] += confusion[n, n]
        for i in range(n_classes):
            if i != n:
                contests.most_wrong[n] += confusion[i, n]
    return n_kept


@inner
def find_open(rows: BoxRows, row: int, low: Floats, high: Floats, entries: Integers) -> int:
    """List the entries of a row whose class wins somewhere between `low` and `high`."""
    first, last = rows.row_start[row], rows.row_start[row + 1]
    best = -1.0
    ahead = np.uint32(0)  # the class with the best score at its lowest weight
    for e in range(first, last):
        score = low[rows.row_class[e]] * rows.row_p[e]
        if score > best:
            best = score
            ahead = rows.row_class[e]
    n_open = 0
    for e in range(first, last):
        c = rows.row_class[e]
        score = high[c] * rows.row_p[e]
        if c == ahead or score > best or (score == best and c < ahead):
            entries[n_open] = e
            n_open += 1
    return n_open


@inner
def _note_crowd(rows: BoxRows, row: int, entries: Integers, contests: Contests) -> int:
    """List the wrong classes of a row with three or more candidates."""
    crowd = int(contests.n_crowds[0])
    end = contests.crowd_start[crowd]
    for e in entries:
        if rows.row_class[e] != rows.label[row]:
            contests.crowd_class[end] = rows.row_class[e]
            end += 1
    contests.n_crowds[0] = crowd + 1
    contests.crowd_start[crowd + 1] = end
    contests.crowd_stray[crowd] = 0
    contests.crowd_label[crowd] = rows.label[row]
    return crowd


@inner
def _strongest_rival(rows: BoxRows, scale: Scale, box: Box, entries: Integers, true: int) -> int:
    """Entry of the wrong class that is ahead in the middle of the box."""
    rival = true
    strongest = -np.inf
    for e in entries:
        if e != true:
            c = rows.row_class[e]
            middle = 0.5 * (scale.log_weight[box.low[c]] + scale.log_weight[box.high[c]])
            strength = rows.row_log_p[e] + middle
            if strength > strongest:
                strongest = strength
                rival = e
    return rival


@inner
def _sort(contests: Contests, n_contests: int) -> None:
    """Group the contests by pair, and sort those of a pair by threshold."""
    place, start = contests.place, contests.start
    n_pairs = 0
    for x in range(n_contests):
        pair = contests.raw_pair[x]
        if place[pair] < 0:
            place[pair] = n_pairs
            contests.pair[n_pairs] = pair
            start[n_pairs] = 0
            n_pairs += 1
        start[place[pair]] += 1
    contests.n_pairs[0] = n_pairs
    total = 0
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
        contests.counts[at] = contests.raw_counts[x]
        contests.crowd[at] = contests.raw_crowd[x]
    for q in range(n_pairs):
        place[contests.pair[q]] = -1
        _shell_sort(contests, start[q], start[q + 1])


@inner
def _shell_sort(contests: Contests, first: int, last: int) -> None:
    stride = 1
    while 3 * stride < last - first:
        stride = 3 * stride + 1
    while stride > 0:
        for x in range(first + stride, last):
            threshold = contests.threshold[x]
            kind, n, crowd = contests.kind[x], contests.counts[x], contests.crowd[x]
            at = x
            while at - stride >= first and contests.threshold[at - stride] > threshold:
                contests.threshold[at] = contests.threshold[at - stride]
                contests.kind[at] = contests.kind[at - stride]
                contests.counts[at] = contests.counts[at - stride]
                contests.crowd[at] = contests.crowd[at - stride]
                at -= stride
            contests.threshold[at] = threshold
            contests.kind[at] = kind
            contests.counts[at] = n
            contests.crowd[at] = crowd
        stride //= 3
