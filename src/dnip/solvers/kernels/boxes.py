"""Boxes of weight vectors, and the rows whose prediction is still open inside one.

A box gives every class an interval of weights. A row is settled in it if the same class wins for
all weight vectors of the box. A row that is open between two classes a < b is a *contest*: it flips
from b to a where log ω_a - log ω_b passes log p_b - log p_a. So a contest depends on the ratio of
two weights alone, and the bounds are built on that (see `relaxation`).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities, SmallIntegers
from dnip.solvers.kernels.door import kernel

#: Most rivals that share a row out among them. `compiled/boxes.py` has the same number.
MOST_RIVALS = 4


class BoxRows(NamedTuple):
    """Rows that are open in the box of all weight vectors, as (row, candidate) entries by row."""

    row_start: Integers  # (R + 1,) where each row's entries start
    row_class: SmallIntegers  # (T,) candidates, ascending within a row
    row_p: Floats  # (T,) their probabilities
    row_log_p: Floats  # (T,)
    label: Annotated[SmallIntegers, "n_rows"]  # (R,) true class
    counts: Integers  # (R,) how many examples the row counts as
    settled: Annotated[Confusion, "n_classes"]  # (N, N) counts of the settled rows


class Box(NamedTuple):
    """Intervals of weights, one per class, ends included."""

    low: Annotated[Integers, "n_classes"]  # (N,) positions on the scale, 0..K-1
    high: Integers  # (N,)


class Scale(NamedTuple):
    """The weights that a class may have, ascending."""

    weight: Floats  # (K,)
    log_weight: Floats  # (K,)


class Contests(NamedTuple):
    """The open rows of one box, by pair of classes and by the ratio at which they flip.

    C, their number at most, is more than R: a row may be a contest with each of its rivals.
    """

    n_pairs: Integers  # (1,)
    pair: Integers  # (N²,) pairs a·N + b with contests, in the order in which they were met
    start: Integers  # (N² + 1,) where the contests of each such pair start
    threshold: Floats  # (C,) log ω_a - log ω_b at which a comes ahead of b
    kind: SmallIntegers  # (C,)
    size: Floats  # (C,) how many examples each counts as
    place: Integers  # (N²,) room, -1 between two boxes
    raw_pair: Integers  # (C,) room: the pair of each contest as it is met
    raw_threshold: Floats  # (C,) room
    raw_kind: SmallIntegers  # (C,) room
    raw_size: Floats  # (C,) room
    crowd: Integers  # (C,) which crowd, for a crowded contest
    raw_crowd: Integers  # (C,) room
    rival: Integers  # (C,) and the entry of the rival
    raw_rival: Integers  # (C,) room
    part: Floats  # (T,) of its row that each rival in a crowd stands for; kept between boxes
    n_crowds: Integers  # (1,)
    crowd_start: (
        Integers  # (R + 1,) rows with three or more candidates: where their wrong ones start
    )
    crowd_class: SmallIntegers  # (T,)
    crowd_label: SmallIntegers  # (R,) true class of each crowd
    crowd_stray: Integers  # (R,) counts of a crowd without the true class, 0 for others
    most_correct: Integers  # (N,) examples of each class that can be predicted right
    most_wrong: Integers  # (N,) examples that can be predicted as each class and are not
    low: Floats  # (N,) room
    high: Floats  # (N,) room
    entries: Integers  # (N,) room


def new_contests(rows: BoxRows) -> Contests:
    """Make room for the contests of any box."""
    n_rows, n_entries, n_classes = len(rows.label), len(rows.row_p), len(rows.settled)
    n_cells, n_contests = n_classes**2, min(MOST_RIVALS * n_rows, n_entries)
    return Contests(
        n_pairs=np.zeros(1, np.int64),
        pair=np.empty(n_cells, np.int64),
        start=np.empty(n_cells + 1, np.int64),
        threshold=np.empty(n_contests),
        kind=np.empty(n_contests, np.uint32),
        size=np.empty(n_contests),
        place=np.full(n_cells, -1, np.int64),
        raw_pair=np.empty(n_contests, np.int64),
        raw_threshold=np.empty(n_contests),
        raw_kind=np.empty(n_contests, np.uint32),
        raw_size=np.empty(n_contests),
        crowd=np.empty(n_contests, np.int64),
        raw_crowd=np.empty(n_contests, np.int64),
        rival=np.empty(n_contests, np.int64),
        raw_rival=np.empty(n_contests, np.int64),
        part=np.clip(rows.row_p, 0.01, 1.0) ** 2,
        n_crowds=np.zeros(1, np.int64),
        crowd_start=np.zeros(n_rows + 1, np.int64),
        crowd_class=np.empty(n_entries, np.uint32),
        crowd_label=np.empty(n_rows, np.uint32),
        crowd_stray=np.empty(n_rows, np.int64),
        most_correct=np.empty(n_classes, np.int64),
        most_wrong=np.empty(n_classes, np.int64),
        low=np.empty(n_classes),
        high=np.empty(n_classes),
        entries=np.empty(n_classes, np.int64),
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


#: Count the rows of a list that a box settles, keep the open ones, and list their contests.
narrow = kernel(
    "narrow", int, BoxRows, Scale, Box, SmallIntegers, int, SmallIntegers, Confusion, Contests
)
