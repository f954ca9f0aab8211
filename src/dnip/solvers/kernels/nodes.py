"""Nodes of a branch and bound: boxes that may hold a better point, and the open rows in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.boxes import BoxRows, Contests, Scale, new_contests
from dnip.solvers.kernels.jit import inner
from dnip.solvers.kernels.sweep import Relaxed, new_relaxed

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, SmallIntegers
    from dnip.solvers.kernels.values import Memo

# Room for the open rows of all nodes, in lists of all rows; a search ends where it is full.
_ROW_LISTS = 24


class Nodes(NamedTuple):
    """Boxes that may hold a better point, the next one last."""

    low: Integers  # (D, N)
    high: Integers  # (D, N)
    bound: Floats  # (D,)
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
    rows: SmallIntegers  # open rows of all nodes
    contests: Contests
    relaxed: Relaxed


def new_stack(rows: BoxRows, n_levels: int, memo: Memo) -> NodeStack:
    """Make room for a depth-first search over `rows` on a scale of `n_levels` weights."""
    n_rows, n_classes = len(rows.label), len(rows.settled)
    depth = 2 + 2 * n_classes * int(np.ceil(np.log2(n_levels + 1)))
    n_nodes = depth + 2

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
        contests=new_contests(n_rows, len(rows.row_p), n_classes),
        relaxed=new_relaxed(n_rows, n_classes),
    )


@inner
def halve(scale: Scale, nodes: Nodes, c: int, d: int, upper: bool) -> None:
    """Cut the interval of class `c` where it is halved, in logarithms."""
    low, high = nodes.low[d, c], nodes.high[d, c]
    goal = 0.5 * (scale.log_weight[low] + scale.log_weight[high])
    middle = low
    while middle + 1 < high and scale.log_weight[middle + 1] <= goal:
        middle += 1
    if upper:
        nodes.low[d, c] = middle + 1
    else:
        nodes.high[d, c] = middle


@inner
def copy_node(stack: NodeStack, source: int, target: int) -> None:
    """Copy a node with its rows and counts."""
    nodes = stack.nodes
    nodes.low[target] = nodes.low[source]
    nodes.high[target] = nodes.high[source]
    nodes.bound[target] = nodes.bound[source]
    nodes.multipliers[target] = nodes.multipliers[source]
    nodes.price[target] = nodes.price[source]
    stack.split[target] = stack.split[source]
    stack.confusion[target] = stack.confusion[source]
    stack.first[target] = stack.first[source]
    stack.n_rows[target] = stack.n_rows[source]
    stack.end[target] = stack.end[source]
