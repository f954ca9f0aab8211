"""Splits of the labelled rows into those to fit on and those to score on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_integer, check_number
from dnip.fitting.evidence import USUAL_FOLDS, deal_folds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Integers, Labels


class Split(NamedTuple):
    """Ascending row numbers to fit on and to score on; no row is in both."""

    opt: Integers
    dev: Integers


def fold_rows(
    labels: Labels, classes: Sequence[str], n_folds: int | None, seed: int
) -> tuple[Split, ...]:
    """Divide the rows of every class into folds; each is scored by fits on the others.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    classes : sequence of str
        Names for messages.
    n_folds : int or None
        At least 2, and no class may have fewer labels. None: 5, or as many as the smallest class
        has labels.
    seed : int
        Seed of the shuffle.

    Raises
    ------
    InvalidInputError
        If a class has fewer labels than folds.

    Examples
    --------
    >>> splits = fold_rows(np.array([0, 0, 1, 1, 1]), ["no", "yes"], 2, seed=0)
    >>> [(split.opt.tolist(), split.dev.tolist()) for split in splits]
    [([0, 4], [1, 2, 3]), ([1, 2, 3], [0, 4])]
    """
    check_integer("seed", seed, at_least=0)
    support = np.bincount(labels)
    scarce = int(np.where(support > 0, support, len(labels) + 1).argmin())
    fewest = int(support[scarce])
    if fewest < 2:
        raise InvalidInputError(
            f"class {classes[scarce]} has 1 labelled row, which cannot be both fitted and scored",
            hint="Label more rows of it, or give a dev table of its own",
        )
    if n_folds is None:
        n_folds = min(USUAL_FOLDS, fewest)
    check_integer("folds", n_folds, at_least=2)
    if fewest < n_folds:
        raise InvalidInputError(
            f"class {classes[scarce]} has {fewest} labelled rows, too few for {n_folds} folds",
            hint=f"Give {fewest} folds at most, or label more rows of it",
        )
    fold = deal_folds(labels, n_folds, seed)
    return tuple(
        Split(np.flatnonzero(fold != number), np.flatnonzero(fold == number))
        for number in range(n_folds)
    )


def share_rows(
    labels: Labels, classes: Sequence[str], share: float, seed: int
) -> tuple[Split, ...]:
    """Set a share of every class aside to score on, as the paper does with 5 %.

    Parameters
    ----------
    labels, classes, seed
        As for :func:`fold_rows`.
    share : float
        Above 0 and below 1; every class needs a row on both sides.

    Raises
    ------
    InvalidInputError
        If a class would have no row on one side.

    Examples
    --------
    >>> (split,) = share_rows(np.repeat([0, 1], [10, 20]), ["no", "yes"], 0.1, seed=0)
    >>> len(split.opt), len(split.dev)
    (27, 3)
    """
    check_number("dev_share", share, above=0)
    if share >= 1:
        raise InvalidInputError(
            f"dev_share is {share:g}, which leaves no row to fit on", hint="Give less than 1"
        )
    rng = np.random.default_rng(check_integer("seed", seed, at_least=0))
    taken = []
    for c in np.unique(labels).tolist():
        own = rng.permutation(np.flatnonzero(labels == c))
        n_dev = math.floor(share * len(own) + 0.5)
        if not 0 < n_dev < len(own):
            raise _bad_share(classes[c], len(own), share, n_dev)
        taken.append(own[:n_dev])
    dev = np.zeros(len(labels), bool)
    dev[np.concatenate(taken)] = True
    return (Split(np.flatnonzero(~dev), np.flatnonzero(dev)),)


def _bad_share(name: str, n: int, share: float, n_dev: int) -> InvalidInputError:
    rows = f"{n} labelled row" + ("s" if n > 1 else "")
    if n == 1:
        return InvalidInputError(
            f"class {name} has 1 labelled row, which cannot be both fitted and scored",
            hint="Label more rows of it, or give a dev table of its own",
        )
    side = "score on" if n_dev == 0 else "fit on"
    least = 0.5 / n
    more = math.ceil(least * 1000) / 1000
    remedy = f"Give {more:g} or more" if n_dev == 0 else f"Give less than {1 - least:.3g}"
    return InvalidInputError(
        f"class {name} has {rows}: a dev share of {share:g} leaves none of them to {side}",
        hint=f"{remedy}, take folds instead, or label more rows of it",
    )
