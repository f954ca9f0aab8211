"""Coordinate descent, and the iterated local search that kicks it on from optimum to optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.kernels.counting import count
from dnip.kernels.flips import Workspace, find_flips
from dnip.kernels.jit import jit
from dnip.kernels.line_search import settle
from dnip.kernels.lines import Lines, find, keep, mix
from dnip.kernels.values import Memo, Terms

if TYPE_CHECKING:
    from dnip.kernels.rows import Rows
    from dnip.typing import Confusion, Floats, Integers


@jit
def _sum_columns(confusion: Confusion, predicted: Integers) -> None:
    for j in range(len(predicted)):
        predicted[j] = 0
        for i in range(len(predicted)):
            predicted[j] += confusion[i, j]


@jit
def descend(
    rows: Rows,
    workspace: Workspace,
    terms: Terms,
    memo: Memo,
    lines: Lines,
    indices: Floats,
    order: Integers,
    scale: int,
) -> tuple[float, int]:
    """Search the classes of `order` round and round until a whole round moves none.

    A class that is known to stand at one of its best indices stays; a remembered line gives the
    index that it was left at.

    Parameters
    ----------
    lines : Lines
        Lines searched before; new ones are added.
    indices : ndarray of shape (N,)
        Where to start; changed in place.
    order : ndarray
        The classes to search.

    Returns
    -------
    value : float
        The objective at the end.
    n_searches : int
        Lines that had to be searched.
    """
    here = np.uint64(0)  # hash of all indices
    for n in range(len(indices)):
        here ^= mix(n, int(indices[n]))
    confusion = rows.settled.copy()
    predicted = np.zeros(len(indices), np.int64)
    counted = False  # whether the counts are those of `indices`: a known line moves no counts
    value = np.inf
    n_searches = 0
    unmoved = 0
    turn = 0
    while unmoved < len(order):
        c = order[turn % len(order)]
        turn += 1
        now = int(indices[c])
        others = here ^ mix(c, now)
        key = others ^ mix(c, 0)
        slot = find(lines, key)
        if lines.key[slot] == key:
            if lines.value[slot] < value:
                value = lines.value[slot]
                counted = counted and lines.best[slot] == now
                indices[c] = lines.best[slot]
        else:
            if not counted:
                confusion = count(rows, indices)
                _sum_columns(confusion, predicted)
                counted = True
            find_flips(rows, indices, c, scale, workspace)
            value = settle(workspace.flips, terms, memo, indices, confusion, predicted, c, scale)
            keep(lines, slot, key, int(indices[c]), value)
            n_searches += 1
        index = int(indices[c])
        here = others ^ mix(c, index)
        unmoved = unmoved + 1 if index == now else 1
    return value, n_searches


@jit
def kick(indices: Floats, factors: Floats, top: float, order: Integers, scale: int) -> Floats:
    """Move the classes of `order` away from a local optimum: scaled, rounded, clamped to 1..K.

    Parameters
    ----------
    indices, factors : ndarray of shape (N,)
        The optimum, and what each index is multiplied by.
    top : float
        Where the largest of them shall stand then; 0 leaves it.
    """
    kicked = indices.copy()
    largest = 0.0
    for c in order:
        kicked[c] *= factors[c]
        largest = max(largest, kicked[c])
    height = top / largest if top > 0 else 1.0
    for c in order:
        kicked[c] = min(max(np.rint(kicked[c] * height), 1.0), float(scale))
    return kicked


@jit
def explore(
    rows: Rows,
    workspace: Workspace,
    terms: Terms,
    memo: Memo,
    lines: Lines,
    indices: Floats,
    value: float,
    factors: Floats,
    tops: Floats,
    orders: Integers,
    scale: int,
    enough: int,
) -> tuple[float, int]:
    """Kick and descend again and again; what is no worse becomes the optimum to kick next.

    Parameters
    ----------
    indices : ndarray of shape (N,)
        A local optimum; changed in place.
    value : float
        The objective there.
    factors, tops, orders : ndarray of shape (B, N), (B,), (B, classes to search)
        One kick each, and the order in which to search from there.
    enough : int
        Line searches after which no further kick is tried.

    Returns
    -------
    value : float
        The objective at the end.
    n_searches : int
        Lines that had to be searched.
    """
    n_searches = 0
    for b in range(len(tops)):
        trial = kick(indices, factors[b], tops[b], orders[b], scale)
        reached, searched = descend(rows, workspace, terms, memo, lines, trial, orders[b], scale)
        n_searches += searched
        if reached <= value:
            value = reached
            for n in range(len(indices)):
                indices[n] = trial[n]
        if n_searches >= enough:
            break
    return value, n_searches
