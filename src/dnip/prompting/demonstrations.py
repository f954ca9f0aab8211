"""Demonstrations: worked examples, drawn by seed from the training split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_integer
from dnip.tables.chunk import shown

if TYPE_CHECKING:
    from dnip.prompting.data import Examples

#: The word for one demonstration of each class.
BALANCED = "balanced"

# A number of demonstrations has no more digits.
_DIGITS = 9


def parse_shots(shots: str) -> int | str:
    """Return a number of demonstrations, or the word balanced.

    Examples
    --------
    >>> parse_shots("3"), parse_shots("balanced")
    (3, 'balanced')
    """
    if shots == BALANCED:
        return BALANCED
    if not shots.isdecimal() or len(shots) > _DIGITS:
        raise InvalidInputError(
            f"shots must be a number or {BALANCED}; got {shown(shots)}",
            hint=f"Give a number of at most {_DIGITS} digits",
        )
    return int(shots)


def draw_demonstrations(
    train: Examples, shots: int | str, *, n_classes: int, seed: int
) -> list[int]:
    """Return the row numbers of demonstrations, in the order in which they are shown.

    Parameters
    ----------
    train : Examples
        The training split; rows without a label are never drawn.
    shots : int or "balanced"
        How many, drawn uniformly; or one of each class, in random order.
    n_classes : int
        N.
    seed : int
        Of the draw.

    Raises
    ------
    InvalidInputError
        If there are too few labelled rows, or a class has none for a balanced draw.
    """
    rng = np.random.default_rng(seed)
    if shots == BALANCED:
        chosen = []
        for label in range(n_classes):
            rows = np.flatnonzero(train.labels == label)
            if len(rows) == 0:
                raise InvalidInputError(
                    f"class {label} has no training row to show as a demonstration",
                    hint="Give a number of shots instead of balanced",
                )
            chosen.append(int(rng.choice(rows)))
        return [int(row) for row in rng.permutation(chosen)]
    number = check_integer("shots", shots, at_least=0)  # type: ignore[arg-type]
    labelled = np.flatnonzero(train.labels >= 0)
    if number > len(labelled):
        raise InvalidInputError(
            f"{number} demonstrations asked for, but the training split has {len(labelled)} "
            "labelled rows"
        )
    return [int(row) for row in rng.choice(labelled, number, replace=False)]
