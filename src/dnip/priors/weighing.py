"""Labelled rows weighed as if they had been drawn from another class mix."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import DNIPWarning, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Floats, Labels


def weigh_rows(
    labels: Labels,
    target: Floats,
    classes: Sequence[str],
    sample_weight: Floats | None = None,
) -> Floats:
    """Weigh rows by target share over observed share of their class.

    Classes without labels cannot be weighed: those with labels share the rest, and the user is
    told.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    target : ndarray of shape (N,)
        Class shares that sum to 1.
    classes : sequence of str
        Class names.
    sample_weight : ndarray of shape (M,), optional
        Weights that count beside: within each class they keep their proportions.

    Returns
    -------
    ndarray of shape (M,)
        Weights that sum to M, or to the sum of `sample_weight`.

    Raises
    ------
    InvalidInputError
        If fewer than two classes have both labels and a share.

    Warns
    -----
    DNIPWarning
        For classes with a share and without labels.

    Examples
    --------
    >>> weigh_rows(np.array([0, 0, 0, 1]), np.array([0.5, 0.5]), ["a", "b"])
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    own = np.ones(len(labels)) if sample_weight is None else sample_weight
    mass = np.bincount(labels, own, len(target))
    counted = (mass > 0) & (target > 0)
    if np.count_nonzero(counted) < 2:
        raise InvalidInputError(
            "target prior: fewer than two classes have both labelled rows and a share above 0",
            hint="Label rows of the classes that occur, or give other shares",
        )
    missing = (mass == 0) & (target > 0)
    if missing.any():
        names = ", ".join(classes[c] for c in np.flatnonzero(missing).tolist())
        warnings.warn(
            f"{target[missing].sum():.1%} of the target prior is of class {names}, which has no "
            "labelled row: the other classes count in proportion",
            DNIPWarning,
            stacklevel=4,
        )
    ratio = np.where(counted, target, 0.0) / np.where(counted, mass, 1.0)
    return np.asarray(own * ratio[labels] * (own.sum() / target[counted].sum()))


def effective_rows(support: Floats, target: Floats) -> float:
    """Return how many equally weighted rows tell the error rate as precisely: (Σ w)² / Σ w².

    Parameters
    ----------
    support : ndarray of shape (N,)
        Labelled rows of each class.
    target : ndarray of shape (N,)
        Class shares that they are weighed to (Kish 1965).

    Examples
    --------
    >>> effective_rows(np.array([3.0, 1.0]), np.array([0.5, 0.5]))
    3.0
    """
    counted = (support > 0) & (target > 0)
    part = target[counted] / target[counted].sum()
    return float(1 / (part**2 / support[counted]).sum())
