"""Branch and bound over boxes: one depth-first search, from one box."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers, SmallIntegers
from dnip.solvers.kernels.boxes import BoxRows, Contests, Scale, new_contests
from dnip.solvers.kernels.door import kernel
from dnip.solvers.kernels.relaxation import Relaxed, new_relaxed
from dnip.solvers.kernels.values import Memo, Terms

# Room for the open rows of all nodes, in lists of all rows; a search ends where it is full.
_ROW_LISTS = 24


class Instance(NamedTuple):
    """What to search: shared by all depth-first searches."""

    rows: BoxRows
    scale: Scale
    terms: Terms
    shortfall: Terms  # only the shortfall, to be minimised while no feasible point is known
    least_top: int  # points without a position this high are copies of others, and left out
    margin: float  # points that are better by less do not count
    n_steps: int  # of the multipliers in a box


class Nodes(NamedTuple):
    """Boxes that may hold a better point, the next one last."""

    low: Integers  # (D, N)
    high: Integers  # (D, N)
    bound: Annotated[Floats, "n_nodes"]  # (D,)
    multipliers: Floats  # (D, 3, N): v, correct, wrong
    price: Floats  # (D, N + 1)


class Incumbent(NamedTuple):
    """The best point so far. Single numbers are arrays of one element, so that they can change."""

    value: Floats  # the best value so far
    point: Integers  # (N,) its positions on the scale, if this search found it
    improved: Integers  # whether this search found it
    n_points: Integers  # points evaluated


class NodeStack(NamedTuple):
    """The nodes of one depth-first search, and room to work in."""

    nodes: Nodes
    incumbent: Incumbent
    memo: Memo
    split: Integers  # (D,) class whose interval each node halves
    confusion: Confusion  # (D, N, N) settled rows of each node
    first: Integers  # (D,) where each node's open rows start in `rows`
    n_rows: Integers  # (D,)
    end: Integers  # (D,) from where `rows` is free while the node is the next one
    rows: Annotated[SmallIntegers, "room"]  # open rows of all nodes
    contests: Contests
    relaxed: Relaxed
    trial: Integers  # (N,) room
    counts: Confusion  # (N, N) room
    predicted: Integers  # (N,) room


def new_stack(rows: BoxRows, n_levels: int, memo: Memo) -> NodeStack:
    """Make room for a depth-first search over `rows` on a scale of `n_levels` weights."""
    n_rows, n_classes = len(rows.label), len(rows.settled)
    depth = 2 + 2 * n_classes * int(np.ceil(np.log2(n_levels + 1)))
    n_nodes = depth + 2
    contests = new_contests(rows)

    def whole(*shape: int) -> Integers:
        return np.zeros(shape, np.int64)

    return NodeStack(
        nodes=Nodes(
            low=whole(n_nodes, n_classes),
            high=whole(n_nodes, n_classes),
            bound=np.zeros(n_nodes),
            multipliers=np.zeros((n_nodes, 3, n_classes)),
            price=np.zeros((n_nodes, n_classes + 1)),
        ),
        incumbent=Incumbent(np.zeros(1), whole(n_classes), whole(1), whole(1)),
        memo=memo,
        split=whole(n_nodes),
        confusion=whole(n_nodes, n_classes, n_classes),
        first=whole(n_nodes),
        n_rows=whole(n_nodes),
        end=whole(n_nodes),
        rows=np.empty(min(depth, _ROW_LISTS) * n_rows, np.uint32),
        contests=contests,
        relaxed=new_relaxed(n_rows, len(contests.size), n_classes),
        trial=whole(n_classes),
        counts=whole(n_classes, n_classes),
        predicted=whole(n_classes),
    )


#: Search the box in node 0 for points better than the best value.
search_depth_first = kernel("search_depth_first", int, Instance, NodeStack, int)
