"""Multiple choice as evaluation harnesses log it: a log-likelihood for each choice, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.prompting.answers.source import Row, as_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Floats
    from dnip.prompting.answers.source import Wanted

# Models round: a logarithm of a probability above 0 by less than this is 0.
_ROUNDING = 1e-3


def read_choices(
    values: Sequence[object],
    texts: Sequence[str],
    gold: object,
    wanted: Wanted,
    alone: Sequence[object] | None = None,
) -> Row:
    """Read the classes' probabilities and the gold label.

    Parameters
    ----------
    values : sequence of length N
        The log-likelihood of each choice, as a number or a text.
    texts : sequence of str
        The choices. Where they are the names of the classes, they are matched by name; otherwise
        the first choice is the first class.
    gold : object
        The place of the right choice, from 0, or its text.
    wanted : Wanted
    alone : sequence of length N, optional
        Log-likelihoods without a context, to divide by.

    Raises
    ------
    InvalidInputError
        For another number of choices, and for values that are no log-likelihoods.

    Examples
    --------
    >>> from dnip.prompting.answers.source import Wanted
    >>> wanted = Wanted(("no", "yes"), ("no", "yes"))
    >>> row = read_choices(["-0.5", "-1.5"], ["yes", "no"], 0, wanted)
    >>> row.scores.round(3), round(row.mass, 3), row.label
    (array([0.269, 0.731]), 0.83, 'yes')
    """
    n = len(wanted.names)
    if len(values) != n:
        raise InvalidInputError(
            f"it holds {len(values)} log-likelihoods, but there are {n} classes",
            hint="Name the choices of the task with --classes, in its order",
        )
    places = list(range(n))
    choices = [text.strip() for text in texts]
    if sorted(choices) == sorted(wanted.names):
        places = [choices.index(name) for name in wanted.names]
    logs = _logarithms(values)[places]
    mass = min(float(np.exp(logs).sum()), 1.0) if alone is None else None
    if alone is not None:
        logs = logs - _logarithms(alone)[places]
    place = _place(gold, choices) if wanted.own_labels else None
    label = wanted.classes[places.index(place)] if place in places else gold
    # Without the factor, products of many small probabilities would underflow.
    scores = np.exp(logs - logs.max())
    return Row(scores / scores.sum(), mass=mass, label=label)


def _place(gold: object, choices: Sequence[str]) -> int | None:
    """Return the place of the right choice, None where it is not told."""
    as_place = int(gold) if isinstance(gold, int | str) and str(gold).isdecimal() else None
    if not isinstance(gold, str) or gold not in choices:
        return as_place
    if as_place not in (None, choices.index(gold)):
        raise InvalidInputError(
            f"the target {gold!r} may be the place of a choice, or its text",
            hint="Give the labels in a file of their own, with --gold",
        )
    return choices.index(gold)


def _logarithms(values: Sequence[object]) -> Floats:
    logs = np.array([as_number(value, "log-likelihood") for value in values])
    bad = ~(logs <= _ROUNDING)
    if bad.any() or logs.max() == -np.inf:
        raise InvalidInputError(
            f"a log-likelihood is {logs[bad.argmax()]:g}",
            hint="The logarithm of a probability is a number of 0 at most",
        )
    return logs
