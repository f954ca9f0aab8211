"""What stands for that which answers do not say: unreported labels, and zeros of rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.arrays import normalise_rows
from dnip.base.errors import InvalidInputError
from dnip.prompting.fill import fill_unreported, open_decisions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.arrays import Location
    from dnip.base.typing import Probabilities
    from dnip.prompting.answers.source import Row
    from dnip.prompting.engines.base import Fill

# Numbers of more decimals are not taken for rounded.
_MOST_DECIMALS = 6


class Filled(NamedTuple):
    """Probabilities of all rows, and the counts of the summary that follow from them."""

    probabilities: Probabilities
    n_open: int
    decimals: int | None
    n_raised: int
    n_tied: int
    n_one_class: int


def fill_rows(
    rows: Sequence[Row], names: Sequence[str], location: Location, fill: Fill | str
) -> Filled:
    """Fill what was not reported, raise what was rounded to zero, and normalise.

    Raises
    ------
    InvalidInputError
        For a row that holds no probabilities, and a class that is not reported in any row.
    """
    scores = np.array([row.scores for row in rows])
    places = None
    n_open = n_raised = 0
    if any(row.ceiling is not None for row in rows):
        ceiling = np.array([row.scores if row.ceiling is None else row.ceiling for row in rows])
        never = (scores == 0).all(axis=0)
        if never.any():
            raise InvalidInputError(
                f"{location.whole()}: no answer reports a token of {names[int(never.argmax())]}",
                hint="Give the word that stands for it in the answers with --map, or ask for more "
                "top_logprobs",
            )
        n_open = int(open_decisions(scores, ceiling).sum())
        p = fill_unreported(scores, ceiling, fill)
    else:
        p, *_ = normalise_rows(scores, location)
        places = decimals(scores)
    n_one_class = int((np.count_nonzero(p, axis=1) == 1).sum())
    if places:  # with whole numbers, half a unit would be half of everything
        n_raised = int((scores == 0).any(axis=1).sum())
        p, *_ = normalise_rows(raise_zeros(scores, places), location)
    n_tied = int((np.count_nonzero(p == p.max(axis=1, keepdims=True), axis=1) > 1).sum())
    return Filled(p, n_open, places, n_raised, n_tied, n_one_class)


def decimals(probabilities: Probabilities) -> int | None:
    """Return to how many decimals all probabilities are rounded, None if they are not.

    Examples
    --------
    >>> decimals(np.array([[0.25, 0.7, 0.05]])), decimals(np.array([[1 / 3, 2 / 3]]))
    (2, None)
    """
    for places in range(_MOST_DECIMALS + 1):
        if np.allclose(probabilities, np.round(probabilities, places), rtol=0, atol=1e-9):
            return places
    return None


def raise_zeros(probabilities: Probabilities, places: int) -> Probabilities:
    """Return probabilities in which zeros are half a unit of the last decimal.

    A rounded zero stands for anything up to that. Left at zero, no weight could ever decide for
    the class.

    Examples
    --------
    >>> raise_zeros(np.array([[0.0, 0.4, 0.6]]), 1)
    array([[0.05, 0.4 , 0.6 ]])
    """
    return np.maximum(probabilities, 0.5 * 10.0**-places)
