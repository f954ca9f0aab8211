"""Nodes of a branch and bound: boxes that may hold a better point, and the open rows in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.boxes import BoxRows, Contests, Scale, new_contests
from dnip.solvers.kernels.jit import inner
from dnip.solvers.kernels.sweep import Relaxed, new_relaxed

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, SmallIntegers

# Room for the open rows of all nodes, in lists of all rows; a search ends where it is full.
_ROW_LISTS = 24


class Nodes(NamedTuple):
    """Boxes that may hold a better point, the next one last."""

    low: Integers  # (D, N)
    high: Integers  # (D, N)
    bound: Floats  # (D,)
    v: Floats  # (D, N) multipliers
    correct: Floats  # (D, N)
    wrong: Floats  # (D, N)
    price: Floats  # (D, N + 1)


class NodeStack(NamedTuple):
    """The nodes of one depth-first search, with room to work in."""

    nodes: Nodes
    split: Integers  # (D,) class whose interval each node halves
    confusion: Confusion  # (D, N, N) settled rows of each node
    first: Integers  # (D,) where each node's open rows start in `rows`
    n_rows: Integers  # (D,)
    end: Integers  # (D,) from where `rows` is free while the node is the next one
    rows: SmallIntegers  # open rows of all nodes
    contests: Contests
    relaxed: Relaxed


class Incumbent(NamedTuple):
    """The best point so far; a record of one element each."""

    value: Floats  # the best value so far
    point: Integers  # (N,) its positions on the scale, if this search found it
    improved: Integers  # whether this search found it
    n_points: Integers  # points evaluated


def new_nodes(n_nodes: int, n_classes: int) -> Nodes:
    """Make room for boxes."""
    return Nodes(
        np.zeros((n_nodes, n_classes), np.int64),
        np.zeros((n_nodes, n_classes), np.int64),
        np.zeros(n_nodes),
        np.zeros((n_nodes, n_classes)),
        np.zeros((n_nodes, n_classes)),
        np.zeros((n_nodes, n_classes)),
        np.zeros((n_nodes, n_classes + 1)),
    )


def new_stack(rows: BoxRows, n_levels: int) -> NodeStack:
    """Make room for a depth-first search over `rows` on a scale of `n_levels` weights."""
    n_rows, n_classes = len(rows.label), len(rows.settled)
    depth = 2 + 2 * n_classes * int(np.ceil(np.log2(n_levels + 1)))
    return NodeStack(
        nodes=new_nodes(depth + 2, n_classes),
        split=np.zeros(depth + 2, np.int64),
        confusion=np.zeros((depth + 2, n_classes, n_classes), np.int64),
        first=np.zeros(depth + 2, np.int64),
        n_rows=np.zeros(depth + 2, np.int64),
        end=np.zeros(depth + 2, np.int64),
        rows=np.empty(min(depth, _ROW_LISTS) * n_rows, np.uint32),
        contests=new_contests(n_rows, len(rows.row_p), n_classes),
        relaxed=new_relaxed(n_rows, n_classes),
    )


def new_incumbent(n_classes: int) -> Incumbent:
    """Make an empty record."""
    return Incumbent(
        np.zeros(1),
        np.zeros(n_classes, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )


@inner
def set_counts(target: Confusion, source: Confusion) -> None:
    """Copy counts."""
    n_classes = len(target)
    for i in range(n_classes):
        for j in range(n_classes):
            target[i, j] = source[i, j]


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
    nodes.bound[target] = nodes.bound[source]
    stack.split[target] = stack.split[source]
    stack.first[target] = stack.first[source]
    stack.n_rows[target] = stack.n_rows[source]
    stack.end[target] = stack.end[source]
    n_classes = nodes.low.shape[1]
    for i in range(n_classes + 1):
        nodes.price[target, i] = nodes.price[source, i]
    for i in range(n_classes):
        nodes.low[target, i] = nodes.low[source, i]
        nodes.high[target, i] = nodes.high[source, i]
        nodes.v[target, i] = nodes.v[source, i]
        nodes.correct[target, i] = nodes.correct[source, i]
        nodes.wrong[target, i] = nodes.wrong[source, i]
        for j in range(n_classes):
            stack.confusion[target, i, j] = stack.confusion[source, i, j]
